//! How long anything of a pool stays when its program is killed: at 100 random moments of the
//! start, the work and the end, for each start method. It fails when anything stays for ever.
//!
//! `cargo bench -p process-pool --bench kills`
//!
//! The program is this one, run again. All its processes inherit the writing end of a pipe, so the
//! end of the pipe tells to the microsecond when the last of them was gone, with all that it had
//! open. Then `/proc`, the directory for temporary files and `/dev/shm` are searched until they
//! show nothing either.
#![expect(clippy::print_stdout, reason = "a benchmark shows its figures")]
#![expect(clippy::disallowed_methods, reason = "benchmarks measure time")]

mod common;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use common::Echo;
use process_pool::{Bytes, ProcessPool, StartMethod, prepare_fork, service};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often a program is killed for each start method.
const KILLS: usize = 100;
/// What is there after this time stays for ever.
const FOR_EVER: Duration = Duration::from_secs(30);
/// What the program is at, as it writes it to its output.
const PHASES: [(u8, &str); 3] = [(b's', "start"), (b'w', "work"), (b'e', "end")];
const METHOD: &str = "POOL_KILLS_METHOD";
const MARK: &str = "POOL_KILLS_MARK";

fn main() -> ExitCode {
    process_pool::init(&[service::<Echo>()]);
    if let Ok(method) = std::env::var(METHOD) {
        program(method.parse().expect("a start method"));
    }
    // `cargo test --benches` only asks whether it runs.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let mut random = Random(seed());
    println!("killed {KILLS} times for each start method, {} CPUs", num_cpus::get());
    println!("milliseconds until nothing is left, median and largest:");
    let mut left = false;
    for method in StartMethod::ALL {
        left |= kill_all(method, &mut random);
    }
    if left { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What is killed: pools that start, work and end, without end.
fn program(method: StartMethod) -> ! {
    if method == StartMethod::Fork {
        prepare_fork().expect("one thread");
    }
    let say = |phase: u8| {
        let mut out = std::io::stdout();
        out.write_all(&[phase]).and_then(|()| out.flush()).expect("somebody reads");
    };
    let requests: Vec<_> = (0..200).map(|n| Bytes(vec![n; 10_000])).collect();
    for round in 0_u64.. {
        say(b's');
        let pool = ProcessPool::<Echo>::builder(&()).workers(3).start_method(method);
        let pool = pool.build().expect("a pool");
        say(b'w');
        pool.map(&requests).expect("answers");
        say(b'e');
        if round % 2 == 0 { drop(pool) } else { pool.shutdown().expect("an end") }
    }
    unreachable!("as good as without end")
}

/// Kills programs with one start method; `true` when something was left.
fn kill_all(method: StartMethod, random: &mut Random) -> bool {
    let lengths = lengths(method);
    let mut times = Vec::new();
    for round in 0..KILLS {
        let wanted = PHASES[round % PHASES.len()].0;
        let mut victim = Victim::start(method, &format!("{method}-{round}"));
        // Also in the very first start of a program, and before its `main`.
        let first = u64::from(wanted != b's');
        for _ in 0..first + random.below(3) {
            victim.reaches(wanted);
        }
        let at = lengths[round % PHASES.len()];
        let moment = at.mul_f64(random.unit());
        let since = Instant::now();
        while since.elapsed() < moment {
            std::hint::spin_loop();
        }
        let phase = victim.kill();
        match victim.gone() {
            Ok(gone) => times.push((phase, gone)),
            Err(left) => {
                println!("{method}: {left} after {FOR_EVER:?}, killed in the {phase}");
                return true;
            }
        }
    }
    show(method, &times);
    false
}

/// Prints how long things stayed, by what the program was at when it was killed.
fn show(method: StartMethod, times: &[(&str, [Duration; 2])]) {
    for phase in PHASES.map(|(_, name)| name).into_iter().chain(["all"]) {
        let of = |which: usize| {
            let chosen = times.iter().filter(|(name, _)| phase == "all" || *name == phase);
            let mut times: Vec<f64> =
                chosen.map(|(_, gone)| gone[which].as_secs_f64() * 1e3).collect();
            times.sort_unstable_by(f64::total_cmp);
            times
        };
        let (processes, all) = (of(0), of(1));
        if let (Some(most), Some(longest)) = (processes.last(), all.last()) {
            println!(
                "{:<11} {phase:<6} {:>3} kills   processes and descriptors {:>7.2} {most:>8.2}   \
                 files, all searched {:>7.2} {longest:>8.2}",
                method.name(),
                processes.len(),
                processes[processes.len() / 2],
                all[all.len() / 2],
            );
        }
    }
}

/// How long the phases take here and now: the median of some.
fn lengths(method: StartMethod) -> [Duration; 3] {
    let mut victim = Victim::start(method, &format!("{method}-lengths"));
    let mut times = [const { Vec::new() }; 3];
    victim.reaches(b's');
    for _ in 0..20 {
        for (at, times) in times.iter_mut().enumerate() {
            let since = Instant::now();
            victim.reaches(PHASES[(at + 1) % PHASES.len()].0);
            times.push(since.elapsed());
        }
    }
    victim.kill();
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

/// A program that is about to be killed.
struct Victim {
    child: Child,
    mark: String,
    /// Where it may leave temporary files.
    directory: PathBuf,
    /// The pipe whose other end all its processes hold.
    held: OwnedFd,
    /// The last that it said.
    seen: u8,
    killed: Instant,
}

impl Victim {
    fn start(method: StartMethod, name: &str) -> Self {
        let mark = format!("{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(format!("pool-kills-{mark}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        // Not closed on exec: this program has one thread, and starts nothing else meanwhile.
        let (held, holds) = rustix::pipe::pipe().expect("a pipe");
        let flags = rustix::io::FdFlags::CLOEXEC;
        rustix::io::fcntl_setfd(&held, flags).expect("a flag");
        let child = Command::new(std::env::current_exe().expect("a path"))
            .env(METHOD, method.name())
            .env(MARK, &mark)
            .env("TMPDIR", &directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        drop(holds);
        Self { child, mark, directory, held, seen: b's', killed: Instant::now() }
    }

    /// Reads on until the program says that it is there.
    fn reaches(&mut self, phase: u8) {
        let out = self.child.stdout.as_mut().expect("a pipe");
        let mut byte = [0];
        while byte[0] != phase {
            out.read_exact(&mut byte).expect("the program goes on");
        }
        self.seen = phase;
    }

    /// Kills it, and says what it was at.
    fn kill(&mut self) -> &'static str {
        self.killed = Instant::now();
        self.child.kill().expect("killed");
        self.child.wait().expect("waited for");
        let out = self.child.stdout.as_mut().expect("a pipe");
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).expect("read");
        let last = rest.last().copied().unwrap_or(self.seen);
        PHASES.iter().find(|(phase, _)| *phase == last).map_or("start", |(_, name)| name)
    }

    /// How long its processes stayed, and how long anything; or what is still there.
    fn gone(&self) -> Result<[Duration; 2], String> {
        let wait = Timespec::try_from(FOR_EVER).expect("a time");
        let mut fds = [PollFd::from_borrowed_fd(self.held.as_fd(), PollFlags::IN)];
        if poll(&mut fds, Some(&wait)).expect("polled") == 0 {
            return Err(format!("processes {:?} were left", self.processes()));
        }
        let processes = self.killed.elapsed();
        loop {
            let left = self.left();
            if left.is_empty() {
                return Ok([processes, self.killed.elapsed()]);
            }
            if self.killed.elapsed() > FOR_EVER {
                return Err(format!("{left:?} were left"));
            }
        }
    }

    /// Processes, files and shared memory that are there.
    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self.processes().iter().map(ToString::to_string).collect();
        // Other programs have shared memory as well: a pool's would have one of these names.
        let named = |path: &PathBuf| {
            let name = path.to_string_lossy();
            name.contains("process-pool") || name.contains("ipc-channel")
        };
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        left.extend(entries(&self.directory).into_iter().map(shown));
        left.extend(entries(Path::new("/dev/shm")).into_iter().filter(named).map(shown));
        left
    }

    /// The processes that have its environment, this one's descendants or not.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}\0", self.mark);
        let names = entries(Path::new("/proc")).into_iter();
        let pids = names.filter_map(|path| path.file_name()?.to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|part| part == mark.as_bytes())
        })
        .collect()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn entries(directory: &Path) -> BTreeSet<PathBuf> {
    let listed = std::fs::read_dir(directory).into_iter().flatten().flatten();
    listed.map(|entry| entry.path()).collect()
}

/// Other moments in each run.
fn seed() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| u64::from(since.subsec_nanos()) + since.as_secs() + 1)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    #[expect(clippy::cast_precision_loss, reason = "fine enough for a moment")]
    fn unit(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 20)
    }
}

//! Kills processes of runs at random moments and prints how long it took to get over it:
//!
//! ```text
//! pams-faults workers KILLS [processes|torch [SEED]]
//! pams-faults main KILLS [SEED]
//! ```
//!
//! `workers` kills workers in the middle of one run and compares its hash with that of a sequential
//! run. `main` kills `pams run` and waits until no process, no object in /dev/shm and no temporary
//! file of it is left; it needs root, for a /dev/shm of its own. Anything else than that is an exit
//! status other than 0. Times are in milliseconds.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for people, who want to know how long it takes"
)]

use std::alloc::System;
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use pams_core::Record;
use pams_core::random::{Generator, GeneratorKind};
use pams_runner::{
    Logger, MultiProcessAgentParallelRunner, NameTable, RunReport, RunnerBuilder, SequentialRunner,
};
use pams_torch::TorchAgentParallelRunner;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use tensor_share::ShareAlloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

const WORKERS: NonZeroUsize = NonZeroUsize::new(2).expect("two");

fn main() -> Outcome<()> {
    pams_tests::neural::init();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["workers", kills] => kill_workers(kills.parse()?, "processes", 1),
        ["workers", kills, runner] => kill_workers(kills.parse()?, runner, 1),
        ["workers", kills, runner, seed] => kill_workers(kills.parse()?, runner, seed.parse()?),
        ["main", kills] => kill_main(kills.parse()?, 1),
        ["main", kills, seed] => kill_main(kills.parse()?, seed.parse()?),
        _ => Err("usage: pams-faults workers|main KILLS [RUNNER] [SEED]".into()),
    }
}

/// A market with six agents of each class.
fn config(steps: u64, classes: &[&str]) -> Json {
    let mut config = json!({
        "simulation": {"markets": ["Market"], "agents": classes,
            "sessions": [{"sessionName": 0, "iterationSteps": steps, "withOrderPlacement": true,
                "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 5}]},
        "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
    });
    for &class in classes {
        config[class] = json!({"class": class, "numAgents": 6, "markets": ["Market"],
                               "cashAmount": 10000, "assetVolume": 50});
    }
    config
}

fn kill_workers(kills: usize, runner: &str, seed: u64) -> Outcome<()> {
    /// Steps from one kill to the next.
    const STEPS_EACH: u64 = 20;
    // The last step waits for the last kill.
    let steps = STEPS_EACH * (kills as u64 + 1) + 1;
    // Networks, normals, state, and cancels.
    let classes = ["CandleAgent", "TestAgent", "CancelAgent"];
    let run = |builder: RunnerBuilder<'_>| -> Outcome<RunReport> {
        let builder = builder.registry(pams_tests::neural::registry()).seed(7);
        Ok(builder.config_value(config(steps, &classes)).num_parallel(WORKERS).build()?.run()?)
    };
    let expected = run(SequentialRunner::builder())?;
    let builder = match runner {
        "processes" => MultiProcessAgentParallelRunner::builder(),
        "torch" => TorchAgentParallelRunner::new().builder(),
        other => return Err(format!("no runner {other} has workers to kill").into()),
    };
    let ((orders, taken), (done, deaths)) = (channel(), channel());
    let pauses = Arc::new(Mutex::new(Pauses::default()));
    let (every, left) = (STEPS_EACH, kills);
    let clock = Clock { every, left, orders, deaths, pauses: Arc::clone(&pauses) };
    let killer = {
        let pauses = Arc::clone(&pauses);
        thread::spawn(move || kill_at_random(&taken, &done, &pauses, seed))
    };
    let found = run(builder.logger(clock))?;
    let killed = killer.join().map_err(|_| "the killer panicked")??;
    let over = std::mem::take(&mut pauses.lock().over);
    println!("{killed} workers of a {runner} run killed; {}", spread(over));
    if killed != kills {
        return Err(format!("only {killed} of {kills} workers were there to be killed").into());
    }
    if found != expected {
        return Err(format!("the run differs: {found:?}, not {expected:?}").into());
    }
    Ok(())
}

/// When workers were killed, and how long it took until two more steps were over.
#[derive(Default)]
struct Pauses {
    /// Each with the number of steps that have ended since.
    pending: Vec<(Instant, u32)>,
    over: Vec<f64>,
}

impl Pauses {
    fn step_is_over(&mut self) {
        for (since, steps) in &mut self.pending {
            *steps += 1;
            if *steps == 2 {
                self.over.push(milliseconds(*since));
            }
        }
        self.pending.retain(|(_, steps)| *steps < 2);
    }
}

/// Orders a kill every so many steps, the next one when the last one has been carried out.
struct Clock {
    every: u64,
    left: usize,
    orders: Sender<()>,
    deaths: Receiver<()>,
    pauses: Arc<Mutex<Pauses>>,
}

impl Logger for Clock {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        let Record::Step(step) = record else { return Ok(()) };
        // Not locked any more when the killer, who locks too, is waited for.
        self.pauses.lock().step_is_over();
        let time = step.time.since_start();
        if time == 0 || !time.is_multiple_of(self.every) {
            return Ok(());
        }
        if time > self.every {
            self.deaths.recv().map_err(io::Error::other)?;
        }
        if self.left > 0 {
            self.left -= 1;
            self.orders.send(()).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Kills a worker for each order, a drawn part of a millisecond after it. The number of the killed.
fn kill_at_random(
    orders: &Receiver<()>,
    done: &Sender<()>,
    pauses: &Mutex<Pauses>,
    seed: u64,
) -> Result<usize, String> {
    let mut generator = Generator::new(GeneratorKind::default(), seed);
    let mut killed = 0;
    while orders.recv().is_ok() {
        thread::sleep(Duration::from_micros(generator.below(800)));
        let workers = loop {
            // The last one that was killed may have been all there was.
            let workers = children(std::process::id());
            if !workers.is_empty() {
                break workers;
            }
            thread::sleep(Duration::from_micros(100));
        };
        let chosen = generator.below(workers.len() as u64);
        let chosen = workers[usize::try_from(chosen).map_err(|error| error.to_string())?];
        // The step in which it dies is none of those that have to pass.
        pauses.lock().pending.push((Instant::now(), 0));
        kill(chosen).map_err(|error| error.to_string())?;
        killed += 1;
        done.send(()).map_err(|error| error.to_string())?;
    }
    Ok(killed)
}

/// The children of a process that are no sweepers.
fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children"));
    let text: String = tasks.filter_map(|task| of_task(task).ok()).collect();
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .filter(|child| {
            let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            !line.is_empty() && !line.starts_with(b"pams: removes")
        })
        .collect()
}

fn kill(process: u32) -> Outcome<()> {
    let pid = Pid::from_raw(process.cast_signed()).ok_or("no process has the number 0")?;
    Ok(kill_process(pid, Signal::KILL)?)
}

fn kill_main(kills: usize, seed: u64) -> Outcome<()> {
    /// The variable by which processes of a run are known.
    const MARK: &str = "PAMS_FAULTS";
    let mut generator = Generator::new(GeneratorKind::default(), seed);
    let folder = Folder::new()?;
    let config_path = folder.0.join("config.json");
    let mut endless = config(1 << 40, &["CandleAgent", "TestAgent"]);
    endless["simulation"]["historyWindow"] = 100.into();
    fs::write(&config_path, endless.to_string())?;
    let space = Space::new()?;
    let pams = env::current_exe()?.with_file_name("pams-with-test-classes");
    let temporary = folder.0.join("temporary");
    fs::create_dir(&temporary)?;
    let ways =
        ["torch", "processes", "torch --start-method fork", "torch --start-method forkserver"];
    let mut over = Vec::new();
    let mut in_the_middle = 0;
    for round in 0..kills {
        let mark = format!("{}-{round}", std::process::id());
        let mut run = Command::new("nsenter")
            .args(["--mount", "--target", &space.holder.id().to_string()])
            .arg(&pams)
            .args(["run", &config_path.display().to_string(), "--quiet", "--num-parallel", "2"])
            .args(["--sharing-strategy", "file_system", "--runner"])
            .args(ways[round % ways.len()].split(' '))
            .env(MARK, &mark)
            .env("TMPDIR", &temporary)
            .spawn()?;
        let entry = format!("{MARK}={mark}");
        thread::sleep(Duration::from_millis(generator.below(300)));
        if !space.shm()?.is_empty() {
            in_the_middle += 1;
        }
        let since = Instant::now();
        kill(run.id())?;
        run.wait()?;
        while !(marked(&entry).is_empty() && space.shm()?.is_empty()) {
            if since.elapsed() > Duration::from_secs(60) {
                let (processes, objects) = (marked(&entry), space.shm()?);
                return Err(format!("left after a minute: {processes:?}, {objects:?}").into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        over.push(milliseconds(since));
        if fs::read_dir(&temporary)?.next().is_some() {
            return Err("a temporary file is left".into());
        }
    }
    println!(
        "{kills} runs killed, {in_the_middle} of them with objects in /dev/shm; {}",
        spread(over)
    );
    if in_the_middle * 4 < kills {
        return Err("most runs were killed before they had anything to leave".into());
    }
    Ok(())
}

/// The processes with an entry in their environment.
fn marked(entry: &str) -> BTreeSet<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|process| {
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|one| one == entry.as_bytes())
        })
        .collect()
}

/// A mount namespace with a /dev/shm of its own.
struct Space {
    holder: Child,
}

impl Space {
    fn new() -> Outcome<Self> {
        let mut holder = Command::new("unshare")
            .args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && echo && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = holder.stdout.take().ok_or("it is piped")?;
        match BufReader::new(output).lines().next() {
            Some(Ok(_)) => Ok(Self { holder }),
            _ => Err("a /dev/shm of one's own needs root".into()),
        }
    }

    fn shm(&self) -> io::Result<Vec<PathBuf>> {
        let shm = format!("/proc/{}/root/dev/shm", self.holder.id());
        fs::read_dir(shm)?.map(|entry| Ok(entry?.path())).collect()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A folder that goes with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("pams-faults-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// The extremes and the middle of times in milliseconds.
fn spread(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let Some((first, last)) = times.first().zip(times.last()) else {
        return "nothing was measured".to_owned();
    };
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    format!(
        "ms until all was well again: least {first:.1}, median {:.1}, 99th percentile {:.1}, most \
         {last:.1}",
        at(50),
        at(99)
    )
}

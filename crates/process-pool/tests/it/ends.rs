//! How a pool ends, and that nothing is left: scenarios in processes of their own.
#![expect(clippy::print_stdout, reason = "a scenario says where it is")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use process_pool::{ErrorKind, ProcessPool, StartMethod};

use crate::Test;
use crate::lab::{
    Ask, Lab, Place, Random, Setup, Told, Twin1, ask, env, hang, kill, lab, marked, number, pool,
    until, wait_for,
};

pub(crate) const TESTS: &[Test] = &[
    ("drop_ends_busy_and_idle_workers", drop_ends_all),
    ("drop_lets_idle_workers_drop_their_state", farewell),
    ("a_worker_that_does_not_stop_is_killed", stubborn),
    ("shutdown_finishes_what_waits", shutdown_finishes),
    ("tasks_of_a_dropped_pool_are_closed", dropped_tasks),
    ("a_pool_dropped_by_a_waker", dropped_by_waker),
    ("a_panic_with_tasks_queued_leaves_nothing", panic_leaves_nothing),
    ("an_exit_without_drop_leaves_nothing", exit_leaves_nothing),
    ("a_parent_killed_at_random_moments_leaves_nothing", parent_killed),
    ("sigterm_leaves_nothing", sigterm),
    ("ctrl_c_ends_everything_once", ctrl_c),
];

/// A run of this binary that does one thing, and whose processes can be found by a mark.
pub(crate) struct Scenario {
    command: Command,
    mark: String,
}

impl Scenario {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}-{name}", std::process::id());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("POOL_IT_SCENARIO", name).env("POOL_IT_MARK", &mark);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, mark }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end, which must be a good one with nothing left.
    pub(crate) fn passes(mut self) {
        let output = self.command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {err}", output.status);
        self.nothing_left();
    }

    /// Runs it to its end, which must be a good one, and gives what it printed.
    pub(crate) fn prints(mut self) -> (String, String) {
        let output = self.command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{}: {err}", output.status);
        self.nothing_left();
        (out, err)
    }

    pub(crate) fn start(&mut self) -> Child {
        self.command.spawn().unwrap()
    }

    pub(crate) fn nothing_left(&self) {
        until(|| marked(&self.mark).is_empty());
    }
}

fn drop_ends_all() {
    let pool = pool(3);
    let pids = pool.worker_pids();
    let busy = pool.submit(&Ask::Hang).unwrap();
    drop(pool);
    assert_eq!(busy.wait().unwrap_err().kind(), ErrorKind::Closed);
    for pid in pids {
        // Waited for as well: not even a zombie is left.
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}

fn farewell() {
    let place = Place::new("farewell");
    let path = place.path("said");
    drop(lab(Setup::Farewell(path.clone()), 1).build().unwrap());
    assert!(std::path::Path::new(&path).exists());
}

fn stubborn() {
    let place = Place::new("stubborn");
    // Its state cannot be dropped before the file is there, which never happens.
    let never = place.path("never");
    let pool = lab(Setup::Fine, 1).stop_timeout(Duration::from_millis(50)).build().unwrap();
    let task = pool.submit(&Ask::Meet(place.path("here"), never)).unwrap();
    wait_for(&place.path("here"));
    kill(pool.worker_pids()[0], 19);
    drop(task);
    drop(pool);
}

fn shutdown_finishes() {
    let pool = pool(2);
    let tasks: Vec<_> = (0..500).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
    pool.shutdown().unwrap();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.wait().unwrap(), Told::Number(n as u64));
    }
}

fn dropped_tasks() {
    let pool = pool(1);
    let tasks: Vec<_> = (0..5).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
    drop(pool);
    for task in tasks {
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Closed);
    }
}

struct DropIt(std::sync::Mutex<Option<ProcessPool<Lab>>>);

impl std::task::Wake for DropIt {
    fn wake(self: std::sync::Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

fn dropped_by_waker() {
    let mark = format!("waker-{}", std::process::id());
    let pool = lab(Setup::Fine, 1).env("POOL_IT_MARK", &mark).build().unwrap();
    let place = Place::new("waker");
    let (here, go) = (place.path("here"), place.path("go"));
    let task = pool.submit(&Ask::Meet(here, go.clone())).unwrap();
    let waker = std::task::Waker::from(std::sync::Arc::new(DropIt(Some(pool).into())));
    let mut task = std::pin::pin!(task);
    let mut context = std::task::Context::from_waker(&waker);
    assert!(Future::poll(task.as_mut(), &mut context).is_pending());
    std::fs::write(go, "").unwrap();
    until(|| task.is_finished());
    until(|| marked(&mark).is_empty());
}

/// Starts a scenario and waits until it says that it is there.
fn at_work(scenario: &mut Scenario) -> Child {
    let mut child = scenario.start();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn panic_leaves_nothing() {
    let mut scenario = Scenario::new("panics");
    let output = scenario.command.output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    scenario.nothing_left();
}

fn exit_leaves_nothing() {
    let mut scenario = Scenario::new("exits");
    let output = scenario.command.output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    scenario.nothing_left();
}

fn parent_killed() {
    let mut random = Random(5);
    for round in 0..100 {
        let method = ["spawn", "forkserver"][round % 2];
        let mut scenario = Scenario::new("works").env("POOL_IT_METHOD", method);
        let mut child = scenario.start();
        // From before `main` to well into the work and the shutdown.
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        scenario.nothing_left();
    }
}

fn sigterm() {
    let mut scenario = Scenario::new("hangs");
    let mut child = at_work(&mut scenario);
    kill(child.id(), 15);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    scenario.nothing_left();
}

fn ctrl_c() {
    for method in ["spawn", "forkserver"] {
        let mut scenario = Scenario::new("hangs").env("POOL_IT_METHOD", method);
        scenario.command.process_group(0);
        let mut child = at_work(&mut scenario);
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
        // A shell shows this as status 130.
        assert_eq!(child.wait().unwrap().signal(), Some(2));
        let mut err = String::new();
        child.stderr.as_mut().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(err, "", "workers say nothing");
        scenario.nothing_left();
    }
}

/// The main function of a program that forgot `init`, when it is itself started as a worker too.
pub(crate) fn forgotten() {
    let error = lab(Setup::Fine, 2).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInitialized);
    assert!(error.to_string().starts_with("`process_pool::init` was not called"), "{error}");
    assert!(
        std::fs::read_to_string("/proc/self/task/self/children").unwrap_or_default().is_empty()
    );
}

fn method() -> StartMethod {
    env("POOL_IT_METHOD").map_or(StartMethod::Spawn, |name| name.parse().unwrap())
}

pub(crate) fn scenario(name: &str) {
    match name {
        "works" => works(),
        "hangs" => {
            let pool = lab(Setup::Fine, 3).start_method(method()).build().unwrap();
            let tasks: Vec<_> = (0..20).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
            println!("ready");
            drop(tasks.into_iter().next().map(process_pool::Task::wait));
            hang();
        }
        "panics" => {
            let pool = pool(2);
            let _tasks: Vec<_> = (0..20).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
            panic!("with tasks queued");
        }
        "exits" => exits(),
        "descriptors" => descriptors(),
        "few_descriptors" => few_descriptors(),
        "no_descriptors" => no_descriptors(),
        "no_processes" => no_processes(),
        "no_memory" => no_memory(),
        "signal_storm" => signal_storm(),
        "no_stdin" => no_stdin(),
        "deleted" => deleted(),
        "helper" => helper(),
        "forgetful_helper" => forgetful_helper(),
        "other_build" => other_build(),
        "nested" => nested(),
        "events" => crate::inside::events(),
        "prints" => crate::inside::prints(),
        "prints_into_a_full_pipe" => crate::inside::full_pipe(),
        other => panic!("no scenario {other}"),
    }
}

fn works() {
    for round in 0..1000 {
        let pool = lab(Setup::Fine, 3).start_method(method()).build().unwrap();
        let asks: Vec<_> = (0..100).map(Ask::Echo).collect();
        pool.map(&asks).unwrap();
        if round % 2 == 0 { drop(pool) } else { pool.shutdown().unwrap() }
    }
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "this is the scenario")]
fn exits() {
    let pool = pool(2);
    let _tasks: Vec<_> = (0..20).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
    std::process::exit(5);
}

fn n_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn n_mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().matches("process-pool").count()
}

fn descriptors() {
    pool(2).map(&[Ask::Echo(1)]).unwrap();
    let (before, threads) = (n_descriptors(), n_threads());
    {
        let pool = pool(2);
        let during = n_descriptors();
        let block = process_pool::Bytes(vec![1; 1 << 20]);
        for _ in 0..20 {
            pool.map(&vec![Ask::Blob(block.clone()); 4]).unwrap();
            pool.map(&(0..1000).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
        }
        assert_eq!(n_descriptors(), during);
    }
    let mut memory = 0;
    for round in 0..1000 {
        if round == 200 {
            memory = resident();
        }
        let pool = lab(Setup::Fine, 1).build().unwrap();
        if round % 10 == 0 {
            assert_eq!(number(&ask(&pool, Ask::Echo(3))), 3);
        }
    }
    assert_eq!(n_descriptors(), before);
    assert!(resident() < memory + 4000, "{memory} kB have become {}", resident());
    assert_eq!(n_mappings(), 0);
    assert_eq!(n_threads(), threads);
}

/// The memory of this process, in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn n_threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn limit(resource: rustix::process::Resource, value: u64) {
    let limit = rustix::process::Rlimit { current: Some(value), maximum: Some(value) };
    rustix::process::setrlimit(resource, limit).unwrap();
}

fn few_descriptors() {
    limit(rustix::process::Resource::Nofile, 64);
    let pool = pool(4);
    pool.map(&(0..2000).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
    let block = process_pool::Bytes(vec![1; 1 << 20]);
    pool.map(&vec![Ask::Blob(block); 8]).unwrap();
    kill(pool.worker_pids()[0], 9);
    until(|| pool.counters().deaths == 1);
    pool.wait_ready().unwrap();
}

fn no_descriptors() {
    limit(rustix::process::Resource::Nofile, 64);
    // Far more workers than descriptors: an error, never a panic or a hang.
    let error = lab(Setup::Fine, 40).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("Too many open files"), "{error}");
    // What was taken is given back.
    pool(2).map(&[Ask::Echo(1)]).unwrap();
}

fn no_processes() {
    let root = rustix::process::geteuid().is_root();
    if root {
        // Root has no such limit; its powers are for this thread only to give up.
        let nobody = rustix::process::Uid::from_raw(65534);
        if rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_err() {
            return println!("skipped: cannot become another user");
        }
    }
    limit(rustix::process::Resource::Nproc, 1);
    let error = lab(Setup::Fine, 2).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    let text = error.to_string();
    assert!(text.contains("Resource temporarily unavailable"), "{text}");
}

fn no_memory() {
    let pool = lab(Setup::Fine, 1).memory_limit(1 << 30).max_deaths(1).build().unwrap();
    let error = pool.submit(&Ask::Allocate(4 << 30)).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    assert_eq!(error.signal_name(), Some("SIGABRT"));
    assert_eq!(number(&ask(&pool, Ask::Allocate(1000))), 1000);
}

fn signal_storm() {
    use std::sync::atomic::AtomicBool;
    // SIGURG and SIGCHLD do nothing by default, but interrupt system calls once handled; SIGCONT
    // and stops interrupt even unhandled ones.
    let pool = pool(2);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let storm = || {
            let mut random = Random(3);
            while !over.load(Ordering::Relaxed) {
                for pid in pool.worker_pids() {
                    kill(pid, [18, 23, 28][usize::try_from(random.below(3)).unwrap()]);
                    if random.below(10) == 0 {
                        kill(pid, 19);
                        kill(pid, 18);
                    }
                }
                kill(std::process::id(), 18);
                std::thread::yield_now();
            }
        };
        scope.spawn(storm);
        for n in 0..5000 {
            assert_eq!(number(&ask(&pool, Ask::Echo(n))), n);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(pool.counters().deaths, 0);
}

fn no_stdin() {
    // Descriptors 0, 1 and 2 may be taken by the pool's own then.
    let script = format!(
        "exec env POOL_IT_SCENARIO=nested '{}' <&- >&-",
        std::env::current_exe().unwrap().display()
    );
    assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
}

fn deleted() {
    let place = Place::new("deleted");
    let copy = place.path("copy");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let mut scenario = Scenario::new("nested");
    scenario.command = {
        let mut command = Command::new(&copy);
        command.env("POOL_IT_SCENARIO", "nested").env("POOL_IT_DELETE", &copy);
        command
    };
    assert!(scenario.command.status().unwrap().success());
}

/// A pool in a process whose file may be gone, and a child of a worker that sees no worker's role.
fn nested() {
    if let Some(path) = env("POOL_IT_DELETE") {
        std::fs::remove_file(path).unwrap();
    }
    let pool = pool(2);
    assert_eq!(ask(&pool, Ask::Env("PROCESS_POOL_ROLE".into())), Told::Text(String::new()));
    assert_eq!(pool.map(&[Ask::Echo(1), Ask::Echo(2)]).unwrap().len(), 2);
}

fn helper() {
    let place = Place::new("helper");
    let copy = place.path("helper");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    for method in [StartMethod::Spawn, StartMethod::ForkServer] {
        let pool = lab(Setup::Fine, 2).start_method(method).executable(&copy).build().unwrap();
        assert_eq!(ask(&pool, Ask::Echo(4)), Told::Number(4));
        let exe = std::fs::read_link(format!("/proc/{}/exe", pool.worker_pids()[0])).unwrap();
        assert_eq!(exe.to_string_lossy(), copy);
    }
}

fn forgetful_helper() {
    for (path, text) in [
        ("/bin/true", "exited with status 0 and never called `process_pool::init`"),
        ("/bin/cat", "and never called `process_pool::init`"),
    ] {
        let builder = lab(Setup::Fine, 2).executable(path);
        let error = builder.start_timeout(Duration::from_secs(1)).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Start);
        assert!(error.to_string().contains(text), "{error}");
    }
    // A helper that forgets `init` and builds a pool of its own: an error there, no fork bomb.
    let own = std::env::current_exe().unwrap();
    let builder = lab(Setup::Fine, 2).executable(own).env("POOL_IT_FORGET", "1");
    let error = builder.build().unwrap_err();
    assert!(error.to_string().contains("and never called `process_pool::init`"), "{error}");
}

fn other_build() {
    let builder = ProcessPool::<Twin1>::builder(&()).workers(2).env("POOL_IT_TWIN", "1");
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInitialized);
    let text = error.to_string();
    assert!(text.contains("was built differently for service twin"), "{text}");
    let error = lab(Setup::Fine, 1).env("POOL_IT_TWIN", "1").build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`init` knows no service lab, but [\"twin\"]"), "{text}");
}

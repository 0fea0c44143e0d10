//! How a pool ends, and that nothing is left: scenarios in processes of their own.
#![expect(clippy::print_stdout, reason = "a scenario says where it is")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use process_pool::{ErrorKind, ProcessPool, StartMethod};

use crate::lab::{
    Ask, Lab, Place, Random, Setup, Told, children_of, env, hang, interruptible, kill, lab, marked,
    pool, until, wait_for,
};
use crate::rogue::{Deed, Rogue};
use crate::{Test, hostile, limits};

pub(crate) const TESTS: &[Test] = &[
    ("drop_ends_busy_and_idle_workers", drop_ends_all),
    ("drop_lets_idle_workers_drop_their_state", farewell),
    ("a_worker_that_does_not_stop_is_killed", stubborn),
    ("shutdown_finishes_what_waits", shutdown_finishes),
    ("shutdown_while_workers_die", shutdown_and_deaths),
    ("pools_dropped_while_they_start", dropped_while_starting),
    ("tasks_of_a_dropped_pool_are_closed", dropped_tasks),
    ("a_pool_dropped_by_a_waker", dropped_by_waker),
    ("a_panic_with_tasks_queued_leaves_nothing", panic_leaves_nothing),
    ("an_exit_without_drop_leaves_nothing", exit_leaves_nothing),
    ("a_parent_killed_at_random_moments_leaves_nothing", parent_killed),
    ("workers_that_the_kernel_does_not_signal_leave_nothing", no_death_signal),
    ("a_worker_of_another_parent_ends_at_once", other_parent),
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
        let mut command = interruptible(std::env::current_exe().unwrap());
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
    let pool = lab(Setup::Farewell(path.clone()), 1).stop_timeout(Duration::from_secs(200));
    drop(pool.build().unwrap());
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

fn shutdown_and_deaths() {
    for _ in 0..20 {
        let pool = lab(Setup::Fine, 2).max_deaths(1000).max_failed_starts(1000).build().unwrap();
        let pids = pool.worker_pids();
        let tasks: Vec<_> = (0..200).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| pids.iter().for_each(|pid| kill(*pid, 9)));
            pool.shutdown().unwrap();
        });
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.wait().unwrap(), Told::Number(n as u64));
        }
    }
}

fn dropped_while_starting() {
    let mark = format!("starting-{}", std::process::id());
    let mut random = Random(17);
    for round in 0..100 {
        let method = [StartMethod::Spawn, StartMethod::ForkServer][round % 2];
        let pool = lab(Setup::Fine, 3).start_method(method).env("POOL_IT_MARK", &mark);
        let pool = pool.build_unready().unwrap();
        let task = pool.submit(&Ask::Echo(1)).unwrap();
        for _ in 0..random.below(100_000) {
            std::hint::spin_loop();
        }
        drop(pool);
        if let Err(error) = task.wait() {
            assert_eq!(error.kind(), ErrorKind::Closed);
        }
        assert!(marked(&mark).is_empty(), "all are gone when the drop returns");
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
    let place = Place::new("parents");
    for round in 0..100 {
        let method = ["spawn", "forkserver"][round % 2];
        let mut scenario = Scenario::new("works").env("POOL_IT_METHOD", method);
        scenario.command.env("TMPDIR", place.path(""));
        let mut child = scenario.start();
        // From before `main` to well into the work and the shutdown.
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        scenario.nothing_left();
    }
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "nor a file");
}

/// The second line: a worker without the signal at its parent's death sees the socket's end.
fn no_death_signal() {
    let mut scenario = Scenario::new("deaf");
    let mut child = at_work(&mut scenario);
    child.kill().unwrap();
    child.wait().unwrap();
    scenario.nothing_left();
}

/// The look at the parent: a process whose parent died before it could ask for the signal.
fn other_parent() {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    for role in ["worker", "server"] {
        let kind = SocketType::SEQPACKET;
        let (near, far) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("PROCESS_POOL_ROLE", format!("{role}:1")).stdin(Stdio::from(far));
        assert_eq!(command.status().unwrap().code(), Some(113));
        drop(near);
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
    assert_eq!(children_of(std::process::id()), []);
    assert_eq!(std::fs::read_dir("/proc/self/task").unwrap().count(), 1, "no thread either");
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
        "deaf" => {
            let pool = ProcessPool::<Rogue>::builder(&()).workers(2).build().unwrap();
            pool.map(&[Deed::ForgetDeath, Deed::ForgetDeath, Deed::ForgetDeath]).unwrap();
            println!("ready");
            hang();
        }
        "panics" => {
            let pool = pool(2);
            let _tasks: Vec<_> = (0..20).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
            panic!("with tasks queued");
        }
        "exits" => exits(),
        "descriptors" => limits::descriptors(),
        "few_descriptors" => limits::few_descriptors(),
        "no_descriptors" => limits::no_descriptors(),
        "attachments_at_the_limit" => limits::attachments(),
        "no_processes" => limits::no_processes(),
        "small_files" => limits::small_files(),
        "no_memory" => limits::no_memory(),
        "signal_storm" => limits::signal_storm(),
        "no_stdin" => limits::no_stdin(),
        "deleted" => limits::deleted(),
        "helper" => limits::helper(),
        "forgetful_helper" => limits::forgetful_helper(),
        "other_build" => limits::other_build(),
        "nested" => limits::nested(),
        "flood" => hostile::flood(),
        "static" => hostile::keeps_a_static(),
        "second_init" => hostile::second_init(),
        "no_status" => hostile::no_status(),
        "events" => crate::inside::events(),
        "recycles" => crate::inside::recycles(),
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

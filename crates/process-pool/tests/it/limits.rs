//! Processes at their limits: descriptors, processes, memory, signals, missing files.
//!
//! Each runs as a scenario in a process of its own.
#![expect(clippy::print_stdout, reason = "a test that cannot run says so")]

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use process_pool::{ErrorKind, ProcessPool, StartMethod};

use crate::Test;
use crate::ends::Scenario;
use crate::lab::{
    Ask, Place, Random, Setup, Told, Twin1, ask, children_of, env, kill, kill_first, lab, number,
    pool, until,
};

pub(crate) const TESTS: &[Test] = &[
    ("descriptors_do_not_grow_with_tasks_or_pools", || Scenario::new("descriptors").passes()),
    ("a_pool_works_with_64_descriptors", || Scenario::new("few_descriptors").passes()),
    ("a_pool_without_descriptors_is_an_error", || Scenario::new("no_descriptors").passes()),
    ("attachments_at_the_limit_of_descriptors", || {
        Scenario::new("attachments_at_the_limit").passes();
    }),
    ("a_pool_without_processes_is_an_error", || Scenario::new("no_processes").passes()),
    ("a_limit_on_files_is_an_error_and_no_signal", || Scenario::new("small_files").passes()),
    ("a_worker_without_memory_dies_and_is_replaced", || Scenario::new("no_memory").passes()),
    ("a_storm_of_signals", || Scenario::new("signal_storm").passes()),
    ("standard_input_closed", || Scenario::new("no_stdin").passes()),
    ("a_deleted_executable", || Scenario::new("deleted").passes()),
    ("a_forgotten_init_is_an_error_in_one_process", forgotten),
    ("a_helper_executable", || Scenario::new("helper").passes()),
    ("a_helper_that_forgets_init", || Scenario::new("forgetful_helper").passes()),
    ("a_helper_of_another_build", || Scenario::new("other_build").passes()),
    ("children_of_workers_are_no_workers", || Scenario::new("nested").passes()),
];

fn forgotten() {
    Scenario::new("unused").env("POOL_IT_FORGET", "1").passes();
}

fn n_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn n_mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().matches("process-pool").count()
}

pub(crate) fn descriptors() {
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
        let method = if round % 4 == 0 { StartMethod::ForkServer } else { StartMethod::Spawn };
        let pool = lab(Setup::Fine, 1).start_method(method).build().unwrap();
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
pub(crate) fn resident() -> u64 {
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

pub(crate) fn few_descriptors() {
    limit(rustix::process::Resource::Nofile, 64);
    let pool = pool(4);
    pool.map(&(0..2000).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
    let block = process_pool::Bytes(vec![1; 1 << 20]);
    pool.map(&vec![Ask::Blob(block); 8]).unwrap();
    kill(pool.worker_pids()[0], 9);
    until(|| pool.counters().deaths == 1);
    pool.wait_ready().unwrap();
}

pub(crate) fn no_descriptors() {
    limit(rustix::process::Resource::Nofile, 64);
    // Far more workers than descriptors: an error, never a panic or a hang.
    let error = lab(Setup::Fine, 40).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("Too many open files"), "{error}");
    // What was taken is given back.
    pool(2).map(&[Ask::Echo(1)]).unwrap();
}

/// A message with more descriptors than its worker may hold is that task's error.
pub(crate) fn attachments() {
    limit(rustix::process::Resource::Nofile, 64);
    crate::broadcast::many_attachments();
}

pub(crate) fn small_files() {
    limit(rustix::process::Resource::Fsize, 100_000);
    let error = lab(Setup::Fine, 2).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("File too large"), "{error}");
    let pool = lab(Setup::Fine, 2).ring_capacity(4096).build().unwrap();
    assert_eq!(number(&ask(&pool, Ask::Echo(1))), 1);
}

pub(crate) fn no_processes() {
    let root = rustix::process::geteuid().is_root();
    if root {
        // Root has no such limit; its powers are for this thread only to give up.
        let nobody = rustix::process::Uid::from_raw(65534);
        if rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_err() {
            return println!("skipped: cannot become another user");
        }
    }
    // The fork server is refused a process, and says so to the pool.
    let served = lab(Setup::Fine, 1).start_method(StartMethod::ForkServer).build().unwrap();
    let workers = served.worker_pids();
    let children = children_of(std::process::id());
    let server = children.into_iter().find(|pid| !workers.contains(pid)).unwrap();
    let few = rustix::process::Rlimit { current: Some(1), maximum: Some(1) };
    let pid = rustix::process::Pid::from_raw(server.cast_signed());
    rustix::process::prlimit(pid, rustix::process::Resource::Nproc, few).unwrap();
    kill_first(&served);
    let error = served.submit(&Ask::Echo(1)).and_then(process_pool::Task::wait).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("Resource temporarily unavailable"), "{error}");

    limit(rustix::process::Resource::Nproc, 1);
    let error = lab(Setup::Fine, 2).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    let text = error.to_string();
    assert!(text.contains("Resource temporarily unavailable"), "{text}");
}

pub(crate) fn no_memory() {
    let pool = lab(Setup::Fine, 1).memory_limit(1 << 30).max_deaths(1).build().unwrap();
    let error = pool.submit(&Ask::Allocate(4 << 30)).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    assert_eq!(error.signal_name(), Some("SIGABRT"));
    assert_eq!(number(&ask(&pool, Ask::Allocate(1000))), 1000);
}

pub(crate) fn signal_storm() {
    use std::sync::atomic::AtomicBool;
    // SIGURG and SIGCHLD do nothing by default, but interrupt system calls once handled; SIGCONT
    // and stops interrupt even unhandled ones.
    // Handled ones interrupt whatever the pool's own threads wait in.
    crate::rogue::interrupted_by(10);
    crate::rogue::interrupted_by(17);
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
                for signal in [10, 17, 18] {
                    kill(std::process::id(), signal);
                }
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

pub(crate) fn no_stdin() {
    // Descriptors 0, 1 and 2 may be taken by the pool's own then.
    let script = format!(
        "exec env POOL_IT_SCENARIO=nested '{}' <&- >&-",
        std::env::current_exe().unwrap().display()
    );
    assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
}

pub(crate) fn deleted() {
    let place = Place::new("deleted");
    let copy = place.path("copy");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let mut command = Command::new(&copy);
    command.env("POOL_IT_SCENARIO", "nested").env("POOL_IT_DELETE", &copy);
    assert!(command.status().unwrap().success());
}

/// A pool in a process whose file may be gone, and a child of a worker that sees no worker's role.
pub(crate) fn nested() {
    if let Some(path) = env("POOL_IT_DELETE") {
        std::fs::remove_file(path).unwrap();
    }
    for method in [StartMethod::Spawn, StartMethod::ForkServer] {
        let pool = lab(Setup::Fine, 2).start_method(method).build().unwrap();
        let role = Ask::Env("PROCESS_POOL_ROLE".into());
        assert_eq!(ask(&pool, role), Told::Text(String::new()));
        assert_eq!(pool.map(&[Ask::Echo(1), Ask::Echo(2)]).unwrap().len(), 2);
    }
}

pub(crate) fn helper() {
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

pub(crate) fn forgetful_helper() {
    let (short, long) = (Duration::from_secs(1), Duration::from_secs(200));
    for (path, timeout, text) in [
        ("/bin/true", long, "exited with status 0 and never called `process_pool::init`"),
        ("/bin/cat", short, "and never called `process_pool::init`"),
    ] {
        let builder = lab(Setup::Fine, 2).executable(path);
        let error = builder.start_timeout(timeout).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Start);
        assert!(error.to_string().contains(text), "{error}");
    }
    // A helper that forgets `init` and builds a pool of its own: an error there, no fork bomb.
    let own = std::env::current_exe().unwrap();
    let builder = lab(Setup::Fine, 2).executable(own).env("POOL_IT_FORGET", "1");
    let error = builder.build().unwrap_err();
    assert!(error.to_string().contains("and never called `process_pool::init`"), "{error}");
}

pub(crate) fn other_build() {
    let builder = ProcessPool::<Twin1>::builder(&()).workers(2).env("POOL_IT_TWIN", "1");
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherBuild);
    let text = error.to_string();
    assert!(text.contains("was built differently for service twin"), "{text}");
    let error = lab(Setup::Fine, 1).env("POOL_IT_TWIN", "1").build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`init` knows no service lab, but [\"twin\"]"), "{text}");
}

//! The start method `fork`, in a binary of its own: its zygote must be forked before any thread.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::print_stdout, reason = "a test binary without a harness reports its tests")]

#[path = "it/lab.rs"]
#[expect(dead_code, reason = "shared with the other test binary")]
mod lab;
#[path = "it/rogue.rs"]
#[expect(dead_code, reason = "shared with the other test binary")]
mod rogue;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{Ask, Setup, Told, Twin1, ask, children_of, exists, kill, lab as builder, number, until};
use process_pool::{
    Builder, ErrorKind, ProcessPool, StartMethod, available_start_methods, prepare_fork, service,
};
use rogue::Deed;

fn forked(setup: Setup, workers: usize) -> Builder<lab::Lab> {
    builder(setup, workers).start_method(StartMethod::Fork)
}

fn main() {
    process_pool::init(&[service::<lab::Lab>(), service::<Twin1>(), service::<rogue::Rogue>()]);
    if let Some(scenario) = lab::env("POOL_FORK_SCENARIO") {
        return run(&scenario);
    }
    let tests: &[(&str, fn())] = &[
        // The order matters: the first needs a process without a zygote.
        ("a_thread_is_a_reason_to_refuse", refused),
        ("the_first_pool_forks_the_zygote", first_pool),
        ("deaths_are_replaced_with_threads_alive", deaths),
        ("two_pools_share_the_zygote", two_pools),
        ("an_initializer_that_fails", initializer),
        ("the_environment_is_the_pools", environment),
        ("random_kills", random_kills),
        ("nothing_is_left", nothing_left),
        ("panics_never_reach_the_copy_of_main", panics),
        ("a_stopped_zygote_does_not_hold_up_a_drop", stopped_zygote),
        ("the_death_of_the_zygote_is_an_error", zygote_death),
        ("a_parent_killed_at_random_moments_leaves_nothing", parent_killed),
        ("ctrl_c_ends_everything_once", ctrl_c),
    ];
    // `cargo nextest` asks for a list first, and then runs tests one by one.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("all: test");
        }
        return;
    }
    println!("running {} tests", tests.len());
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
        if *name == "the_first_pool_forks_the_zygote" {
            // From here on threads do no harm.
            std::thread::spawn(watchdog);
        }
    }
    println!(
        "\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        tests.len()
    );
}

fn watchdog() {
    std::thread::sleep(Duration::from_secs(240));
    println!("watchdog: the tests hang");
    std::process::abort();
}

fn refused() {
    std::thread::scope(|scope| {
        let (go, waits) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || _ = waits.recv());
        let error = forked(Setup::Fine, 1).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("this one has 2"), "{error}");
        assert!(!available_start_methods().contains(&StartMethod::Fork));
        drop(go);
    });
    // The thread has ended, but the kernel may still be at it.
    until(|| StartMethod::Fork.check().is_ok());
}

fn first_pool() {
    let pool = forked(Setup::Fine, 2).build().unwrap();
    let asks: Vec<_> = (0..1000).map(Ask::Echo).collect();
    assert_eq!(pool.map(&asks).unwrap(), (0..1000).map(Told::Number).collect::<Vec<_>>());
    assert!(available_start_methods().contains(&StartMethod::Fork));
    prepare_fork().unwrap();
    pool.shutdown().unwrap();
}

fn deaths() {
    let pool = forked(Setup::Fine, 1).build().unwrap();
    for round in 0..10 {
        let error = pool.submit(&Ask::Exit(4)).unwrap().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WorkerDied, "{round}");
        assert!(error.to_string().ends_with("exited with status 4"), "{error}");
        assert_eq!(ask(&pool, Ask::Echo(round)), Told::Number(round));
    }
    let panic = pool.submit(&Ask::Panic).unwrap().wait().unwrap_err();
    assert_eq!(panic.kind(), ErrorKind::Panic);
    assert_eq!(ask(&pool, Ask::Stdin), Told::Text(String::new()));
}

fn two_pools() {
    let first = forked(Setup::Fine, 2).build().unwrap();
    let second = ProcessPool::<Twin1>::builder(&()).start_method(StartMethod::Fork).workers(2);
    let second = second.build().unwrap();
    assert_eq!(second.map(&[0, -1, -2]).unwrap(), [0, -1, -2]);
    drop(first);
    assert_eq!(second.map(&[-4]).unwrap(), [-4]);
}

fn initializer() {
    let error = forked(Setup::Fail("no".into()), 2).build().unwrap_err();
    assert!(error.to_string().contains("failed: no (start 3 of 3)"), "{error}");
    let hangs = forked(Setup::Hang, 1).start_timeout(Duration::from_millis(100));
    assert_eq!(hangs.build().unwrap_err().kind(), ErrorKind::Start);
}

fn environment() {
    let pool = forked(Setup::Fine, 1).env("POOL_IT_COLOUR", "red").build().unwrap();
    assert_eq!(ask(&pool, Ask::Env("POOL_IT_COLOUR".into())), Told::Text("red".into()));
}

fn random_kills() {
    let builder = forked(Setup::Fine, 2).max_deaths(1000).max_failed_starts(1000);
    let pool = builder.build().unwrap();
    for round in 0..100 {
        let batch = pool.batch(&vec![Ask::Echo(round); 10]).unwrap();
        if let Some(pid) = pool.worker_pids().first() {
            kill(*pid, 9);
        }
        assert_eq!(batch.wait().unwrap(), vec![Told::Number(round); 10]);
    }
}

fn nothing_left() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let mut pids = Vec::new();
    for _ in 0..50 {
        let pool = forked(Setup::Fine, 2).build().unwrap();
        pids.extend(pool.worker_pids());
        assert_eq!(number(&ask(&pool, Ask::Echo(1))), 1);
    }
    assert_eq!(descriptors(), before);
    let alive = |pid: &&u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert_eq!(pids.iter().filter(alive).count(), 0);
}

/// Panics that leave a worker's loop: of a task, of an initializer, and of a state's drop.
fn panics() {
    let pool = ProcessPool::<rogue::Rogue>::builder(&()).workers(1).max_deaths(1);
    let pool = pool.start_method(StartMethod::Fork).build().unwrap();
    for deed in [Deed::PanicWithBomb, Deed::Bomb(rogue::Bomb::default()), Deed::AnswerMute] {
        let error = pool.submit(&deed).unwrap().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
    }
    pool.submit(&Deed::Keep(rogue::Bomb::default())).unwrap().wait().unwrap();
    let pids = pool.worker_pids();
    pool.shutdown().unwrap();
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(!pids.iter().any(alive));
    assert_eq!(forked(Setup::Panic, 1).build().unwrap_err().kind(), ErrorKind::Start);
}

fn stopped_zygote() {
    let pool = forked(Setup::Fine, 1).stop_timeout(Duration::from_millis(200)).build().unwrap();
    let workers = pool.worker_pids();
    let children = children_of(std::process::id());
    let zygote = children.into_iter().find(|pid| !workers.contains(pid)).unwrap();
    kill(zygote, 19);
    kill(workers[0], 9);
    // The starter has asked the zygote for another worker, and waits for it.
    until(|| pool.counters().launches == 2);
    drop(pool);
    kill(zygote, 18);
    let pool = forked(Setup::Fine, 1).build().unwrap();
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
    // Nothing came of what the dropped pool had asked for, not even a zombie.
    let mut expected = pool.worker_pids();
    expected.push(zygote);
    expected.sort_unstable();
    let mut children = children_of(std::process::id());
    children.sort_unstable();
    assert_eq!(children, expected);
}

fn zygote_death() {
    let pool = forked(Setup::Fine, 1).build().unwrap();
    let workers = pool.worker_pids();
    let children = children_of(std::process::id());
    let zygote = children.into_iter().find(|pid| !workers.contains(pid)).unwrap();
    kill(zygote, 9);
    // It does not stay as a zombie either.
    until(|| !exists(zygote));
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1), "workers live on");
    lab::kill_first(&pool);
    let error = pool.submit(&Ask::Echo(1)).and_then(process_pool::Task::wait).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("the zygote has ended"), "{error}");
    // With threads alive, there cannot be another.
    assert_eq!(StartMethod::Fork.check().unwrap_err().kind(), ErrorKind::Unavailable);
}

/// What a process does that is about to be ended from outside.
fn run(scenario: &str) {
    loop {
        let pool = forked(Setup::Fine, 3).build().unwrap();
        pool.map(&(0..100).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
        if scenario == "hangs" {
            let _busy: Vec<_> = (0..9).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
            println!("ready");
            lab::hang();
        }
    }
}

fn scenario(name: &str, mark: &str) -> Command {
    let mut command = lab::interruptible(std::env::current_exe().unwrap());
    command.env("POOL_FORK_SCENARIO", name).env("POOL_IT_MARK", mark);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn parent_killed() {
    let mut random = lab::Random(11);
    for round in 0..100 {
        let mark = format!("fork-{}-{round}", std::process::id());
        let mut child = scenario("works", &mark).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        until(|| lab::marked(&mark).is_empty());
    }
}

fn ctrl_c() {
    let mark = format!("fork-{}-int", std::process::id());
    let mut child = scenario("hangs", &mark).process_group(0).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    let mut err = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "", "workers say nothing");
    until(|| lab::marked(&mark).is_empty());
}

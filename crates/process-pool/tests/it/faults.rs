//! Deaths, repeats, time-outs, initializers: whatever a worker can do wrong.

use std::time::Duration;

use process_pool::{Bytes, ErrorKind, ProcessPool, StartMethod, TaskOptions};

use crate::Test;
use crate::lab::{
    Ask, Place, Random, Setup, Told, Twin1, ask, kill, lab, number, pool, until, wait_for,
};

pub(crate) const TESTS: &[Test] = &[
    ("killed_while_idle", killed_while_idle),
    ("killed_in_the_middle_of_a_task", killed_in_a_task),
    ("killed_while_100_mb_are_sent_to_it", killed_in_a_transfer),
    ("killed_while_100_mb_are_sent_by_it", killed_in_an_answer),
    ("killed_in_its_initializer", killed_in_initializer),
    ("ten_thousand_tasks_and_500_random_kills", random_kills),
    ("three_deaths_are_the_tasks_error", three_deaths),
    ("every_kind_of_death_is_named", deaths_are_named),
    ("deaths_harm_only_the_task_that_runs", deaths_and_neighbours),
    ("a_task_that_may_not_repeat_fails_at_the_first_death", not_repeatable),
    ("an_initializer_that_fails", initializer_fails),
    ("an_initializer_that_panics", initializer_panics),
    ("an_initializer_that_exits", initializer_exits),
    ("an_initializer_that_hangs", initializer_hangs),
    ("tasks_of_a_pool_that_fails_all_fail", tasks_fail_with_the_pool),
    ("a_task_that_hangs_is_timed_out_and_its_worker_replaced", timeouts),
    ("time_outs_of_one_task", timeout_of_one_task),
    ("one_worker_recycled_after_2_of_10_tasks", recycling),
    ("workers_recycled_under_load", recycling_under_load),
    ("the_death_of_the_fork_server_is_survived", server_death),
    ("kills_with_the_fork_server", server_kills),
    ("a_stack_overflow_is_a_death", stack_overflow),
    ("a_worker_that_overwrites_shared_memory_is_replaced", scribble),
    ("a_request_too_large_for_the_worker_is_an_error", too_large),
];

fn killed_while_idle() {
    let pool = pool(2);
    for round in 0..5 {
        let before = pool.worker_pids();
        kill(before[0], 9);
        until(|| pool.counters().deaths == round + 1);
        pool.wait_ready().unwrap();
        assert_eq!(ask(&pool, Ask::Echo(round)), Told::Number(round));
        assert!(!pool.worker_pids().contains(&before[0]));
    }
}

fn killed_in_a_task() {
    let pool = pool(1);
    let place = Place::new("killed");
    let (here, go) = (place.path("here"), place.path("go"));
    let task = pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    std::fs::remove_file(&here).unwrap();
    kill(pool.worker_pids()[0], 9);
    // It runs again on a fresh worker.
    wait_for(&here);
    std::fs::write(go, "").unwrap();
    assert_eq!(task.wait().unwrap(), Told::Number(0));
    assert_eq!((pool.counters().deaths, pool.counters().repeats), (1, 1));
}

fn killed_in_a_transfer() {
    let pool = pool(1);
    let block = Bytes(vec![5; 100_000_000]);
    let task = pool.submit(&Ask::Blob(block)).unwrap();
    until(|| pool.counters().bytes_sent > 2_000_000);
    kill(pool.worker_pids()[0], 9);
    let Told::Blob(back) = task.wait().unwrap() else { panic!("another answer") };
    assert!(back.0.len() == 100_000_000 && back.0.iter().all(|byte| *byte == 5));
}

fn killed_in_an_answer() {
    let pool = pool(2);
    let block = Bytes(vec![5; 50_000_000]);
    let task = pool.submit(&Ask::Blob(block)).unwrap();
    until(|| pool.counters().bytes_sent > 50_000_000);
    pool.worker_pids().into_iter().for_each(|pid| kill(pid, 9));
    let Told::Blob(back) = task.wait().unwrap() else { panic!("another answer") };
    assert_eq!(back.0.len(), 50_000_000);
}

fn killed_in_initializer() {
    let place = Place::new("initializer");
    let pool = lab(Setup::DieOnce(place.path("died")), 1).build().unwrap();
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
}

fn random_kills() {
    let pool = lab(Setup::Fine, 3).max_deaths(1000).max_failed_starts(1000).build().unwrap();
    let mut random = Random(42);
    for round in 0..500 {
        let asks: Vec<_> = (0..20).map(|n| Ask::Echo(round * 20 + n)).collect();
        let batch = pool.batch(&asks).unwrap();
        for _ in 0..random.below(20_000) {
            std::hint::spin_loop();
        }
        let pids = pool.worker_pids();
        if !pids.is_empty() {
            kill(pids[usize::try_from(random.below(pids.len() as u64)).unwrap()], 9);
        }
        for (n, answer) in batch.enumerate() {
            assert_eq!(answer.unwrap(), Told::Number(round * 20 + n as u64));
        }
    }
    pool.shutdown().unwrap();
}

fn three_deaths() {
    let pool = pool(2);
    let error = pool.submit(&Ask::Signal(11)).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    assert_eq!(error.signal_name(), Some("SIGSEGV"));
    let text = error.to_string();
    assert!(text.starts_with("the task ended 3 workers; the last, worker "), "{text}");
    assert!(text.ends_with("was killed by SIGSEGV (signal 11)"), "{text}");
    assert_eq!(pool.counters().deaths, 3);
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
    let error = pool.submit(&Ask::Exit(7)).unwrap().wait().unwrap_err();
    assert!(error.to_string().ends_with("exited with status 7"), "{error}");
}

fn deaths_are_named() {
    let pool = lab(Setup::Fine, 1).max_deaths(1).build().unwrap();
    for (signal, name) in [(6, "SIGABRT"), (9, "SIGKILL"), (7, "SIGBUS"), (15, "SIGTERM")] {
        let error = pool.submit(&Ask::Signal(signal)).unwrap().wait().unwrap_err();
        assert_eq!(error.signal_name(), Some(name));
    }
}

fn deaths_and_neighbours() {
    let pool = lab(Setup::Fine, 1).max_deaths(1).build().unwrap();
    pool.map(&(0..500).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
    let mut asks: Vec<_> = (0..30).map(Ask::Echo).collect();
    asks.insert(10, Ask::Exit(1));
    let outcomes = pool.batch(&asks).unwrap().outcomes();
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), n == 10, "task {n}: {outcome:?}");
    }
}

fn not_repeatable() {
    let pool = ProcessPool::<Twin1>::builder(&()).workers(1).build().unwrap();
    let error = pool.submit(&9).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    let text = "worker 0 was killed by SIGKILL (signal 9) in the middle of the task, which may \
                not run twice";
    assert_eq!(error.to_string(), text);
    assert_eq!(pool.submit(&0).unwrap().wait().unwrap(), 0);
}

fn initializer_error(setup: Setup, workers: usize) -> String {
    let error = lab(setup, workers).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    error.to_string()
}

fn initializer_fails() {
    let text = initializer_error(Setup::Fail("no weights at /x".into()), 1);
    assert_eq!(text, "the initializer of worker 2 failed: no weights at /x (start 3 of 3)");
    initializer_error(Setup::Fail("x".into()), 4);
}

fn initializer_panics() {
    let error = lab(Setup::Panic, 1).build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("failed: panicked: no state today, at "), "{text}");
    assert!(error.backtrace().unwrap().contains("start"));
}

fn initializer_exits() {
    let text = initializer_error(Setup::Exit(3), 1);
    assert_eq!(text, "worker 2 exited with status 3 in its initializer (start 3 of 3)");
}

fn initializer_hangs() {
    for millis in [50, 500, 5000, 50_000] {
        let timeout = Duration::from_millis(millis);
        let error = lab(Setup::Hang, 1).start_timeout(timeout).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Start);
        if error.to_string().contains("never called") {
            // This machine has not got as far as the initializer meanwhile.
            continue;
        }
        let text = format!("worker 2 was not ready after {timeout:?} in its initializer");
        return assert_eq!(error.to_string(), format!("{text} (start 3 of 3)"));
    }
    panic!("no start reached the initializer");
}

fn tasks_fail_with_the_pool() {
    let pool = lab(Setup::Fail("no".into()), 2).build_unready().unwrap();
    let tasks: Vec<_> = (0..5).map_while(|n| pool.submit(&Ask::Echo(n)).ok()).collect();
    for task in tasks {
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Start);
    }
    assert_eq!(pool.wait_ready().unwrap_err().kind(), ErrorKind::Start);
    assert_eq!(pool.submit(&Ask::Echo(1)).unwrap_err().kind(), ErrorKind::Start);
    assert_eq!(pool.shutdown().unwrap_err().kind(), ErrorKind::Start);
}

fn timeouts() {
    let pool = lab(Setup::Fine, 1).task_timeout(Duration::from_millis(200)).build().unwrap();
    let hangs = pool.submit(&Ask::Hang).unwrap();
    // A task's own time-out counts, not the pool's.
    let timeout = Some(Duration::from_secs(200));
    let patient = TaskOptions { timeout, ..TaskOptions::default() };
    let behind = (0..10).map(|n| pool.submit_with(&Ask::Echo(n), patient.clone()).unwrap());
    let behind: Vec<_> = behind.collect();
    let error = hangs.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(error.to_string(), "the task took longer than 200ms; worker 0 was killed");
    for (n, task) in behind.into_iter().enumerate() {
        assert_eq!(task.wait().unwrap(), Told::Number(n as u64));
    }
    assert_eq!(pool.counters().deaths, 0, "it was told to");
}

fn timeout_of_one_task() {
    let pool = pool(1);
    let timeout = Some(Duration::from_millis(50));
    let options = TaskOptions { timeout, ..TaskOptions::default() };
    let error = pool.submit_with(&Ask::Hang, options).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
}

fn recycling() {
    let pool = lab(Setup::Fine, 1).recycle_after(2).build().unwrap();
    let pids = pool.map(&vec![Ask::Pid; 10]).unwrap();
    let pids: std::collections::BTreeSet<_> = pids.iter().map(number).collect();
    assert_eq!(pids.len(), 5);
    until(|| pool.counters().recycled == 5);
    assert_eq!(pool.counters().deaths, 0, "recycling is no crash");
}

fn recycling_under_load() {
    let pool = lab(Setup::Fine, 3).recycle_after(10).build().unwrap();
    let asks: Vec<_> = (0..600).map(Ask::Echo).collect();
    assert_eq!(pool.map(&asks).unwrap(), (0..600).map(Told::Number).collect::<Vec<_>>());
    assert_eq!(pool.counters().deaths, 0);
}

/// The process that forks the workers of a pool: a child of ours that is no worker.
pub(crate) fn server_of(mark: &str, pool: &ProcessPool<crate::lab::Lab>) -> u32 {
    let mut servers = crate::lab::marked(mark);
    pool.worker_pids().iter().for_each(|pid| _ = servers.remove(pid));
    assert_eq!(servers.len(), 1, "{servers:?}");
    servers.pop_first().unwrap()
}

fn server_death() {
    let mark = format!("server-death-{}", std::process::id());
    let pool = lab(Setup::Fine, 2).start_method(StartMethod::ForkServer).env("POOL_IT_MARK", &mark);
    let pool = pool.build().unwrap();
    for round in 0..5 {
        let server = server_of(&mark, &pool);
        let pids = pool.worker_pids();
        kill(server, 9);
        // It does not stay as a zombie either.
        until(|| !crate::lab::exists(server));
        assert_eq!(ask(&pool, Ask::Echo(round)), Told::Number(round));
        assert_eq!(pool.worker_pids(), pids, "the death of the server harms no worker");
        kill(pids[0], 9);
        until(|| pool.counters().deaths == round + 1);
        pool.wait_ready().unwrap();
        assert_eq!(ask(&pool, Ask::Echo(round)), Told::Number(round));
    }
}

fn server_kills() {
    let builder = lab(Setup::Fine, 2).start_method(StartMethod::ForkServer);
    let pool = builder.max_deaths(1000).max_failed_starts(1000).build().unwrap();
    let mut random = Random(7);
    for round in 0..100 {
        let batch: Vec<_> = (0..10).map(|n| Ask::Echo(round + n)).collect();
        let batch = pool.batch(&batch).unwrap();
        for _ in 0..random.below(20_000) {
            std::hint::spin_loop();
        }
        if let Some(pid) = pool.worker_pids().first() {
            kill(*pid, 9);
        }
        assert_eq!(
            batch.wait().unwrap(),
            (0..10).map(|n| Told::Number(round + n)).collect::<Vec<_>>()
        );
    }
}

fn stack_overflow() {
    let pool = lab(Setup::Fine, 1).max_deaths(1).stack_size(1 << 20).build().unwrap();
    let error = pool.submit(&Ask::Recurse(10_000_000)).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    assert_eq!(error.signal_name(), Some("SIGABRT"));
}

fn scribble() {
    let pool = pool(1);
    // It may still find its way, as long as it goes on.
    let _ = pool.submit(&Ask::Scribble(false)).unwrap().wait();
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
    let error = pool.submit(&Ask::Scribble(true)).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    let text = error.to_string();
    assert!(text.starts_with("the task ended 3 workers; the last, worker "), "{text}");
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
}

fn too_large() {
    let pool = lab(Setup::Fine, 1).memory_limit(256 << 20).build().unwrap();
    let block = Bytes(vec![0; 300 << 20]);
    let error = pool.submit(&Ask::Blob(block)).unwrap().wait().unwrap_err();
    assert_eq!((error.kind(), error.signal_name()), (ErrorKind::WorkerDied, Some("SIGABRT")));
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
}

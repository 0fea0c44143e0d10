//! Services and owners that misbehave: the pool may refuse or fail their tasks, but never hangs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use process_pool::{ErrorKind, ProcessPool, StartMethod, TaskOptions, WhenFull, service};

use crate::Test;
use crate::ends::Scenario;
use crate::faults::server_of;
use crate::lab::{
    Ask, Lab, Place, Setup, Told, Twin1, ask, counted, kill, lab, marked, number, pool, until,
    wait_for,
};
use crate::rogue::{Bomb, Deed, Mute, Namesake, Reply, Rogue, ignore_children};

pub(crate) const TESTS: &[Test] = &[
    ("a_worker_that_closes_its_descriptors_is_ended", closed_descriptors),
    ("a_panic_with_a_value_that_panics_when_dropped", panic_with_bomb),
    ("a_request_that_panics_when_dropped", bomb),
    ("values_that_panic_when_encoded", mute),
    ("a_panic_hook_that_panics", hook),
    ("a_child_that_a_worker_forked_holds_nothing_up", forked_child),
    ("a_flood_of_events_holds_nothing_up", || Scenario::new("flood").passes()),
    ("pools_inside_workers_end_with_them", nested_pools),
    ("a_pool_in_a_static_leaves_nothing", in_a_static),
    ("a_pool_outlives_the_thread_that_made_it", made_elsewhere),
    ("two_services_of_one_name_are_refused", namesakes),
    ("a_second_init_changes_nothing", || Scenario::new("second_init").passes()),
    ("settings_out_of_any_bound", wild_settings),
    ("a_waker_that_panics", panicking_waker),
    ("a_waker_that_submits_to_a_full_queue_is_refused", submitting_waker),
    ("a_waker_that_waits_is_refused", waiting_waker),
    ("a_snapshot_that_waits_is_refused", waiting_snapshot),
    ("stopped_workers_are_ended_by_a_drop", stopped_workers),
    ("a_stopped_fork_server_does_not_hold_up_a_drop", stopped_server),
    ("the_kernel_takes_the_status_of_children", || Scenario::new("no_status").passes()),
    ("a_shutdown_has_a_deadline", shutdown_timeout),
    ("a_shutdown_within_its_deadline_finishes_all", shutdown_in_time),
];

fn rogues(workers: usize) -> process_pool::Builder<Rogue> {
    ProcessPool::<Rogue>::builder(&()).workers(workers).max_deaths(1)
}

fn numbers(reply: Reply) -> Vec<u32> {
    match reply {
        Reply::Numbers(numbers) => numbers,
        Reply::Mute(_) => panic!("no numbers"),
    }
}

fn do_it(pool: &ProcessPool<Rogue>, deed: &Deed) -> Result<Vec<u32>, process_pool::Error> {
    pool.submit(deed).unwrap().wait().map(numbers)
}

fn closed_descriptors() {
    let pool = rogues(2).build().unwrap();
    let error = do_it(&pool, &Deed::CloseAll(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WorkerDied);
    let text = error.to_string();
    let noticed = text.ends_with("exited with status 113");
    assert!(noticed || text.ends_with("closed its connection to the pool"), "{text}");
    // An answer is taken although no bell can be rung for it, unless the worker notices at once;
    // it goes all the same.
    let as_it_may = |outcome: Result<Vec<u32>, process_pool::Error>| {
        assert!(outcome.is_ok_and(|numbers| numbers.is_empty()) || pool.counters().deaths > 1);
    };
    as_it_may(do_it(&pool, &Deed::CloseAll(false)));
    until(|| pool.counters().deaths == 2);
    let task = pool.submit(&Deed::CloseAll(false)).unwrap();
    until(|| task.is_finished());
    as_it_may(task.wait().map(numbers));
    until(|| pool.counters().deaths == 3);
    pool.wait_ready().unwrap();
    do_it(&pool, &Deed::Nothing).unwrap();
}

fn panic_with_bomb() {
    let pool = rogues(1).build().unwrap();
    let error = do_it(&pool, &Deed::PanicWithBomb).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    assert!(error.to_string().contains("a value that is no text"), "{error}");
    do_it(&pool, &Deed::Nothing).unwrap();
    assert_eq!(pool.counters().deaths, 0);
}

fn bomb() {
    let pool = rogues(1).build().unwrap();
    let error = do_it(&pool, &Deed::Bomb(Bomb::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    assert!(error.to_string().contains("the bomb went off"), "{error}");
    do_it(&pool, &Deed::Nothing).unwrap();
    assert_eq!(pool.counters().deaths, 0);
}

fn mute() {
    let pool = rogues(1).build().unwrap();
    let error = do_it(&pool, &Deed::AnswerMute).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    let submitted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.submit(&Deed::Unspeakable(Mute)).is_ok()
    }));
    assert!(submitted.is_err(), "the caller's panic is the caller's");
    do_it(&pool, &Deed::Nothing).unwrap();
    assert_eq!(pool.counters().deaths, 0);
}

fn hook() {
    let pool = rogues(1).build().unwrap();
    do_it(&pool, &Deed::Hook).unwrap();
    // A panic in the hook aborts the process: that is a death, and nothing else.
    let error = do_it(&pool, &Deed::PanicWithBomb).unwrap_err();
    assert_eq!(error.signal_name(), Some("SIGABRT"));
    do_it(&pool, &Deed::Nothing).unwrap();
}

fn forked_child() {
    let pool = rogues(1).build().unwrap();
    let child = do_it(&pool, &Deed::Fork).unwrap()[0];
    // It holds copies of all descriptors of the worker, and so no end of a channel is seen.
    kill(pool.worker_pids()[0], 9);
    until(|| pool.counters().deaths == 1);
    pool.wait_ready().unwrap();
    let other = do_it(&pool, &Deed::Fork).unwrap()[0];
    drop(pool);
    [child, other].into_iter().for_each(|pid| kill(pid, 9));
}

pub(crate) fn flood() {
    // Events are wanted, and taken slowly.
    struct Slow;
    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Slow {
        fn on_event(&self, _: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
    use tracing_subscriber::layer::SubscriberExt;
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Slow)).unwrap();
    let pool = rogues(2).build().unwrap();
    let flood = pool.submit(&Deed::Flood).unwrap();
    let before = crate::limits::resident();
    for _ in 0..100 {
        do_it(&pool, &Deed::Nothing).unwrap();
    }
    assert!(!flood.is_finished(), "the other worker's tasks did not wait");
    // Nor does the end of what takes too long.
    let timeout = Some(Duration::from_millis(300));
    let options = TaskOptions { timeout, ..TaskOptions::default() };
    let second = pool.submit_with(&Deed::Flood, options).unwrap();
    assert_eq!(second.wait().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(!flood.is_finished());
    assert!(
        crate::limits::resident() < before + 20_000,
        "{before} kB have become {}",
        crate::limits::resident()
    );
}

fn nested_pools() {
    let mark = format!("nested-{}", std::process::id());
    let pool = rogues(2).env("POOL_IT_MARK", &mark).build().unwrap();
    for pid in do_it(&pool, &Deed::Nest).unwrap() {
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
    pool.worker_pids().into_iter().for_each(|pid| kill(pid, 9));
    until(|| pool.counters().deaths == 2);
    pool.wait_ready().unwrap();
    until(|| marked(&mark).len() == 2);
    do_it(&pool, &Deed::Nest).unwrap();
    drop(pool);
    until(|| marked(&mark).is_empty());
}

static POOL: OnceLock<ProcessPool<Lab>> = OnceLock::new();

/// The scenario: the program ends with the pool still there.
pub(crate) fn keeps_a_static() {
    let pool = POOL.get_or_init(|| pool(2));
    assert_eq!(number(&ask(pool, Ask::Echo(1))), 1);
    pool.submit(&Ask::Hang).unwrap().detach();
}

fn in_a_static() {
    Scenario::new("static").passes();
}

fn made_elsewhere() {
    let made = std::thread::spawn(|| pool(2)).join().unwrap();
    // The signal at the parent's death is that of the starter, not that of this thread.
    assert_eq!(number(&ask(&made, Ask::Echo(1))), 1);
    let pids = made.worker_pids();
    std::thread::spawn(move || drop(made)).join().unwrap();
    assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
}

fn namesakes() {
    let error = ProcessPool::<Namesake<1>>::builder(&()).workers(1).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(error.to_string(), "2 services in the list for `init` have the name namesake");
}

pub(crate) fn second_init() {
    process_pool::init(&[service::<Twin1>()]);
    assert_eq!(pool(1).map(&[Ask::Echo(1)]).unwrap(), [Told::Number(1)]);
}

fn wild_settings() {
    for workers in [usize::MAX, 1 << 20] {
        let error = lab(Setup::Fine, workers).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
    }
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
        let error = lab(Setup::Fine, 1).env(name, value).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name:?} {value:?}");
    }
    let for_ever = Duration::MAX;
    for method in [StartMethod::Spawn, StartMethod::ForkServer] {
        let pool = lab(Setup::Fine, 1).start_timeout(for_ever).stop_timeout(for_ever);
        let pool = pool.task_timeout(for_ever).start_method(method).build().unwrap();
        assert_eq!(number(&ask(&pool, Ask::Echo(1))), 1);
        let task = pool.submit(&Ask::Echo(2)).unwrap().wait_timeout(for_ever);
        assert_eq!(task.unwrap().unwrap(), Told::Number(2));
        pool.shutdown_timeout(for_ever).unwrap();
    }
    let zero = lab(Setup::Fine, 1).max_deaths(0).max_failed_starts(0).queue(0, WhenFull::Refuse);
    let zero = zero.ring_capacity(0).task_timeout(Duration::ZERO).build().unwrap();
    assert_eq!(zero.submit(&Ask::Echo(1)).unwrap_err().kind(), ErrorKind::QueueFull);
}

/// A waker that runs code once.
struct Runs(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Wake for Runs {
    fn wake(self: Arc<Self>) {
        if let Some(code) = self.0.lock().unwrap().take() {
            code();
        }
    }
}

/// Runs code on the thread that ends a task; the task ends when the file is made.
fn when_done(
    pool: &ProcessPool<Lab>,
    place: &Place,
    code: impl FnOnce() + Send + 'static,
) -> process_pool::Task<Told> {
    let (here, go) = (place.path("here"), place.path("go"));
    let mut task = pool.submit(&Ask::Meet(here.clone(), go)).unwrap();
    wait_for(&here);
    let waker = Waker::from(Arc::new(Runs(Mutex::new(Some(Box::new(code))))));
    let polled = Future::poll(std::pin::Pin::new(&mut task), &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    task
}

fn panicking_waker() {
    let place = Place::new("panicking");
    let pool = pool(1);
    let task = when_done(&pool, &place, || panic!("a waker"));
    let next = pool.submit(&Ask::Echo(1)).unwrap();
    std::fs::write(place.path("go"), "").unwrap();
    assert_eq!(next.wait().unwrap(), Told::Number(1));
    assert_eq!(task.wait().unwrap(), Told::Number(0));
    pool.shutdown().unwrap();
}

fn submitting_waker() {
    let place = Place::new("submitting");
    let pool = Arc::new(lab(Setup::Fine, 1).queue(1, WhenFull::Block).build().unwrap());
    let seen = Arc::new(Mutex::new(None));
    let (own, result) = (pool.clone(), seen.clone());
    let first = when_done(&pool, &place, move || {
        let kind = loop {
            match own.submit(&Ask::Echo(3)) {
                Ok(task) => task.detach(),
                Err(error) => break error.kind(),
            }
        };
        *result.lock().unwrap() = Some(kind);
    });
    std::fs::write(place.path("go"), "").unwrap();
    until(|| seen.lock().unwrap().is_some());
    assert_eq!(*seen.lock().unwrap(), Some(ErrorKind::QueueFull));
    assert_eq!(first.wait().unwrap(), Told::Number(0));
    assert_eq!(number(&ask(&pool, Ask::Echo(1))), 1);
}

fn waiting_waker() {
    let place = Place::new("waiting");
    let pool = Arc::new(pool(1));
    let seen = Arc::new(Mutex::new(Vec::new()));
    // Refused waits cancel their tasks, and these end then, whether they run or not.
    let endless = Ask::AwaitCancel(place.path("runs"), place.path("ends"));
    let (own, result) = (pool.clone(), seen.clone());
    let first = when_done(&pool, &place, move || {
        let slow = own.submit(&endless).unwrap();
        let mut seen = vec![slow.wait().map_err(|error| error.kind())];
        seen.push(
            own.batch([&endless])
                .unwrap()
                .wait()
                .map(|_| Told::Number(0))
                .map_err(|error| error.kind()),
        );
        *result.lock().unwrap() = seen;
    });
    std::fs::write(place.path("go"), "").unwrap();
    until(|| !seen.lock().unwrap().is_empty());
    let refused = Err(ErrorKind::WouldHang);
    assert_eq!(*seen.lock().unwrap(), [refused.clone(), refused]);
    assert_eq!(first.wait().unwrap(), Told::Number(0));
    assert_eq!(number(&ask(&pool, Ask::Echo(1))), 1);
}

fn waiting_snapshot() {
    static ROUND: AtomicU32 = AtomicU32::new(0);
    static OWN: OnceLock<ProcessPool<Lab>> = OnceLock::new();
    let seen = Arc::new(Mutex::new(None));
    let result = seen.clone();
    let builder = lab(Setup::Fine, 1).snapshots(move || {
        if ROUND.fetch_add(1, Ordering::Relaxed) == 0
            && let Some(pool) = OWN.get()
        {
            // The only worker waits for this snapshot.
            let error = pool.submit(&Ask::Echo(1)).unwrap().wait().unwrap_err();
            *result.lock().unwrap() = Some((error.kind(), pool.wait_ready().unwrap_err().kind()));
        }
        counted(1)
    });
    let pool = OWN.get_or_init(|| builder.build().unwrap());
    pool.broadcast(&crate::lab::News::Add(1)).unwrap();
    kill(pool.worker_pids()[0], 9);
    until(|| seen.lock().unwrap().is_some());
    let kinds = seen.lock().unwrap().take();
    assert_eq!(kinds, Some((ErrorKind::WouldHang, ErrorKind::WouldHang)));
    assert_eq!(ask(pool, Ask::News), Told::News(vec![1]));
}

fn stopped_workers() {
    for busy in [false, true] {
        let pool = lab(Setup::Fine, 2).stop_timeout(Duration::from_millis(100)).build().unwrap();
        let pids = pool.worker_pids();
        let tasks: Vec<_> =
            (0..2 * usize::from(busy)).map(|_| pool.submit(&Ask::Hang).unwrap()).collect();
        pids.iter().for_each(|pid| kill(*pid, 19));
        drop(pool);
        assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
        for task in tasks {
            assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Closed);
        }
    }
}

fn stopped_server() {
    let mark = format!("stopped-{}", std::process::id());
    let builder = lab(Setup::Fine, 1).start_method(StartMethod::ForkServer);
    let pool = builder.env("POOL_IT_MARK", &mark).build().unwrap();
    kill(server_of(&mark, &pool), 19);
    kill(pool.worker_pids()[0], 9);
    // The starter has asked the server for another worker, and waits for it.
    until(|| pool.counters().launches == 2);
    drop(pool);
    until(|| marked(&mark).is_empty());
}

/// The kernel, or another part of the program, waits for all children.
pub(crate) fn no_status() {
    ignore_children();
    for method in [StartMethod::Spawn, StartMethod::ForkServer] {
        let pool = lab(Setup::Fine, 2).start_method(method).max_deaths(1).build().unwrap();
        let error = pool.submit(&Ask::Signal(9)).unwrap().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WorkerDied);
        assert!(error.to_string().contains("somebody else took its status"), "{error}");
        assert_eq!(number(&ask(&pool, Ask::Echo(1))), 1);
    }
    let error = lab(Setup::Exit(3), 1).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
}

fn shutdown_timeout() {
    let pool = pool(2);
    let pids = pool.worker_pids();
    let hung = pool.submit(&Ask::Hang).unwrap();
    let echo = pool.submit(&Ask::Echo(4)).unwrap();
    until(|| echo.is_finished());
    let error = pool.shutdown_timeout(Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(echo.wait().unwrap(), Told::Number(4));
    assert_eq!(hung.wait().unwrap_err().kind(), ErrorKind::Closed);
    assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
}

fn shutdown_in_time() {
    let pool = pool(2);
    let tasks: Vec<_> = (0..500).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
    pool.shutdown_timeout(Duration::from_secs(100)).unwrap();
    assert!(tasks.iter().all(process_pool::Task::is_finished));
}

//! Broadcasts, snapshots for late workers, attachments.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use process_pool::{
    Attachment, Builder, Bytes, ErrorKind, Key, ProcessPool, Snapshot, TaskOptions,
};

use crate::Test;
use crate::lab::{
    Ask, Lab, News, Picky, Place, Setup, Told, ask, counted, file, kill, kill_first, lab, number,
    pool, until, wait_for,
};

pub(crate) const TESTS: &[Test] = &[
    ("all_workers_have_a_broadcast_before_later_tasks", before_later_tasks),
    ("a_late_worker_gets_a_snapshot", snapshots),
    ("broadcasts_while_workers_die", broadcasts_and_deaths),
    ("a_snapshot_that_is_too_old_is_an_error", stale_snapshot),
    ("a_snapshot_that_panics_is_an_error", panicking_snapshot),
    ("an_update_that_always_fails_is_the_pools_error", failing_update),
    ("an_update_that_fails_once_replaces_the_worker", update_fails_once),
    ("broadcasting_needs_snapshots", needs_snapshots),
    ("updates_for_a_busy_worker_make_way_for_a_snapshot", busy_worker),
    ("a_snapshot_that_comes_too_late_is_followed_by_another", slow_owner),
    ("updates_for_a_starting_worker_make_way_for_a_snapshot", starting_worker),
    ("no_task_misses_an_update_that_made_way", no_update_is_missed),
    ("an_attachment_is_sent_once", attachment_once),
    ("attachments_of_initializers_and_broadcasts", attachments_elsewhere),
    ("a_replacement_gets_attachments_again", attachments_again),
    ("hundreds_of_attachments_in_one_message", many_attachments),
    ("thousands_of_attachments_behind_a_busy_worker", attachments_and_a_full_socket),
    ("a_detached_key_is_sent_again", detach),
    ("a_key_detached_behind_a_busy_worker_is_sent_again", detach_while_busy),
    ("a_request_that_cannot_be_encoded_leaves_no_descriptor", encoding_fails),
];

fn before_later_tasks() {
    let pool = lab(Setup::Fine, 4).snapshots(|| counted(0)).build().unwrap();
    for n in 1..=200 {
        assert_eq!(pool.broadcast(&News::Add(n)).unwrap(), n);
        let all: Vec<_> = (1..=n).collect();
        for told in pool.map(&vec![Ask::News; 8]).unwrap() {
            assert_eq!(told, Told::News(all.clone()));
        }
    }
}

fn snapshots() {
    let known = Arc::new(AtomicU64::new(0));
    let asked = Arc::new(AtomicU64::new(0));
    let (of, count) = (known.clone(), asked.clone());
    let builder = lab(Setup::Fine, 2).snapshots(move || {
        count.fetch_add(1, Ordering::SeqCst);
        counted(of.load(Ordering::SeqCst))
    });
    let pool = builder.build().unwrap();
    for n in 1..=10 {
        known.store(pool.broadcast(&News::Add(n)).unwrap(), Ordering::SeqCst);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody was late");
    pool.worker_pids().into_iter().for_each(|pid| kill(pid, 9));
    until(|| pool.counters().deaths == 2);
    pool.wait_ready().unwrap();
    for told in pool.map(&vec![Ask::News; 8]).unwrap() {
        assert_eq!(told, Told::News((1..=10).collect()));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

fn broadcasts_and_deaths() {
    // The owner keeps its state and the number of the last broadcast under one lock.
    let state = Arc::new(Mutex::new(0));
    let of = state.clone();
    let builder = lab(Setup::Fine, 3).max_deaths(1000).max_failed_starts(1000);
    let pool = builder.snapshots(move || counted(*of.lock().unwrap())).build().unwrap();
    let mut random = crate::lab::Random(99);
    for n in 1..=300 {
        {
            let mut state = state.lock().unwrap();
            *state = pool.broadcast(&News::Add(n)).unwrap();
        }
        if n % 3 == 0
            && let pids = pool.worker_pids()
            && !pids.is_empty()
        {
            kill(pids[usize::try_from(random.below(pids.len() as u64)).unwrap()], 9);
        }
        for told in pool.map(&vec![Ask::News; 4]).unwrap() {
            assert_eq!(told, Told::News((1..=n).collect()));
        }
    }
}

fn stale_snapshot() {
    let pool = lab(Setup::Fine, 1).snapshots(|| counted(1)).build().unwrap();
    for n in 1..=3 {
        pool.broadcast(&News::Add(n)).unwrap();
    }
    kill_first(&pool);
    let error = pool.submit(&Ask::News).and_then(process_pool::Task::wait).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("includes broadcast 1 at most; 3 had been sent"), "{error}");
}

fn panicking_snapshot() {
    let pool = lab(Setup::Fine, 1).snapshots(|| std::panic::resume_unwind(Box::new(()))).build();
    let pool = pool.unwrap();
    pool.broadcast(&News::Add(1)).unwrap();
    kill_first(&pool);
    let error = pool.submit(&Ask::News).and_then(process_pool::Task::wait).unwrap_err();
    assert!(error.to_string().ends_with("the owner's code panicked"), "{error}");
}

fn failing_update() {
    let bad = || Snapshot { after: 1, update: News::Bad, attachments: vec![] };
    let pool = lab(Setup::Fine, 1).snapshots(bad).build().unwrap();
    pool.broadcast(&News::Panic).unwrap();
    let error = pool.submit(&Ask::News).and_then(process_pool::Task::wait).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("could not take an update in: bad news"), "{error}");
}

fn update_fails_once() {
    let pool = lab(Setup::Fine, 2).snapshots(|| counted(1)).build().unwrap();
    pool.broadcast(&News::Bad).unwrap();
    assert_eq!(ask(&pool, Ask::News), Told::News(vec![1]));
}

fn needs_snapshots() {
    let error = pool(1).broadcast(&News::Add(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

/// An owner that keeps what it has told under one lock, with a pool whose rings are small.
struct Owner {
    pool: ProcessPool<Lab>,
    told: Arc<Mutex<u64>>,
    /// How often the pool has asked for a snapshot.
    asked: Arc<AtomicU64>,
    /// The last news that the last snapshot includes.
    known: Arc<AtomicU64>,
    /// While it is set, snapshots are made and not handed over.
    hesitates: Arc<AtomicBool>,
}

impl Owner {
    fn new(builder: Builder<Lab>, backlog: usize) -> Self {
        let (told, asked) = (Arc::new(Mutex::new(0)), Arc::new(AtomicU64::new(0)));
        let hesitates = Arc::new(AtomicBool::new(false));
        let known = Arc::new(AtomicU64::new(0));
        let (of, count, waits) = (told.clone(), asked.clone(), hesitates.clone());
        let last = known.clone();
        let builder = builder.snapshots(move || {
            let known = *of.lock().unwrap();
            last.store(known, Ordering::SeqCst);
            count.fetch_add(1, Ordering::SeqCst);
            until(|| !waits.load(Ordering::SeqCst));
            counted(known)
        });
        let builder = builder.ring_capacity(4096).update_backlog(backlog);
        Self { pool: builder.build_unready().unwrap(), told, asked, known, hesitates }
    }

    /// Tells some news; the result is the number of the last.
    fn tell(&self, times: u64) -> u64 {
        for _ in 0..times {
            let mut told = self.told.lock().unwrap();
            *told = self.pool.broadcast(&News::Add(*told + 1)).unwrap();
        }
        *self.told.lock().unwrap()
    }
}

fn busy_worker() {
    falls_behind(false);
}

fn slow_owner() {
    falls_behind(true);
}

/// A worker that is busy while its owner broadcasts, and that has it all in the end.
fn falls_behind(hesitates: bool) {
    let owner = Owner::new(lab(Setup::Fine, 1), 10_000);
    owner.hesitates.store(hesitates, Ordering::SeqCst);
    let place = Place::new("busy");
    let (here, go) = (place.path("here"), place.path("go"));
    let busy = owner.pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    let before = owner.pool.counters().bytes_sent;
    owner.tell(1000);
    until(|| !hesitates || owner.asked.load(Ordering::SeqCst) == 1);
    let enough = owner.tell(4000);
    owner.hesitates.store(false, Ordering::SeqCst);
    // A snapshot that came too late to be enough is followed by another when more comes. The worker
    // goes on when one has all of this, however slowly the owner is asked.
    until(|| owner.known.load(Ordering::SeqCst) >= enough || owner.tell(10) == 0);
    let last = *owner.told.lock().unwrap();
    let least = 1 + u64::from(hesitates);
    std::fs::write(go, "").unwrap();
    busy.wait().unwrap();
    assert_eq!(ask(&owner.pool, Ask::News), Told::News((1..=last).collect()));
    let asked = owner.asked.load(Ordering::SeqCst);
    assert!((least..=20).contains(&asked), "{asked} snapshots for 10,000 bytes each of 180,000");
    let sent = owner.pool.counters().bytes_sent - before;
    assert!(sent < 100_000, "{sent} bytes of 180,000");
    assert_eq!(owner.pool.counters().deaths, 0);
}

fn starting_worker() {
    let place = Place::new("starting");
    let go = place.path("go");
    let owner = Owner::new(lab(Setup::Await(go.clone()), 1), 1000);
    until(|| owner.pool.worker_pids().len() == 1);
    let last = owner.tell(500);
    std::fs::write(go, "").unwrap();
    assert_eq!(ask(&owner.pool, Ask::News), Told::News((1..=last).collect()));
    assert_eq!(owner.asked.load(Ordering::SeqCst), 1);
    assert!(owner.pool.counters().bytes_sent < 5000, "the snapshot, and few updates after it");
}

fn no_update_is_missed() {
    let builder = lab(Setup::Fine, 2).max_deaths(1000).max_failed_starts(1000);
    let owner = Owner::new(builder, 0);
    let mut random = crate::lab::Random(7);
    for _ in 0..20 {
        let mut tasks = Vec::new();
        for _ in 0..100 {
            let last = owner.tell(random.below(5) + 1);
            let options = match random.below(4) {
                0 => with(u128::from(last), "text"),
                _ => TaskOptions::default(),
            };
            tasks.push((last, owner.pool.submit_with(&Ask::News, options).unwrap()));
            if random.below(10) == 0 {
                owner.pool.detach(&[Key(u128::from(last))]);
            }
        }
        if let Some(pid) = owner.pool.worker_pids().first() {
            kill(*pid, 9);
        }
        for (last, task) in tasks {
            let Told::News(news) = task.wait().unwrap() else { panic!("another answer") };
            assert!(news.len() as u64 >= last, "{} of {last}", news.len());
            assert!(news.iter().zip(1..).all(|(told, n)| *told == n), "{news:?}");
        }
    }
    assert!(owner.asked.load(Ordering::SeqCst) > 20);
}

fn with(key: u128, text: &str) -> TaskOptions {
    let attachments = vec![Attachment::new(Key(key), file(text))];
    TaskOptions { attachments, ..TaskOptions::default() }
}

fn attachment_once() {
    let pool = pool(1);
    let first = pool.submit_with(&Ask::Read(5), with(5, "one")).unwrap();
    assert_eq!(first.wait().unwrap(), Told::Text("one".into()));
    // The key is known: another descriptor under it is not sent.
    let second = pool.submit_with(&Ask::Read(5), with(5, "two")).unwrap();
    assert_eq!(second.wait().unwrap(), Told::Text("one".into()));
    assert_eq!(ask(&pool, Ask::Read(5)), Told::Text("one".into()));
}

fn attachments_elsewhere() {
    let builder = lab(Setup::ReadKey(1), 2).attach(Attachment::new(Key(1), file("first")));
    let pool = builder.snapshots(|| counted(0)).build().unwrap();
    for told in pool.map(&vec![Ask::Setup; 8]).unwrap() {
        assert_eq!(told, Told::Text("first".into()));
    }
    let attachment = Attachment::new(Key(2), file("second"));
    pool.broadcast_with(&News::Attached(2), vec![attachment]).unwrap();
    for told in pool.map(&vec![Ask::Setup; 8]).unwrap() {
        assert_eq!(told, Told::Text("second".into()));
    }
}

fn attachments_again() {
    let pool = pool(1);
    for round in 0..5 {
        let task = pool.submit_with(&Ask::Read(1), with(1, "text")).unwrap();
        assert_eq!(task.wait().unwrap(), Told::Text("text".into()));
        kill(pool.worker_pids()[0], 9);
        until(|| pool.counters().deaths == round + 1);
    }
}

pub(crate) fn many_attachments() {
    let pool = pool(2);
    let fd = file("same");
    let attachments = (0..300).map(|key| Attachment::new(Key(key), fd.clone())).collect();
    let options = TaskOptions { attachments, ..TaskOptions::default() };
    let answer = pool.submit_with(&Ask::Read(299), options).unwrap().wait();
    if few_descriptors() {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Attachment);
    } else {
        assert_eq!(answer.unwrap(), Told::Text("same".into()));
    }
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
}

/// Whether this process, and so its workers, may hold few descriptors only.
fn few_descriptors() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.is_some_and(|limit| limit < 4096)
}

fn attachments_and_a_full_socket() {
    let pool = pool(1);
    pool.map(&(0..1000).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
    let fd = file("same");
    let block = Bytes(vec![1; 1000]);
    let tasks: Vec<_> = (0..2000)
        .map(|key| {
            let attachments = vec![Attachment::new(Key(key), fd.clone())];
            let options = TaskOptions { attachments, ..TaskOptions::default() };
            let ask = if key % 2 == 0 { Ask::Read(key) } else { Ask::Blob(block.clone()) };
            pool.submit_with(&ask, options).unwrap()
        })
        .collect();
    let few = few_descriptors();
    for task in tasks {
        match task.wait() {
            Err(error) if few => assert_eq!(error.kind(), ErrorKind::Attachment),
            outcome => drop(outcome.unwrap()),
        }
    }
}

fn detach() {
    let pool = pool(1);
    let read = |text: &str| pool.submit_with(&Ask::Read(1), with(1, text)).unwrap().wait().unwrap();
    assert_eq!(read("one"), Told::Text("one".into()));
    pool.detach(&[Key(1)]);
    assert_eq!(read("two"), Told::Text("two".into()));
    let _ = number(&ask(&pool, Ask::Pid));
}

fn detach_while_busy() {
    let builder = lab(Setup::Fine, 1).ring_capacity(4096).snapshots(|| counted(0));
    let pool = builder.build().unwrap();
    let place = Place::new("detach-busy");
    let (here, go) = (place.path("here"), place.path("go"));
    let busy = pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    // More than the ring takes: what follows waits in line.
    pool.broadcast(&News::All(vec![u64::MAX; 10_000])).unwrap();
    for text in ["one", "two"] {
        let attachment = Attachment::new(Key(2), file(text));
        pool.broadcast_with(&News::Attached(2), vec![attachment]).unwrap();
        pool.detach(&[Key(2)]);
    }
    std::fs::write(go, "").unwrap();
    busy.wait().unwrap();
    assert_eq!(ask(&pool, Ask::Setup), Told::Text("two".into()));
    assert_eq!(pool.counters().deaths, 0);
}

fn encoding_fails() {
    let pool = pool(1);
    let refused = pool.submit_with(&Ask::Carry(Picky(13)), with(1, "lost"));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Codec);
    let error = pool.submit(&Ask::Read(1)).unwrap().wait().unwrap_err();
    assert_eq!(error.to_string(), "worker 0: no such attachment");
    let found = pool.submit_with(&Ask::Read(1), with(1, "found")).unwrap();
    assert_eq!(found.wait().unwrap(), Told::Text("found".into()));
}

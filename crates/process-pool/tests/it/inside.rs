//! What workers print and report.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use process_pool::Output;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::field::{Field, Visit};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::Test;
use crate::ends::Scenario;
use crate::lab::{Ask, Setup, ask, kill, lab, pool, until};

pub(crate) const TESTS: &[Test] = &[
    ("events_of_workers_arrive_with_their_number", || Scenario::new("events").passes()),
    ("recycling_makes_no_warning", || Scenario::new("recycles").passes()),
    ("lines_of_workers_stay_whole", lines_stay_whole),
    ("a_pool_ends_while_nobody_reads_its_output", nobody_reads),
    ("output_can_be_inherited", inherited),
];

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Seen {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Fields(String);
        impl Visit for Fields {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!(" {}={value:?}", field.name());
            }
        }
        let metadata = event.metadata();
        let mut fields = Fields(format!("{} {}", metadata.level(), metadata.target()));
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

/// What this process's subscriber hears from now on.
fn hear(levels: LevelFilter) -> Seen {
    let seen = Seen::default();
    let subscriber = tracing_subscriber::registry().with(levels).with(seen.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    seen
}

pub(crate) fn events() {
    let seen = hear(LevelFilter::INFO);
    let pool = pool(1);
    ask(&pool, Ask::Event("hello".into()));
    let has = |text: &str| seen.0.lock().unwrap().iter().any(|line| line.contains(text));
    until(|| has("hello"));
    let first = seen.0.lock().unwrap().remove(0);
    assert_eq!(
        first,
        "WARN process_pool::worker message=hello answer=42 worker=worker 0 target=\"it::lab\""
    );
    ask(&pool, Ask::Spanned("blue".into()));
    until(|| has("beside blue"));
    let lines = std::mem::take(&mut *seen.0.lock().unwrap());
    let expected = [
        ("deep", "outer{step=3 found=\"much\"}:inner"),
        ("shallow", "outer{step=3 found=\"much\"}"),
        ("beside", "outer{step=3 found=\"much\"}"),
    ];
    let expected = expected.map(|(place, spans)| {
        format!(
            "WARN process_pool::worker message={place} blue worker=worker 0 target=\"it::lab\" \
             spans={spans:?}"
        )
    });
    assert_eq!(lines, expected);
    kill(pool.worker_pids()[0], 9);
    until(|| has("was killed by SIGKILL"));
    assert!(!has("too fine"));
}

pub(crate) fn recycles() {
    let seen = hear(LevelFilter::TRACE);
    let pool = lab(Setup::Fine, 1).recycle_after(2).build().unwrap();
    pool.map(&vec![Ask::Echo(1); 10]).unwrap();
    until(|| pool.counters().recycled == 5);
    pool.shutdown().unwrap();
    let seen = seen.0.lock().unwrap();
    let warnings: Vec<_> = seen.iter().filter(|line| !line.starts_with("TRACE")).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}

pub(crate) fn prints() {
    let pool = pool(3);
    pool.map(&vec![Ask::Print(300); 12]).unwrap();
    pool.shutdown().unwrap();
}

fn lines_stay_whole() {
    let (out, err) = Scenario::new("prints").prints();
    let whole = |line: &&str| {
        line.trim_start_matches("unfinished").starts_with("worker ") && line.ends_with(" end")
    };
    assert_eq!(out.lines().filter(whole).count(), 3600);
    let whole = |line: &&str| line.starts_with("error ") && line.ends_with(" end");
    assert_eq!(err.lines().filter(whole).count(), 3600, "{err}");
}

pub(crate) fn full_pipe() {
    let builder = lab(Setup::Fine, 2).stop_timeout(Duration::from_millis(100));
    let pool = builder.build().unwrap();
    let _blocked: Vec<_> = (0..2).map(|_| pool.submit(&Ask::Print(u64::MAX)).unwrap()).collect();
    // A pipe to the test, which reads neither, takes no more: the pool waits to write into it.
    let (out, err) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    until(|| {
        let mut fds = [&out, &err].map(|fd| PollFd::new(fd, PollFlags::OUT));
        poll(&mut fds, Some(&Timespec::default())).unwrap() < fds.len()
    });
    drop(pool);
}

fn nobody_reads() {
    let mut scenario = Scenario::new("prints_into_a_full_pipe");
    let mut child = scenario.start();
    assert!(child.wait().unwrap().success());
    scenario.nothing_left();
}

fn inherited() {
    let pool = lab(Setup::Fine, 1).output(Output::Inherit).build().unwrap();
    let own = std::fs::read_link("/proc/self/fd/2").unwrap();
    let theirs = std::fs::read_link(format!("/proc/{}/fd/2", pool.worker_pids()[0])).unwrap();
    assert_eq!(own, theirs);
}

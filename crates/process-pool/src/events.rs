//! `tracing` events of workers, on their way to the subscriber of the pool's process.

use std::sync::Arc;

use rustix::process::Pid;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::control::{Said, Sender};
use crate::service::WorkerId;
use crate::spans::{Spans, Text};

/// The levels by number, from the fewest events to the most; 0 is none.
const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];

/// How much the subscriber of this process wants to hear.
pub(crate) fn wanted() -> u8 {
    let wanted = tracing::level_filters::LevelFilter::current().into_level();
    let at = wanted.and_then(|level| LEVELS.iter().position(|one| *one == level));
    at.map_or(0, |at| u8::try_from(at + 1).expect("invariant: five levels"))
}

/// Worker: sends events up to a level to the pool, unless there is a subscriber already.
pub(crate) fn forward(control: &Arc<Sender>, wanted: u8) {
    if let Some(level) = usize::from(wanted).checked_sub(1).and_then(|at| LEVELS.get(at)) {
        let forwarder =
            Forwarder { control: control.clone(), level: *level, spans: Spans::default() };
        let _ = tracing::subscriber::set_global_default(forwarder);
    }
}

/// Pool: something for the subscriber, told when no lock is held.
#[derive(Debug)]
pub(crate) enum Note {
    Event { worker: WorkerId, level: u8, target: String, spans: String, message: String },
    Death { worker: WorkerId, pid: Pid, end: String },
    NoStart { worker: WorkerId, tries: u32, text: String },
}

impl Note {
    pub(crate) fn show(self) {
        match self {
            Self::Event { worker, level, target, spans, message } => {
                show(worker, level, &target, &spans, &message);
            }
            Self::Death { worker, pid, end } => {
                let pid = pid.as_raw_nonzero();
                tracing::warn!(target: "process_pool", %worker, pid, "a worker {end}");
            }
            Self::NoStart { worker, tries, text } => {
                tracing::warn!(target: "process_pool", %worker, tries, "{text}; trying again");
            }
        }
    }
}

fn show(worker: WorkerId, level: u8, target: &str, spans: &str, message: &str) {
    // A field without a value is left out.
    let spans = Some(spans).filter(|spans| !spans.is_empty());
    macro_rules! event {
        ($level:expr) => {
            tracing::event!(target: "process_pool::worker", $level, %worker, target, spans, "{message}")
        };
    }
    match level {
        1 => event!(Level::ERROR),
        2 => event!(Level::WARN),
        3 => event!(Level::INFO),
        4 => event!(Level::DEBUG),
        _ => event!(Level::TRACE),
    }
}

struct Forwarder {
    control: Arc<Sender>,
    level: Level,
    spans: Spans,
}

impl Subscriber for Forwarder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level.into())
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.spans.make(attributes)
    }

    fn record(&self, id: &Id, fields: &Record<'_>) {
        self.spans.add(id, fields);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let level = LEVELS.iter().position(|level| level == metadata.level());
        let level = level.map_or(0, |at| u8::try_from(at + 1).unwrap_or(0));
        let mut text = Text::default();
        event.record(&mut text);
        let (spans, message) = (self.spans.of(event), text.whole());
        // A pool that is gone ends this process in a moment.
        let said = Said::Event { level, target: metadata.target().to_owned(), spans, message };
        let _ = self.control.send(&said);
    }

    fn enter(&self, id: &Id) {
        Spans::enter(id);
    }

    fn exit(&self, id: &Id) {
        Spans::exit(id);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.spans.keep(id);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.spans.drop_one(&id)
    }
}

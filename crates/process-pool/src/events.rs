//! `tracing` events of workers, on their way to the subscriber of the pool's process.

use std::fmt::{Debug, Write};
use std::sync::Arc;

use rustix::process::Pid;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::control::{Said, Sender};
use crate::service::WorkerId;

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
        let forwarder = Forwarder { control: control.clone(), level: *level };
        let _ = tracing::subscriber::set_global_default(forwarder);
    }
}

/// Pool: something for the subscriber, told when no lock is held.
#[derive(Debug)]
pub(crate) enum Note {
    Event { worker: WorkerId, level: u8, target: String, message: String },
    Death { worker: WorkerId, pid: Pid, end: String },
    NoStart { worker: WorkerId, tries: u32, text: String },
}

impl Note {
    pub(crate) fn show(self) {
        match self {
            Self::Event { worker, level, target, message } => {
                show(worker, level, &target, &message);
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

fn show(worker: WorkerId, level: u8, target: &str, message: &str) {
    macro_rules! event {
        ($level:expr) => {
            tracing::event!(target: "process_pool::worker", $level, %worker, target, "{message}")
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
}

impl Subscriber for Forwarder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level.into())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let level = LEVELS.iter().position(|level| level == metadata.level());
        let level = level.map_or(0, |at| u8::try_from(at + 1).unwrap_or(0));
        let mut text = Text::default();
        event.record(&mut text);
        let message = format!("{}{}", text.message, text.fields);
        // A pool that is gone ends this process in a moment.
        let said = Said::Event { level, target: metadata.target().to_owned(), message };
        let _ = self.control.send(&said);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event, then its fields as `name=value`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

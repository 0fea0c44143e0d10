//! The `tracing` spans of a worker, kept there as text: events take along in which they are.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tracing::Event;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

/// The spans that are not closed.
#[derive(Default)]
pub(crate) struct Spans {
    last: AtomicU64,
    open: Mutex<FxHashMap<u64, Span>>,
}

struct Span {
    /// The spans around it, as text.
    around: String,
    name: &'static str,
    fields: String,
    handles: usize,
}

impl Span {
    fn path(&self) -> String {
        let Self { around, name, fields, .. } = self;
        let colon = if around.is_empty() { "" } else { ":" };
        match fields.trim_start() {
            "" => format!("{around}{colon}{name}"),
            fields => format!("{around}{colon}{name}{{{fields}}}"),
        }
    }
}

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Spans {
    pub(crate) fn make(&self, attributes: &Attributes<'_>) -> Id {
        // Fields are written by foreign code, which may itself make spans: no lock is held.
        let mut text = Text::default();
        attributes.record(&mut text);
        let around = self.around(attributes.is_contextual(), attributes.parent());
        let name = attributes.metadata().name();
        let span = Span { around, name, fields: text.whole(), handles: 1 };
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.lock().insert(id, span);
        Id::from_u64(id)
    }

    pub(crate) fn add(&self, id: &Id, fields: &Record<'_>) {
        let mut text = Text::default();
        fields.record(&mut text);
        if let Some(span) = self.open.lock().get_mut(&id.into_u64()) {
            span.fields += &text.whole();
        }
    }

    pub(crate) fn enter(id: &Id) {
        // A thread that ends has no such list any more.
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().push(id.into_u64()));
    }

    pub(crate) fn exit(id: &Id) {
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|one| *one == id.into_u64()) {
                entered.remove(at);
            }
        });
    }

    pub(crate) fn keep(&self, id: &Id) {
        if let Some(span) = self.open.lock().get_mut(&id.into_u64()) {
            span.handles += 1;
        }
    }

    /// Drops a handle; `true` for the last.
    pub(crate) fn drop_one(&self, id: &Id) -> bool {
        let mut open = self.open.lock();
        let Some(span) = open.get_mut(&id.into_u64()) else { return false };
        span.handles -= 1;
        let closed = span.handles == 0;
        if closed {
            open.remove(&id.into_u64());
        }
        closed
    }

    /// The spans around an event, from the outermost; empty when there are none.
    pub(crate) fn of(&self, event: &Event<'_>) -> String {
        self.around(event.is_contextual(), event.parent())
    }

    fn around(&self, contextual: bool, parent: Option<&Id>) -> String {
        let current = || ENTERED.try_with(|entered| entered.borrow().last().copied()).ok()?;
        let id = if contextual { current() } else { parent.map(Id::into_u64) };
        id.and_then(|id| self.open.lock().get(&id).map(Span::path)).unwrap_or_default()
    }
}

/// A message, then fields as `name=value`.
#[derive(Default)]
pub(crate) struct Text {
    message: String,
    fields: String,
}

impl Text {
    pub(crate) fn whole(self) -> String {
        self.message + &self.fields
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

//! The one error type of the crate.

use std::fmt;
use std::sync::Arc;

use crate::service::WorkerId;

/// What went wrong, for callers that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `process_pool::init` was not called at the top of `main`, here or in the helper.
    NotInitialized,
    /// The worker's executable was built from another version of the service.
    OtherBuild,
    /// A setting of the pool cannot be met.
    Config,
    /// The start method cannot be used here and now; the message says why.
    Unavailable,
    /// Workers could not be started: the system refused, or the initializer failed, exited or
    /// hung on every try.
    Start,
    /// The service's own code returned an error.
    Service,
    /// The service panicked. The worker lives on.
    Panic,
    /// The worker died while it ran the task, as often as the pool allows.
    WorkerDied,
    /// The task ran longer than it may. Its worker was replaced.
    TimedOut,
    /// The task was cancelled.
    Cancelled,
    /// A request, an answer or an update could not be encoded or decoded.
    Codec,
    /// The queue is full and the pool was told to refuse.
    QueueFull,
    /// The pool is shut down.
    Closed,
    /// A descriptor could not be handed to a worker.
    Attachment,
    /// A thread of the pool itself (in a waker, a subscriber or a snapshot) was to wait for what
    /// that thread has to do.
    WouldHang,
}

/// What a pool or a task failed with.
///
/// One opaque type for the whole crate: [`kind`](Self::kind) is for code, `Display` for people.
/// It is cheap to clone, because the failure of a pool is the failure of every task in it. When
/// the cause was a panic or an error in a worker, [`worker`](Self::worker) names the worker and
/// [`backtrace`](Self::backtrace) has its stack.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

struct Inner {
    kind: ErrorKind,
    message: String,
    worker: Option<WorkerId>,
    backtrace: Option<String>,
    signal: Option<i32>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::with(kind, message, None, None)
    }

    pub(crate) fn with(
        kind: ErrorKind,
        message: impl Into<String>,
        worker: Option<WorkerId>,
        backtrace: Option<String>,
    ) -> Self {
        let message = message.into();
        Self { inner: Arc::new(Inner { kind, message, worker, backtrace, signal: None }) }
    }

    pub(crate) fn died(message: String, worker: WorkerId, signal: Option<i32>) -> Self {
        let (kind, worker) = (ErrorKind::WorkerDied, Some(worker));
        Self { inner: Arc::new(Inner { kind, message, worker, backtrace: None, signal }) }
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the pool is shut down")
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The worker in which it went wrong, where there was one.
    #[must_use]
    pub fn worker(&self) -> Option<WorkerId> {
        self.inner.worker
    }

    /// The stack of the worker at a panic, or where the service's error carried one.
    #[must_use]
    pub fn backtrace(&self) -> Option<&str> {
        self.inner.backtrace.as_deref()
    }

    /// The signal that killed the worker, by name.
    #[must_use]
    pub fn signal_name(&self) -> Option<&'static str> {
        self.inner.signal.and_then(crate::sys::signal_name)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.inner;
        let mut debug = f.debug_struct("Error");
        debug.field("kind", &inner.kind).field("message", &inner.message);
        if let Some(worker) = inner.worker {
            debug.field("worker", &worker);
        }
        debug.finish_non_exhaustive()
    }
}

impl std::error::Error for Error {}

/// The text of an error and of all that caused it.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

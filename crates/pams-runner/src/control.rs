//! Watching a run from another thread, and stopping it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared with a run to see how far it is and to end it early. Neither can change its records.
///
/// ```
/// use std::sync::Arc;
/// use pams_runner::{RunControl, SequentialRunner};
///
/// let control = Arc::new(RunControl::default());
/// let builder = SequentialRunner::builder().control(Arc::clone(&control));
/// assert_eq!(control.steps_done(), 0);
/// # drop(builder);
/// ```
#[derive(Debug, Default)]
pub struct RunControl {
    stop: AtomicBool,
    steps_done: AtomicU64,
    steps_in_all: AtomicU64,
}

impl RunControl {
    /// Asks the run to end after its current step; it ends with
    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Steps that are over.
    #[must_use]
    pub fn steps_done(&self) -> u64 {
        self.steps_done.load(Ordering::Relaxed)
    }

    /// Steps of all sessions together; 0 until the run begins.
    #[must_use]
    pub fn steps_in_all(&self) -> u64 {
        self.steps_in_all.load(Ordering::Relaxed)
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, steps_in_all: u64) {
        self.steps_in_all.store(steps_in_all, Ordering::Relaxed);
    }

    pub(crate) fn set_steps_done(&self, steps: u64) {
        self.steps_done.store(steps, Ordering::Relaxed);
    }
}

//! Watching a sweep from another thread, and stopping it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared with a sweep to see how far it is and to end it early.
#[derive(Debug, Default)]
pub struct SweepControl {
    stop: AtomicBool,
    runs_done: AtomicU64,
    runs_in_all: AtomicU64,
}

impl SweepControl {
    /// Asks the sweep to end; it ends with [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted),
    /// and the next one in its folder goes on from there.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Runs that are over, with those that an earlier start has finished.
    #[must_use]
    pub fn runs_done(&self) -> u64 {
        self.runs_done.load(Ordering::Relaxed)
    }

    /// Runs of the whole sweep; 0 until it begins.
    #[must_use]
    pub fn runs_in_all(&self) -> u64 {
        self.runs_in_all.load(Ordering::Relaxed)
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, runs_done: u64, runs_in_all: u64) {
        self.runs_done.store(runs_done, Ordering::Relaxed);
        self.runs_in_all.store(runs_in_all, Ordering::Relaxed);
    }

    pub(crate) fn set_runs_done(&self, runs: u64) {
        self.runs_done.store(runs, Ordering::Relaxed);
    }
}

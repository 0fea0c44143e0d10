//! The progress bar.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pams_runner::RunControl;

use crate::arguments::Verbosity;

/// Shows on a terminal how far a run is, until it is dropped. It only reads a counter, so it costs
/// the run nothing.
pub(crate) struct Progress {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to show a run. Nothing is shown when standard error is no terminal.
    pub(crate) fn show(control: Arc<RunControl>, verbosity: Verbosity) -> Self {
        let bar = ProgressBar::no_length();
        if verbosity == Verbosity::Quiet || bar.is_hidden() {
            return Self { ended: None, thread: None };
        }
        bar.set_style(
            ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {per_sec}, {eta} left")
                .expect("invariant: the template is well-formed"),
        );
        let (ended, wait) = channel();
        let thread = thread::spawn(move || {
            while wait.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                bar.set_length(control.steps_in_all());
                bar.set_position(control.steps_done());
            }
            bar.finish_and_clear();
        });
        Self { ended: Some(ended), thread: Some(thread) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the display is no reason to lose the run's result.
            let _ = thread.join();
        }
    }
}

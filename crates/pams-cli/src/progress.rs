//! The progress bar.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{
    HumanFloatCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use pams_runner::RunControl;

/// Shows on a terminal how far a run or a sweep is, until it is dropped. It only reads a counter, so it costs
/// the run nothing.
pub(crate) struct Progress {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How often the bar is drawn.
const PERIOD: Duration = Duration::from_millis(100);

impl Progress {
    /// Shows nothing.
    pub(crate) fn hidden() -> Self {
        Self { ended: None, thread: None }
    }

    /// Begins to show a run below the lines of standard error. Nothing is shown when that is no
    /// terminal.
    pub(crate) fn show(control: Arc<RunControl>, bars: &MultiProgress) -> Self {
        Self::of(move || (control.steps_done(), control.steps_in_all()), "steps", bars)
    }

    /// As [`show`](Self::show), for anything of which so many are done and so many are in all.
    pub(crate) fn of(
        counts: impl Fn() -> (u64, u64) + Send + 'static,
        unit: &'static str,
        bars: &MultiProgress,
    ) -> Self {
        if bars.is_hidden() {
            return Self::hidden();
        }
        let bars = bars.clone();
        let (ended, wait) = channel();
        let thread = thread::spawn(move || {
            // A run that is over at once does not flash up.
            let mut bar = None;
            while wait.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let (done, in_all) = counts();
                let bar = bar.get_or_insert_with(|| {
                    let bar = bars.add(new_bar(unit));
                    // What was done before the bar is there says nothing of the time that is left.
                    bar.set_position(done);
                    bar.reset_eta();
                    bar
                });
                bar.set_length(in_all);
                bar.set_position(done);
                bar.tick();
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
                bars.remove(&bar);
            }
        });
        Self { ended: Some(ended), thread: Some(thread) }
    }
}

fn new_bar(unit: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!(
        "{{wide_bar}} {{percent:>3}}% {{human_pos}}/{{human_len}} {unit}, {{rate}}/s, {{eta}} left",
    ));
    let rate = |state: &ProgressState, text: &mut dyn fmt::Write| {
        // A bar that can't be drawn is no reason to fail.
        let _ = write!(text, "{}", HumanFloatCount(state.per_sec().round()));
    };
    ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        .with_style(style.expect("invariant: the template is well-formed").with_key("rate", rate))
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

//! The short way from a worker to a caller that waits for its next answer.
//!
//! Usually a worker rings the reactor, which reads the answer and wakes the caller: two threads
//! are woken one after the other, and to wake a thread is most of what a short task costs. A
//! caller that waits for the only task of a worker *listens* instead: it announces itself in the
//! ring, the worker wakes it directly, and it reads the ring as the reactor would.
//!
//! It is a short cut, not a second truth: whoever completes the task, for whatever reason, wakes
//! a listener too ([`Job::complete`]), and whoever reads the ring meanwhile puts the bell back.

use std::sync::Arc;

use crate::link::Phase;
use crate::segment::Segment;
use crate::service::WorkerId;
use crate::state::{Course, Shared, State};
use crate::task::{Job, Outcome};

impl Shared {
    /// Waits for the outcome of a task, the short way where there is one.
    pub(crate) fn wait_for(&self, job: &Arc<Job>) -> Outcome {
        let mut answers = Vec::new();
        loop {
            if let Some(outcome) = job.try_take() {
                return outcome;
            }
            if self.is_own_thread() {
                return Err(self.would_hang("a task"));
            }
            let Some((worker, segment)) = self.locked(|state| state.listen(job)) else {
                return job.wait();
            };
            let answered = || !segment.is_listened();
            // One caller at a time looks; more would keep CPUs from the workers.
            let heard = self.spin().is_some_and(|mut spin| spin.until(answered));
            if !heard {
                segment.listen();
            }
            job.listens_no_more();
            self.locked(|state| {
                if let Some(link) = state.link(worker) {
                    link.listened = false;
                    state.on_bell(worker, &mut answers, self);
                    state.leave_rest(worker, self);
                }
            });
        }
    }
}

impl State {
    /// Lets a caller listen to the worker that has its task and nothing else.
    fn listen(&mut self, job: &Arc<Job>) -> Option<(WorkerId, Arc<Segment>)> {
        if job.is_over() || self.course != Course::Running {
            return None;
        }
        let link = self.links().find(|link| {
            let only = link.outstanding.len() == 1 && !link.listened && link.phase == Phase::Ready;
            only && link.outstanding.front().is_some_and(|sent| Arc::ptr_eq(&sent.job, job))
        })?;
        // When the answer is there already, a look finds it at once.
        if link.answers.announce_listener() {
            link.listened = true;
        }
        let segment = link.segment.clone();
        job.listens(segment.clone());
        Some((link.id, segment))
    }

    /// Wakes the reactor when there is more to do than it would be woken for.
    fn leave_rest(&mut self, worker: WorkerId, shared: &Shared) {
        let ready = self.link(worker).is_some_and(|link| link.phase == Phase::Ready);
        let calm = ready
            && self.course == Course::Running
            && self.queue.is_empty()
            && self.links().all(|link| link.outstanding.len() < 2);
        if !calm {
            shared.wake_reactor();
        }
    }
}

//! Tasks: what the pool keeps of one, and the handles by which callers wait.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::{Error, ErrorKind};
use crate::segment::Segment;
use crate::service::{Attachment, WorkerId};
use crate::state::Shared;

/// What a task ended with: the encoded answer and who gave it, or an error.
pub(crate) type Outcome = Result<(Vec<u8>, WorkerId), Error>;

/// What may be said about one task.
#[derive(Clone, Debug, Default)]
pub struct TaskOptions {
    /// How long the task may run before its worker is killed and replaced. By default, what the
    /// pool says.
    pub timeout: Option<Duration>,
    /// Descriptors that the worker needs for it. By default, none.
    pub attachments: Vec<Attachment>,
}

/// A task as the pool keeps it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) payload: Vec<u8>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) submitted: Instant,
    pub(crate) deaths: AtomicU32,
    over: AtomicBool,
    slot: Mutex<Slot>,
    done: Condvar,
}

#[derive(Debug)]
enum Slot {
    Waiting(Option<Waker>),
    /// The caller listens to the worker itself.
    Listening(Arc<Segment>),
    Done(Outcome),
    Taken,
}

impl Job {
    pub(crate) fn new(payload: Vec<u8>, options: TaskOptions) -> Arc<Self> {
        Arc::new(Self {
            payload,
            attachments: options.attachments,
            timeout: options.timeout,
            submitted: crate::sys::now(),
            deaths: AtomicU32::new(0),
            over: AtomicBool::new(false),
            slot: Mutex::new(Slot::Waiting(None)),
            done: Condvar::new(),
        })
    }

    /// Claims the right to complete the task; `false` when it is over already.
    pub(crate) fn close(&self) -> bool {
        !self.over.swap(true, Ordering::AcqRel)
    }

    /// Whether an outcome is there or on its way.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Hands over the outcome, after `close` has said `true`.
    pub(crate) fn complete(&self, outcome: Outcome) {
        let before = std::mem::replace(&mut *self.slot.lock(), Slot::Done(outcome));
        match before {
            Slot::Waiting(Some(waker)) => waker.wake(),
            Slot::Listening(segment) => segment.dismiss(),
            Slot::Waiting(None) | Slot::Done(_) | Slot::Taken => {}
        }
        self.done.notify_all();
    }

    /// Notes that the caller listens to the worker, so that it is woken there.
    pub(crate) fn listens(&self, segment: Arc<Segment>) {
        let mut slot = self.slot.lock();
        if matches!(*slot, Slot::Waiting(_) | Slot::Listening(_)) {
            *slot = Slot::Listening(segment);
        }
    }

    /// Notes that the caller listens no more.
    pub(crate) fn listens_no_more(&self) {
        let mut slot = self.slot.lock();
        if matches!(*slot, Slot::Listening(_)) {
            *slot = Slot::Waiting(None);
        }
    }

    /// The outcome, if it is there.
    pub(crate) fn try_take(&self) -> Option<Outcome> {
        Self::take(&mut self.slot.lock())
    }

    fn take(slot: &mut Slot) -> Option<Outcome> {
        match std::mem::replace(slot, Slot::Taken) {
            Slot::Done(outcome) => Some(outcome),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// Waits for the outcome.
    pub(crate) fn wait(&self) -> Outcome {
        let mut slot = self.slot.lock();
        loop {
            match Self::take(&mut slot) {
                Some(outcome) => return outcome,
                None => self.done.wait(&mut slot),
            }
        }
    }

    fn wait_until(&self, until: Instant) -> Option<Outcome> {
        let mut slot = self.slot.lock();
        loop {
            if let Some(outcome) = Self::take(&mut slot) {
                return Some(outcome);
            }
            if self.done.wait_until(&mut slot, until).timed_out() {
                return Self::take(&mut slot);
            }
        }
    }
}

/// A submitted task. It can be waited for, looked at, cancelled, or awaited as a future.
///
/// Dropping it cancels a task that has not started; [`detach`](Self::detach) lets it run.
#[must_use = "dropping a task cancels it"]
#[derive(Debug)]
pub struct Task<A> {
    job: Arc<Job>,
    pool: Arc<Shared>,
    detached: bool,
    answer: PhantomData<fn() -> A>,
}

impl<A: DeserializeOwned> Task<A> {
    pub(crate) fn new(job: Arc<Job>, pool: Arc<Shared>) -> Self {
        Self { job, pool, detached: false, answer: PhantomData }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    ///
    /// What the task failed with; see [`ErrorKind`].
    pub fn wait(self) -> Result<A, Error> {
        decode(self.pool.wait_for(&self.job))
    }

    /// Waits for the answer, but not longer than given; afterwards the task is handed back.
    ///
    /// # Errors
    ///
    /// The outer error is the task itself, when there is no answer yet.
    pub fn wait_timeout(self, wait: Duration) -> Result<Result<A, Error>, Self> {
        let until = crate::sys::now().checked_add(wait);
        let outcome = match until {
            Some(until) => self.job.wait_until(until),
            None => Some(self.pool.wait_for(&self.job)),
        };
        match outcome {
            Some(outcome) => Ok(decode(outcome)),
            None => Err(self),
        }
    }

    /// The answer, if it is there; afterwards the task is used up.
    ///
    /// # Errors
    ///
    /// What the task failed with; see [`ErrorKind`].
    pub fn poll_answer(&mut self) -> Option<Result<A, Error>> {
        self.job.try_take().map(decode)
    }
}

impl<A> Task<A> {
    /// Whether the task is over, so that waiting for it would not block.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(*self.job.slot.lock(), Slot::Done(_) | Slot::Taken)
    }

    /// Cancels the task: whoever waits for it gets the error `Cancelled`.
    ///
    /// A task that has not started never will. One that runs goes on, and can ask
    /// [`Context::is_cancelled`](crate::Context::is_cancelled); its answer is dropped. `false`
    /// when it was over already.
    #[expect(clippy::must_use_candidate, reason = "most callers do not care")]
    pub fn cancel(&self) -> bool {
        self.pool.cancel(&self.job)
    }

    /// Lets the task run, without anybody waiting for it.
    pub fn detach(mut self) {
        self.detached = true;
    }
}

impl<A> Drop for Task<A> {
    fn drop(&mut self) {
        if !self.detached && !self.job.is_over() {
            self.pool.cancel(&self.job);
        }
    }
}

impl<A: DeserializeOwned> Future for Task<A> {
    type Output = Result<A, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.job.slot.lock();
        match Job::take(&mut slot) {
            Some(outcome) => Poll::Ready(decode(outcome)),
            None => {
                assert!(!matches!(*slot, Slot::Taken), "a task was awaited after its answer");
                *slot = Slot::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}

/// Tasks that were submitted together; their answers come in the order of the requests.
#[must_use = "dropping a batch cancels its tasks"]
#[derive(Debug)]
pub struct Batch<A> {
    tasks: std::vec::IntoIter<Task<A>>,
}

impl<A: DeserializeOwned> Batch<A> {
    pub(crate) fn new(tasks: Vec<Task<A>>) -> Self {
        Self { tasks: tasks.into_iter() }
    }

    /// Waits for all answers.
    ///
    /// # Errors
    ///
    /// The first error in the order of the requests; what has not started is cancelled then.
    pub fn wait(self) -> Result<Vec<A>, Error> {
        self.collect()
    }

    /// Waits for all tasks, and keeps the outcome of each.
    #[must_use]
    pub fn outcomes(self) -> Vec<Result<A, Error>> {
        self.collect()
    }
}

impl<A: DeserializeOwned> Iterator for Batch<A> {
    type Item = Result<A, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.tasks.next().map(Task::wait)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.tasks.size_hint()
    }
}

fn decode<A: DeserializeOwned>(outcome: Outcome) -> Result<A, Error> {
    let (bytes, worker) = outcome?;
    codec::decode(&bytes).map_err(|error| {
        let text = format!("the answer of {worker} cannot be decoded: {error}");
        Error::with(ErrorKind::Codec, text, Some(worker), None)
    })
}

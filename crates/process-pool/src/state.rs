//! What the pool knows: the queue, the workers, and who gets what.
//!
//! One lock guards it. Outcomes are handed over after the lock is released ([`Shared::locked`]),
//! because they wake foreign code.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::builder::{Settings, WhenFull};
use crate::error::{Error, ErrorKind};
use crate::events::Note;
use crate::link::{Link, Phase, Update};
use crate::output::Output;
use crate::service::WorkerId;
use crate::spin::Spin;
use crate::starter::Order;
use crate::task::{Job, Outcome};
use crate::{foreign, sys};

/// Tasks that run longer than this are sent one at a time.
const SHORT: u64 = 200_000;
/// How many tasks a worker holds at most.
const DEPTH: usize = 48;

/// What a pool has done, as counts since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Tasks that ended, with an answer or an error.
    pub tasks: u64,
    /// Times that a task was sent again after its worker had died in the middle of it.
    pub repeats: u64,
    /// Workers that died without being told to.
    pub deaths: u64,
    /// Processes that were started, or asked for, to become workers.
    pub launches: u64,
    /// Workers that became ready.
    pub starts: u64,
    /// Workers that were replaced after their share of tasks.
    pub recycled: u64,
    /// Bytes sent to workers.
    pub bytes_sent: u64,
    /// Bytes received from workers.
    pub bytes_received: u64,
    /// The time that tasks have waited for a worker, added up.
    pub waiting: Duration,
}

/// What the pool is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Course {
    /// Tasks are taken.
    Running,
    /// No more tasks are taken; those that are there are finished.
    Draining,
    /// Workers are stopped.
    Stopping,
    /// The reactor has ended, and no worker is left.
    Over,
}

/// The end of a worker that had a task.
pub(crate) struct Death<'a> {
    pub(crate) worker: WorkerId,
    /// The task had started.
    pub(crate) started: bool,
    /// How the worker ended, in words.
    pub(crate) end: &'a str,
    pub(crate) signal: Option<i32>,
}

/// The place of one worker.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) link: Option<Link>,
    /// The starter is at work for this place.
    pub(crate) starting: bool,
    /// When to start a worker here.
    pub(crate) start_at: Option<Instant>,
}

pub(crate) struct State {
    pub(crate) course: Course,
    pub(crate) failure: Option<Error>,
    pub(crate) queue: VecDeque<Arc<Job>>,
    /// How many in the queue are still wanted.
    pub(crate) queued: usize,
    pub(crate) places: Vec<Place>,
    /// The number of the last broadcast.
    pub(crate) epoch: u64,
    pub(crate) counters: Counters,
    pub(crate) failed_starts: u32,
    /// Deaths since the last answer.
    pub(crate) barren_deaths: u32,
    pub(crate) next_worker: u64,
    /// How long tasks take, in nanoseconds, smoothed; 0 when unknown.
    pub(crate) typical: u64,
    /// When the reactor looks at the clock next; `None` when it does not.
    pub(crate) looks_at: Option<Instant>,
    /// What is to be told to the subscriber of this process, which is foreign code.
    pub(crate) notes: Vec<Note>,
    done: Vec<(Arc<Job>, Outcome)>,
}

/// The part of a pool that its threads and handles share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something happened that `submit`, `wait_ready` or `shutdown` may wait for.
    pub(crate) changed: Condvar,
    pub(crate) settings: Settings,
    pub(crate) poller: OwnedFd,
    pub(crate) wake: OwnedFd,
    pub(crate) orders: mpsc::Sender<Order>,
    /// What workers print, unless they inherit where to print.
    pub(crate) output: Option<Output>,
    /// How many CPUs this process may use.
    pub(crate) cpus: usize,
    spin: Mutex<Spin>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("service", &self.settings.service).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        settings: Settings,
        poller: OwnedFd,
        wake: OwnedFd,
        orders: mpsc::Sender<Order>,
        output: Option<Output>,
    ) -> Self {
        let places = (0..settings.workers)
            .map(|_| Place { start_at: Some(sys::now()), ..Place::default() })
            .collect();
        let state = State {
            course: Course::Running,
            failure: None,
            queue: VecDeque::new(),
            queued: 0,
            places,
            epoch: 0,
            counters: Counters::default(),
            failed_starts: 0,
            barren_deaths: 0,
            next_worker: 0,
            typical: 0,
            looks_at: None,
            notes: Vec::new(),
            done: Vec::new(),
        };
        let cpus = num_cpus::get();
        let spin = Mutex::new(Spin::new(cpus > 1));
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Self { state, changed, settings, poller, wake, orders, output, cpus, spin }
    }

    /// Runs code on the state, then hands over the outcomes that it produced.
    pub(crate) fn locked<T>(&self, code: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = code(&mut state);
        self.hand_over(state);
        result
    }

    fn hand_over(&self, mut state: MutexGuard<'_, State>) {
        if state.done.is_empty() && state.notes.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut state.done);
        let notes = std::mem::take(&mut state.notes);
        drop(state);
        // Subscribers and wakers are foreign: their panics are neither the pool's nor the caller's.
        for note in notes {
            let _ = foreign::run(|| note.show());
        }
        for (job, outcome) in done.drain(..) {
            let _ = foreign::run(|| job.complete(outcome));
        }
    }

    /// Puts tasks in the queue, all or as far as the bound allows, and sends what can be sent.
    pub(crate) fn submit(&self, jobs: Vec<Arc<Job>>) -> Result<(), Error> {
        let mut state = self.state.lock();
        let mut jobs = jobs.into_iter();
        let mut result = Ok(());
        for job in jobs.by_ref() {
            result = self.wait_for_place(&mut state);
            if result.is_err() {
                job.close();
                break;
            }
            state.queue.push_back(job);
            state.queued += 1;
        }
        // What was refused is over, so that dropping its handle cancels nothing.
        jobs.for_each(|job| _ = job.close());
        state.pump(self);
        self.hand_over(state);
        result
    }

    /// Waits until the queue has a place, or refuses, as the pool was told.
    fn wait_for_place(&self, state: &mut MutexGuard<'_, State>) -> Result<(), Error> {
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.course != Course::Running {
                return Err(Error::closed());
            }
            if state.queued < self.settings.queue {
                return Ok(());
            }
            state.pump(self);
            if state.queued < self.settings.queue {
                return Ok(());
            }
            match self.settings.when_full {
                // The queue would never get shorter while its own thread waits for that.
                WhenFull::Block if !self.is_own_thread() => self.changed.wait(state),
                WhenFull::Block | WhenFull::Refuse => {
                    let text = format!("{} tasks wait already", state.queued);
                    return Err(Error::new(ErrorKind::QueueFull, text));
                }
            }
        }
    }

    /// Ends a task that nobody waits for; `false` when it was over already.
    pub(crate) fn cancel(&self, job: &Arc<Job>) -> bool {
        self.locked(|state| {
            let error = Error::new(ErrorKind::Cancelled, "the task was cancelled");
            if !state.finish(job, Err(error)) {
                return false;
            }
            let mut links = state.places.iter_mut().filter_map(|place| place.link.as_mut());
            let sent = links.find_map(|link| {
                let has = link.outstanding.iter().any(|sent| Arc::ptr_eq(&sent.job, job));
                has.then(|| link.cancel(job))
            });
            match sent {
                None => {
                    state.queued = state.queued.saturating_sub(1);
                    if state.queued == 0 {
                        state.queue.clear();
                    }
                    self.changed.notify_all();
                }
                Some(true) => {
                    state.pump(self);
                    // A worker may be idle now while tasks wait behind another's.
                    self.wake_reactor();
                }
                Some(false) => {}
            }
            true
        })
    }

    /// Sends an update to every living worker, and gives it a number.
    pub(crate) fn broadcast(&self, update: &Arc<Update>) -> Result<u64, Error> {
        self.locked(|state| {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.course != Course::Running {
                return Err(Error::closed());
            }
            state.epoch += 1;
            let epoch = state.epoch;
            for link in state.links() {
                if link.tell(epoch, update, self.settings.update_backlog) {
                    let _ = self.orders.send(Order::Snapshot { worker: link.id });
                }
            }
            Ok(epoch)
        })
    }

    /// Waits on the state until a condition gives something, or the time is there.
    pub(crate) fn wait_until<T>(
        &self,
        until: Option<Instant>,
        mut condition: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            let value = condition(&mut state);
            if value.is_some() || until.is_some_and(|until| until <= sys::now()) {
                self.hand_over(state);
                return value;
            }
            match until {
                Some(until) => _ = self.changed.wait_until(&mut state, until),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// The right to look for an answer before sleeping, if nobody else has it.
    pub(crate) fn spin(&self) -> Option<MutexGuard<'_, Spin>> {
        self.spin.try_lock()
    }

    /// Lets the reactor look at the state.
    pub(crate) fn wake_reactor(&self) {
        sys::ring_bell(&self.wake);
    }
}

impl State {
    pub(crate) fn links(&mut self) -> impl Iterator<Item = &mut Link> {
        self.places.iter_mut().filter_map(|place| place.link.as_mut())
    }

    pub(crate) fn link(&mut self, worker: WorkerId) -> Option<&mut Link> {
        self.links().find(|link| link.id == worker)
    }

    /// Gives a task its outcome; `false` when it had one.
    pub(crate) fn finish(&mut self, job: &Arc<Job>, outcome: Outcome) -> bool {
        let first = job.close();
        if first {
            self.counters.tasks += 1;
            self.done.push((job.clone(), outcome));
        }
        first
    }

    /// How many tasks a worker may hold: many short ones, so that neither side sleeps between
    /// them, and one long one, so that none waits behind it.
    fn depth(&self) -> usize {
        if self.typical == 0 {
            return 1;
        }
        usize::try_from(SHORT / self.typical).unwrap_or(DEPTH).clamp(1, DEPTH)
    }

    /// Sends queued tasks to workers that have room, the emptiest first.
    pub(crate) fn pump(&mut self, shared: &Shared) {
        if self.queue.is_empty() {
            return;
        }
        let depth = self.depth();
        let recycle_after = shared.settings.recycle_after;
        let before = self.queued;
        while let Some(job) = self.queue.pop_front() {
            if job.is_over() {
                continue;
            }
            let emptiest = self
                .places
                .iter_mut()
                .filter_map(|place| place.link.as_mut())
                .filter(|link| link.has_room(depth))
                .min_by_key(|link| link.outstanding.len());
            let Some(link) = emptiest else {
                self.queue.push_front(job);
                break;
            };
            self.queued -= 1;
            self.counters.waiting += job.submitted.elapsed();
            if link.send_task(job).is_err() {
                link.kill();
            }
            if recycle_after.is_some_and(|tasks| link.sent() >= tasks) {
                link.phase = Phase::Retiring;
            }
            if let Some((due, _)) = link.task_deadline(shared.settings.task_timeout)
                && self.looks_at.is_none_or(|at| due < at)
            {
                self.looks_at = Some(due);
                shared.wake_reactor();
            }
        }
        if !self.queue.is_empty() {
            // A worker whose claims are used up by cancelled tasks answers nothing: it rings
            // when it has skipped them.
            for link in self.links().filter(|link| link.outstanding.is_empty()) {
                if link.phase == Phase::Ready {
                    link.want_room();
                    if link.has_room(depth) {
                        shared.wake_reactor();
                    }
                }
            }
        }
        if self.queued < before {
            shared.changed.notify_all();
        }
    }

    /// Puts tasks back in front of the queue, in order.
    pub(crate) fn put_back(&mut self, jobs: Vec<Arc<Job>>) {
        for job in jobs.into_iter().rev() {
            if !job.is_over() {
                self.queued += 1;
                self.queue.push_front(job);
            }
        }
    }

    /// Counts the deaths that a task has caused, and says whether it may run again.
    pub(crate) fn after_death(
        &mut self,
        job: &Arc<Job>,
        death: &Death<'_>,
        settings: &Settings,
    ) -> bool {
        if job.is_over() {
            return false;
        }
        let Death { worker, started, end, signal } = *death;
        let deaths = job.deaths.fetch_add(1, Ordering::Relaxed) + 1;
        let may_repeat = settings.repeatable || !started;
        if may_repeat && deaths < settings.max_deaths {
            self.counters.repeats += u64::from(started);
            return true;
        }
        let text = if may_repeat {
            format!("the task ended {deaths} workers; the last, {worker}, {end}")
        } else {
            format!("{worker} {end} in the middle of the task, which may not run twice")
        };
        self.finish(job, Err(Error::died(text, worker, signal)));
        false
    }

    /// Ends everything: all tasks with this error.
    pub(crate) fn fail(&mut self, error: &Error, shared: &Shared) {
        if self.failure.is_none() {
            self.failure = Some(error.clone());
        }
        self.abandon(error);
        self.course = self.course.max(Course::Stopping);
        for link in self.links() {
            link.kill();
        }
        shared.changed.notify_all();
    }

    /// Gives all tasks, waiting or sent, this error.
    pub(crate) fn abandon(&mut self, error: &Error) {
        let mut jobs: Vec<_> = self.queue.drain(..).collect();
        self.queued = 0;
        for link in self.links() {
            jobs.extend(link.outstanding.iter().map(|sent| sent.job.clone()));
        }
        for job in jobs {
            self.finish(&job, Err(error.clone()));
        }
    }

    /// Whether no task is waiting or running.
    pub(crate) fn is_drained(&self) -> bool {
        self.queued == 0
            && self
                .places
                .iter()
                .filter_map(|place| place.link.as_ref())
                .all(|link| link.outstanding.is_empty())
    }
}

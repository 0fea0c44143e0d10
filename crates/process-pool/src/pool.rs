//! The pool as its users see it.

use std::marker::PhantomData;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::builder::{self, Builder, Settings};
use crate::codec;
use crate::error::{Error, ErrorKind};
use crate::link::{Out, Phase, Update};
use crate::output::Output;
use crate::reactor::Reactor;
use crate::service::{Attachment, Key, Service};
use crate::starter::Starter;
use crate::state::{Counters, Course, Shared};
use crate::sys;
use crate::task::{Batch, Job, Task, TaskOptions};

/// Worker processes that answer requests of one service.
///
/// Dropping a pool ends it: what waits or runs gets the error `Closed`, busy workers are killed,
/// idle ones drop their state and exit, and all of them are gone when the drop returns.
/// [`shutdown`](Self::shutdown) finishes the work first.
pub struct ProcessPool<S: Service> {
    shared: Arc<Shared>,
    threads: Option<Threads>,
    service: PhantomData<fn() -> S>,
}

struct Threads {
    reactor: JoinHandle<()>,
    starter: JoinHandle<()>,
    /// Threads do not survive a fork: a copy of the pool in a forked process must leave them be.
    process: rustix::process::Pid,
}

impl<S: Service> std::fmt::Debug for ProcessPool<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessPool").field("service", &S::NAME).finish_non_exhaustive()
    }
}

impl<S: Service> ProcessPool<S> {
    /// Begins a pool whose workers get these arguments.
    pub fn builder(args: &S::Args) -> Builder<S> {
        Builder::new(args)
    }

    pub(crate) fn start(settings: Settings) -> Result<Self, Error> {
        let system = |what: &'static str| {
            move |error: std::io::Error| Error::new(ErrorKind::Start, format!("{what}: {error}"))
        };
        let flags = rustix::event::epoll::CreateFlags::CLOEXEC;
        let poller = rustix::event::epoll::create(flags)
            .map_err(|error| system("making a poller")(error.into()))?;
        let wake =
            sys::event_fd().map_err(|error| system("making an event descriptor")(error.into()))?;
        sys::watch(&poller, &wake, crate::reactor::WAKE, true)
            .map_err(|error| system("watching a descriptor")(error.into()))?;
        let output = match settings.output {
            builder::Output::Lines => {
                Some(Output::new().map_err(|error| system("making a poller")(error.into()))?)
            }
            builder::Output::Inherit => None,
        };
        let (orders, received) = mpsc::channel();
        let shared = Arc::new(Shared::new(settings, poller, wake, orders, output));
        let thread = |name: &str| std::thread::Builder::new().name(format!("process-pool-{name}"));
        let starter = Starter::new(shared.clone(), received);
        let starter =
            thread("starter").spawn(move || starter.run()).map_err(system("starting a thread"))?;
        let reactor = Reactor::new(shared.clone());
        let reactor = match thread("reactor").spawn(move || reactor.run()) {
            Ok(reactor) => reactor,
            Err(error) => {
                let _ = shared.orders.send(crate::starter::Order::Quit);
                let _ = starter.join();
                return Err(system("starting a thread")(error));
            }
        };
        let threads = Threads { reactor, starter, process: rustix::process::getpid() };
        Ok(Self { shared, threads: Some(threads), service: PhantomData })
    }

    /// Waits until all workers are ready.
    ///
    /// # Errors
    ///
    /// `Start` when the pool has given up on starting workers; `Closed` after its end.
    pub fn wait_ready(&self) -> Result<(), Error> {
        let own = self.shared.is_own_thread();
        let ready = self.shared.wait_until(None, |state| {
            if let Some(failure) = &state.failure {
                return Some(Err(failure.clone()));
            }
            if state.course != Course::Running {
                return Some(Err(Error::closed()));
            }
            let ready = |phase| matches!(phase, Phase::Ready | Phase::Retiring);
            let all = state
                .places
                .iter()
                .all(|place| place.link.as_ref().is_some_and(|link| ready(link.phase)));
            let refused = || own.then(|| Err(self.shared.would_hang("readiness")));
            if all { Some(Ok(())) } else { refused() }
        });
        ready.unwrap_or(Ok(()))
    }

    /// Submits one request.
    ///
    /// # Errors
    ///
    /// `Codec` when the request cannot be encoded, `QueueFull`, `Closed`, or the failure of the
    /// pool.
    pub fn submit(&self, request: &S::Request) -> Result<Task<S::Answer>, Error> {
        self.submit_with(request, TaskOptions::default())
    }

    /// Submits one request with a time-out or attachments of its own.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub fn submit_with(
        &self,
        request: &S::Request,
        options: TaskOptions,
    ) -> Result<Task<S::Answer>, Error> {
        let job = Job::new(encode("request", request)?, options);
        let task = Task::new(job.clone(), self.shared.clone());
        self.shared.submit(vec![job])?;
        Ok(task)
    }

    /// Submits requests together; their answers come in order.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit); what was submitted before the error is cancelled.
    pub fn batch<'a>(
        &self,
        requests: impl IntoIterator<Item = &'a S::Request>,
    ) -> Result<Batch<S::Answer>, Error>
    where
        S::Request: 'a,
    {
        let mut jobs = Vec::new();
        for request in requests {
            jobs.push(Job::new(encode("request", request)?, TaskOptions::default()));
        }
        let tasks = jobs.iter().map(|job| Task::new(job.clone(), self.shared.clone())).collect();
        self.shared.submit(jobs)?;
        Ok(Batch::new(tasks))
    }

    /// Answers all requests, in order.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit), and the first error of a task; the rest is cancelled then.
    pub fn map<'a>(
        &self,
        requests: impl IntoIterator<Item = &'a S::Request>,
    ) -> Result<Vec<S::Answer>, Error>
    where
        S::Request: 'a,
    {
        self.batch(requests)?.wait()
    }

    /// Tells all workers something, encoded once.
    ///
    /// Every living worker takes it in before any task that is submitted afterwards; tasks that
    /// were submitted before may see it or not. A worker that starts later gets a
    /// [snapshot](Builder::snapshots). The result is the number of the broadcast, from 1.
    ///
    /// # Errors
    ///
    /// `Config` when the pool has no snapshots, `Codec`, `Closed`, or the failure of the pool.
    pub fn broadcast(&self, update: &S::Update) -> Result<u64, Error> {
        self.broadcast_with(update, Vec::new())
    }

    /// Tells all workers something that needs descriptors.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    pub fn broadcast_with(
        &self,
        update: &S::Update,
        attachments: Vec<Attachment>,
    ) -> Result<u64, Error> {
        if self.shared.settings.snapshots.is_none() {
            let text =
                "a pool that broadcasts needs `Builder::snapshots` for workers that start late";
            return Err(Error::new(ErrorKind::Config, text));
        }
        let body = encode("update", update)?;
        self.shared.broadcast(&Arc::new(Update { body, attachments }))
    }

    /// Lets workers close the descriptors of these keys. A later message that carries such a key
    /// sends it again.
    pub fn detach(&self, keys: &[Key]) {
        let bytes: Vec<u8> = keys.iter().flat_map(|key| key.0.to_le_bytes()).collect();
        self.shared.locked(|state| {
            for link in state.links().filter(|link| link.phase != Phase::Dying) {
                if link.send(Out::Detach(bytes.clone())).is_err() {
                    link.kill();
                }
            }
        });
    }

    /// What the pool has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.locked(|state| {
            let mut counters = state.counters;
            counters.bytes_sent += state.links().map(|link| link.bytes_out).sum::<u64>();
            counters
        })
    }

    /// How many workers the pool keeps.
    #[must_use]
    pub fn n_workers(&self) -> usize {
        self.shared.settings.workers
    }

    /// The process numbers of the living workers.
    #[must_use]
    pub fn worker_pids(&self) -> Vec<u32> {
        let pid =
            |link: &mut crate::link::Link| link.process.pid.as_raw_nonzero().get().unsigned_abs();
        self.shared.locked(|state| state.links().map(pid).collect())
    }

    /// Takes no more tasks, finishes those that are there, and ends the workers.
    ///
    /// # Errors
    ///
    /// The failure of the pool, if it has failed.
    pub fn shutdown(mut self) -> Result<(), Error> {
        self.end(Course::Draining);
        self.shared.locked(|state| state.failure.clone()).map_or(Ok(()), Err)
    }

    /// As [`shutdown`](Self::shutdown), but what is not finished in time is abandoned, as by a
    /// drop.
    ///
    /// # Errors
    ///
    /// `TimedOut` when something was abandoned; or the failure of the pool.
    pub fn shutdown_timeout(mut self, wait: Duration) -> Result<(), Error> {
        let until = sys::now().checked_add(wait);
        let shared = self.shared.clone();
        self.begin_end(Course::Draining);
        let drained = shared.wait_until(until, |state| {
            (state.course >= Course::Stopping || state.is_drained()).then_some(())
        });
        self.end(if drained.is_some() { Course::Draining } else { Course::Stopping });
        if drained.is_none() {
            let text = format!("the pool had not finished its work after {wait:?}");
            return Err(Error::new(ErrorKind::TimedOut, text));
        }
        shared.locked(|state| state.failure.clone()).map_or(Ok(()), Err)
    }

    /// Lets the pool begin to end.
    fn begin_end(&self, course: Course) {
        self.shared.locked(|state| {
            state.course = state.course.max(course);
            if course == Course::Stopping {
                state.abandon(&Error::closed());
            }
            self.shared.changed.notify_all();
        });
        self.shared.wake_reactor();
    }

    fn end(&mut self, course: Course) {
        let Some(threads) = self.threads.take() else { return };
        if rustix::process::getpid() != threads.process {
            return;
        }
        self.begin_end(course);
        // The last handle may be dropped by a waker, on the pool's own thread.
        let own = std::thread::current().id();
        if own != threads.reactor.thread().id() && own != threads.starter.thread().id() {
            let _ = threads.reactor.join();
            let _ = threads.starter.join();
        }
    }
}

impl<S: Service> Drop for ProcessPool<S> {
    fn drop(&mut self) {
        self.end(Course::Stopping);
    }
}

fn encode<T: serde::Serialize>(what: &str, value: &T) -> Result<Vec<u8>, Error> {
    codec::encode(value).map_err(|error| {
        Error::new(ErrorKind::Codec, format!("the {what} cannot be encoded: {error}"))
    })
}

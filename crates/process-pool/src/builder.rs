//! The settings of a pool.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::codec;
use crate::error::{Error, ErrorKind};
use crate::link::Update;
use crate::pool::ProcessPool;
use crate::service::{Attachment, Service, build_id};
use crate::{init, server};

pub(crate) const FORGOTTEN: &str = "`process_pool::init` was not called: call it at the top of \
    `main` with all services of the program, before a pool is built, or name a helper executable \
    that does";

/// More processes than Linux has numbers for by default.
const MOST_WORKERS: usize = 32_768;

/// How worker processes come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum StartMethod {
    /// The executable is run again. Works always, and copies nothing of the parent.
    #[default]
    Spawn,
    /// A server with one thread, itself spawned at the first use, forks the workers.
    ForkServer,
    /// A copy of this process, forked while it had one thread, forks the workers.
    Fork,
}

impl StartMethod {
    /// All methods, in the order in which they are tried by somebody who does not care.
    pub const ALL: [Self; 3] = [Self::Spawn, Self::ForkServer, Self::Fork];

    /// The name, as configurations spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::ForkServer => "forkserver",
            Self::Fork => "fork",
        }
    }

    /// Whether the method can be used in this process now.
    ///
    /// # Errors
    ///
    /// `Unavailable`, with the reason.
    pub fn check(self) -> Result<(), Error> {
        match (self, self == Self::Fork) {
            (_, true) => match server::why_no_zygote() {
                Some(reason) => Err(Error::new(ErrorKind::Unavailable, reason)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for StartMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for StartMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let text = format!("start method {name:?}, expected spawn, forkserver or fork");
            Error::new(ErrorKind::Config, text)
        })
    }
}

/// The start methods that can be used in this process now.
#[must_use]
pub fn available_start_methods() -> Vec<StartMethod> {
    StartMethod::ALL.into_iter().filter(|method| method.check().is_ok()).collect()
}

/// What to do when a task is submitted to a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Wait until there is room.
    #[default]
    Block,
    /// Return the error `QueueFull`.
    Refuse,
}

/// Where workers print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Output {
    /// To this process's output and error, through the pool, whole lines at a time.
    #[default]
    Lines,
    /// To what this process had when the worker, or what forked it, was started.
    Inherit,
}

/// What a worker that starts late, or lags behind, must be told to know what the others know.
#[derive(Clone, Debug)]
pub struct Snapshot<U> {
    /// The number of the last broadcast that `update` includes, as
    /// [`broadcast`](ProcessPool::broadcast) returned it; 0 for none.
    pub after: u64,
    /// All that the broadcasts up to then have told, as one update.
    ///
    /// A worker that lags behind has taken in some of them already: the update replaces that.
    pub update: U,
    /// Descriptors that the update needs.
    pub attachments: Vec<Attachment>,
}

pub(crate) type Snapshots = Box<dyn Fn() -> Result<(u64, Update), String> + Send + Sync>;

/// The settings as the pool keeps them.
pub(crate) struct Settings {
    pub(crate) service: &'static str,
    pub(crate) build: u64,
    pub(crate) repeatable: bool,
    pub(crate) workers: usize,
    pub(crate) method: StartMethod,
    pub(crate) executable: Option<PathBuf>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) args: Arc<Update>,
    pub(crate) recycle_after: Option<u64>,
    pub(crate) task_timeout: Option<Duration>,
    pub(crate) start_timeout: Duration,
    pub(crate) stop_timeout: Duration,
    pub(crate) max_starts: u32,
    pub(crate) max_deaths: u32,
    pub(crate) queue: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) ring: usize,
    pub(crate) update_backlog: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) stack_size: Option<u64>,
    pub(crate) output: Output,
    pub(crate) snapshots: Option<Snapshots>,
}

/// Makes a pool: arguments of the initializer, then whatever differs from the defaults.
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<S: Service> {
    settings: Settings,
    args: Result<Vec<u8>, String>,
    attachments: Vec<Attachment>,
    service: PhantomData<fn() -> S>,
}

impl<S: Service> std::fmt::Debug for Builder<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("service", &S::NAME)
            .field("workers", &self.settings.workers)
            .field("method", &self.settings.method)
            .finish_non_exhaustive()
    }
}

impl<S: Service> Builder<S> {
    pub(crate) fn new(args: &S::Args) -> Self {
        let settings = Settings {
            service: S::NAME,
            build: build_id::<S>(),
            repeatable: S::REPEATABLE,
            workers: num_cpus::get(),
            method: StartMethod::Spawn,
            executable: None,
            env: Vec::new(),
            args: Arc::new(Update { body: Vec::new(), attachments: Vec::new() }),
            recycle_after: None,
            task_timeout: None,
            start_timeout: Duration::from_secs(60),
            stop_timeout: Duration::from_secs(5),
            max_starts: 3,
            max_deaths: 3,
            queue: usize::MAX,
            when_full: WhenFull::Block,
            ring: 1 << 19,
            update_backlog: 1 << 22,
            memory_limit: None,
            stack_size: None,
            output: Output::Lines,
            snapshots: None,
        };
        Self { settings, args: codec::encode(args), attachments: Vec::new(), service: PhantomData }
    }

    /// How many workers there are. By default, as many as CPUs that this process may use.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers;
        self
    }

    /// How workers are started. By default, [`StartMethod::Spawn`].
    pub fn start_method(mut self, method: StartMethod) -> Self {
        self.settings.method = method;
        self
    }

    /// The executable that workers run. By default, the one that runs now, also when its file was
    /// replaced or deleted meanwhile.
    ///
    /// A library, or a test harness, that does not own `main` names a helper here whose `main`
    /// calls [`init`](crate::init).
    pub fn executable(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.executable = Some(path.into());
        self
    }

    /// A variable in the environment of the workers, such as `RAYON_NUM_THREADS`. By default,
    /// they inherit the environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.env.push((name.into(), value.into()));
        self
    }

    /// A descriptor for the initializer.
    pub fn attach(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// Replaces each worker after so many tasks. By default, never.
    pub fn recycle_after(mut self, tasks: u64) -> Self {
        self.settings.recycle_after = Some(tasks);
        self
    }

    /// How long a task may run before its worker is killed and replaced. By default, for ever.
    pub fn task_timeout(mut self, timeout: Duration) -> Self {
        self.settings.task_timeout = Some(timeout);
        self
    }

    /// How long a worker may take from its start to the end of its initializer. By default, a
    /// minute.
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.settings.start_timeout = timeout;
        self
    }

    /// How long a worker may take to drop its state before it is killed. By default, 5 seconds.
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.settings.stop_timeout = timeout;
        self
    }

    /// After how many failed starts in a row the pool gives up. By default, 3.
    pub fn max_failed_starts(mut self, starts: u32) -> Self {
        self.settings.max_starts = starts;
        self
    }

    /// How many deaths of workers one task may cause before that is its error. By default, 3.
    pub fn max_deaths(mut self, deaths: u32) -> Self {
        self.settings.max_deaths = deaths;
        self
    }

    /// How many tasks may wait for a worker, and what happens to the next. By default, any number.
    ///
    /// [`WhenFull::Block`] never blocks a thread of the pool itself: a waker that submits to a full
    /// queue is refused.
    pub fn queue(mut self, tasks: usize, when_full: WhenFull) -> Self {
        self.settings.queue = tasks;
        self.settings.when_full = when_full;
        self
    }

    /// The bytes that each worker's two rings hold, rounded up to a power of two. By default,
    /// 512 KiB. Larger messages pass in pieces.
    pub fn ring_capacity(mut self, bytes: usize) -> Self {
        self.settings.ring = bytes.clamp(4096, 1 << 30).next_power_of_two();
        self
    }

    /// How many bytes of broadcasts may wait for a worker that does not take them in. By default,
    /// 4 MiB. Beyond that, a [snapshot](Self::snapshots) takes their place. What is in the ring
    /// already comes on top.
    pub fn update_backlog(mut self, bytes: usize) -> Self {
        self.settings.update_backlog = bytes;
        self
    }

    /// The address space that a worker may use, in bytes. By default, unlimited.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.settings.memory_limit = Some(bytes);
        self
    }

    /// The stack of the thread that runs the service, in bytes. By default, that of the main
    /// thread.
    pub fn stack_size(mut self, bytes: u64) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Where workers print. By default, through the pool, whole lines at a time.
    pub fn output(mut self, output: Output) -> Self {
        self.settings.output = output;
        self
    }

    /// Where the pool asks for a snapshot when a worker starts after a broadcast, or lags behind by
    /// more than [`update_backlog`](Self::update_backlog).
    ///
    /// Pools that broadcast need it. It is called on a thread of the pool, never at the same time
    /// as itself, and not while a lock of the pool is held. The state that it reads must be at
    /// least as new as the last broadcast that had returned when it was called: an owner that
    /// changes its state, broadcasts and keeps the number under one lock, which this closure takes
    /// too, has that. Such an owner does not hold the lock while it waits for a task, for
    /// readiness or for the end of the pool.
    pub fn snapshots(
        mut self,
        snapshot: impl Fn() -> Snapshot<S::Update> + Send + Sync + 'static,
    ) -> Self {
        self.settings.snapshots = Some(Box::new(move || {
            let Snapshot { after, update, attachments } = snapshot();
            let body = codec::encode(&update)?;
            Ok((after, Update { body, attachments }))
        }));
        self
    }

    /// Starts the workers, and waits until all are ready.
    ///
    /// # Errors
    ///
    /// `NotInitialized` when `init` was forgotten, `Unavailable` when the start method cannot be
    /// used, `Config` and `Codec` for settings that make no sense, `Start` when workers cannot be
    /// started, with the message of the initializer or of the system.
    pub fn build(self) -> Result<ProcessPool<S>, Error> {
        let pool = self.build_unready()?;
        pool.wait_ready()?;
        Ok(pool)
    }

    /// Starts the workers without waiting for them: their errors are those of the tasks, and of
    /// [`wait_ready`](ProcessPool::wait_ready).
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), without those of the workers.
    pub fn build_unready(mut self) -> Result<ProcessPool<S>, Error> {
        let settings = &mut self.settings;
        if settings.workers == 0 {
            return Err(Error::new(ErrorKind::Config, "a pool of 0 workers"));
        }
        if settings.workers > MOST_WORKERS {
            let text = format!("a pool of {} workers, at most {MOST_WORKERS}", settings.workers);
            return Err(Error::new(ErrorKind::Config, text));
        }
        for (name, value) in &settings.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let text = format!("{name:?} = {value:?} is no variable of an environment");
                return Err(Error::new(ErrorKind::Config, text));
            }
        }
        if settings.recycle_after == Some(0) {
            return Err(Error::new(ErrorKind::Config, "workers recycled after 0 tasks"));
        }
        let needs_own = settings.executable.is_none() || settings.method == StartMethod::Fork;
        if needs_own && !init::was_called() {
            return Err(Error::new(ErrorKind::NotInitialized, FORGOTTEN));
        }
        let namesakes = init::table().iter().filter(|entry| entry.name == S::NAME).count();
        if needs_own && namesakes > 1 {
            let text =
                format!("{namesakes} services in the list for `init` have the name {}", S::NAME);
            return Err(Error::new(ErrorKind::Config, text));
        }
        if needs_own && namesakes == 0 {
            let text = format!(
                "service {} is not in the list that `process_pool::init` was given",
                S::NAME
            );
            return Err(Error::new(ErrorKind::NotInitialized, text));
        }
        if settings.method == StartMethod::Fork {
            server::prepare_fork()?;
        }
        let body = self.args.map_err(|error| {
            let text = format!("the initializer's arguments cannot be encoded: {error}");
            Error::new(ErrorKind::Codec, text)
        })?;
        settings.args = Arc::new(Update { body, attachments: self.attachments });
        ProcessPool::start(self.settings)
    }
}

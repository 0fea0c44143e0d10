//! Asking agents in worker processes.
//!
//! A worker is this executable, run again: it needs [`init`] at the top of `main`. Each holds the
//! constant parts of all agents and a replica of the markets. In a step it is told once what
//! changed, and with each question gets what may have changed of that agent; what it does to its
//! copies reaches nobody else. Memory that agents share ([`Sharing`](pams_agent::Sharing)) is sent
//! to each worker once.

mod memory;
pub mod remote;
mod service;
mod wire;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pams_agent::Registry;
use pams_config::SimulationSettings;
use pams_core::random::Generator;
use pams_core::{MarketView, StepDelta};
use parking_lot::Mutex;
use process_pool::{
    Entry, ErrorKind, ProcessPool, Snapshot, StartMethod, Task as Pending, TaskOptions,
};

use crate::parallel::{Answer, Executor, ExecutorError, StartPlan, Task};
use memory::Memory;
use service::AgentService;
use wire::{Crew, Update, WireQuestion, WireReply, WireTask};

pub use service::{WorkerInitializer, worker_service};

/// Turns this process into a worker if a runner started it as one; otherwise returns at once.
///
/// It belongs at the top of `main`, before anything else: a worker runs `main` up to here. The
/// registry has to hold all classes of the program's agents.
///
/// ```no_run
/// pams_runner::init(&pams_agent::Registry::builtin());
/// // the program
/// ```
pub fn init(registry: &Registry) {
    init_with(registry, &[]);
}

/// As [`init`], for a program whose workers also have initializers, each given as its
/// [`worker_service`].
pub fn init_with(registry: &Registry, services: &[Entry]) {
    service::set_registry(registry);
    let mut all = vec![worker_service::<()>()];
    all.extend_from_slice(services);
    process_pool::init(&all);
}

/// Runs tasks in worker processes.
pub struct ProcessExecutor<I: WorkerInitializer = ()> {
    arguments: I::Arguments,
    default_start_method: StartMethod,
    executable: Option<PathBuf>,
    environment: Vec<(String, String)>,
    mutable_memory: bool,
    start_timeout: Option<Duration>,
    running: Option<Running<I>>,
}

struct Running<I: WorkerInitializer> {
    pool: ProcessPool<AgentService<I>>,
    known: Arc<Mutex<Known>>,
    registry: &'static Registry,
    memory: Memory,
}

/// What the workers know of the markets, for those that start late.
struct Known {
    markets: Vec<MarketView>,
    /// The number of the last broadcast in `markets`.
    broadcast: u64,
}

impl<I: WorkerInitializer> fmt::Debug for ProcessExecutor<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProcessExecutor")
            .field("initializer", &I::NAME)
            .field("default_start_method", &self.default_start_method)
            .finish_non_exhaustive()
    }
}

impl ProcessExecutor {
    /// Workers without an initializer.
    #[must_use]
    pub fn new() -> Self {
        Self::with_initializer(())
    }
}

impl Default for ProcessExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: WorkerInitializer> ProcessExecutor<I> {
    /// Workers that run the initializer `I` with these arguments before anything else.
    #[must_use]
    pub fn with_initializer(arguments: I::Arguments) -> Self {
        Self {
            arguments,
            default_start_method: StartMethod::default(),
            executable: None,
            environment: Vec::new(),
            mutable_memory: false,
            start_timeout: None,
            running: None,
        }
    }

    /// Sets how workers are started when `simulation.startMethod` of the config does not say. By
    /// default `spawn`.
    #[must_use]
    pub fn default_start_method(self, method: StartMethod) -> Self {
        Self { default_start_method: method, ..self }
    }

    /// Sets the executable that workers run; its `main` has to begin with [`init`]. By default the
    /// running one.
    #[must_use]
    pub fn executable(self, path: impl Into<PathBuf>) -> Self {
        Self { executable: Some(path.into()), ..self }
    }

    /// Sets a variable in the environment of the workers, before they start. By default they
    /// inherit the environment.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set_environment(name, value);
        self
    }

    /// As [`environment`](Self::environment), for an executor that wraps this one.
    pub fn set_environment(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.environment.push((name.into(), value.into()));
    }

    /// Sets whether agents may hold memory that every process can change, and so make the records
    /// depend on which worker is first. By default that is an error.
    #[must_use]
    pub fn mutable_memory(self, is_fine: bool) -> Self {
        Self { mutable_memory: is_fine, ..self }
    }

    /// Sets how long a worker may take until its initializer is through. By default a minute.
    #[must_use]
    pub fn start_timeout(self, timeout: Duration) -> Self {
        Self { start_timeout: Some(timeout), ..self }
    }
}

impl<I: WorkerInitializer> ProcessExecutor<I> {
    fn start_method(&self, settings: &SimulationSettings) -> Result<StartMethod, ExecutorError> {
        match settings.start_method {
            Some(method) => Ok(method.name().parse()?),
            None => Ok(self.default_start_method),
        }
    }
}

impl<I: WorkerInitializer> Executor for ProcessExecutor<I> {
    fn prepare(&mut self, settings: &SimulationSettings) -> Result<(), ExecutorError> {
        if self.start_method(settings)? == StartMethod::Fork {
            process_pool::prepare_fork()?;
        }
        Ok(())
    }

    fn start(&mut self, plan: StartPlan) -> Result<(), ExecutorError> {
        let registry = service::registry().ok_or(FORGOTTEN)?;
        let (crew, shared) = registry.collect(|| Crew::encode(&plan.replica, registry));
        let mut memory = Memory::new(self.mutable_memory);
        let attachments = memory.for_start(registry, shared)?;
        let crew = crew?.with_memory(memory::keys(&attachments));
        let known = Arc::new(Mutex::new(Known { markets: plan.replica.markets, broadcast: 0 }));
        let method = self.start_method(&plan.settings)?;
        let for_late_workers = Arc::clone(&known);
        let mut builder = ProcessPool::builder(&(self.arguments.clone(), crew))
            .workers(plan.workers)
            .start_method(method)
            .snapshots(move || {
                let known = for_late_workers.lock();
                Snapshot {
                    after: known.broadcast,
                    update: Update::Markets(known.markets.clone()),
                    attachments: Vec::new(),
                }
            });
        for attachment in attachments {
            builder = builder.attach(attachment);
        }
        for (name, value) in &self.environment {
            builder = builder.env(name, value);
        }
        if let Some(timeout) = self.start_timeout {
            builder = builder.start_timeout(timeout);
        }
        if let Some(path) = &self.executable {
            builder = builder.executable(path);
        }
        let pool = builder.build().map_err(|error| match error.kind() {
            ErrorKind::NotInitialized => ExecutorError::from(FORGOTTEN),
            _ => error.into(),
        })?;
        // The workers have no markets yet.
        let mut first = known.lock();
        first.broadcast = pool.broadcast(&Update::Markets(first.markets.clone()))?;
        drop(first);
        self.running = Some(Running { pool, known, registry, memory });
        Ok(())
    }

    fn update(&mut self, delta: StepDelta) -> Result<(), ExecutorError> {
        let Running { pool, known, .. } = self.running.as_ref().ok_or(NOT_STARTED)?;
        let mut known = known.lock();
        delta.apply(&mut known.markets);
        known.broadcast = pool.broadcast(&Update::Delta(delta))?;
        Ok(())
    }

    fn run(&mut self, tasks: Vec<Task>) -> Result<Vec<Answer>, ExecutorError> {
        let Running { pool, registry, memory, .. } = self.running.as_ref().ok_or(NOT_STARTED)?;
        let mut requests: Vec<WireTask> = Vec::with_capacity(tasks.len());
        let mut attachments = Vec::with_capacity(tasks.len());
        for task in tasks {
            let (questions, shared) = registry
                .collect(|| task.into_iter().map(WireQuestion::new).collect::<Result<Vec<_>, _>>());
            let shared = memory.for_task(shared)?;
            requests.push(WireTask { memory: memory::keys(&shared), questions: questions? });
            attachments.push(shared);
        }
        let replies = if attachments.iter().all(Vec::is_empty) {
            pool.batch(&requests)?.wait()?
        } else {
            let submit = |(request, attachments)| {
                pool.submit_with(request, TaskOptions { attachments, ..TaskOptions::default() })
            };
            let pending: Vec<_> =
                requests.iter().zip(attachments).map(submit).collect::<Result<_, _>>()?;
            pending.into_iter().map(Pending::wait).collect::<Result<_, _>>()?
        };
        let generators = requests.into_iter().map(WireTask::into_generators);
        Ok(replies.into_iter().zip(generators).map(|(one, before)| answers(one, before)).collect())
    }

    fn finish(&mut self) -> Result<(), ExecutorError> {
        let Running { pool, memory, .. } = self.running.take().ok_or(NOT_STARTED)?;
        pool.shutdown()?;
        memory.reported()
    }

    fn stop(&mut self) {
        self.running = None;
    }
}

const FORGOTTEN: &str = "worker processes run this program again and need one line at the top of \
     `main`: `pams_runner::init(&registry)`, with the classes of all agents";

const NOT_STARTED: &str = "the executor has not been started";

/// Replies next to the generators that were sent, which they may not have touched.
fn answers(replies: Vec<WireReply>, before: impl IntoIterator<Item = Generator>) -> Answer {
    replies.into_iter().zip(before).map(|(reply, before)| reply.into_reply(before)).collect()
}

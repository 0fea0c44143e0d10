//! The torch-style runner: worker processes set up for agents with neural networks in candle.
//!
//! [`TorchAgentParallelRunner`] is the process runner of `pams-runner` with three things settled
//! for tensors: how workers start, how many threads candle uses in each, and how tensors are
//! shared. Its records are those of every other runner.
//!
//! ```no_run
//! use std::alloc::System;
//!
//! use pams_agent::Registry;
//! use pams_torch::TorchAgentParallelRunner;
//! use tensor_share::ShareAlloc;
//!
//! // With it tensors lie on the shared pages themselves; without it every process has a copy.
//! #[global_allocator]
//! static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);
//!
//! fn main() -> Result<(), pams_runner::Error> {
//!     let mut registry = Registry::builtin();
//!     pams_candle::register(&mut registry);
//!     // A worker is this program, run again; in a worker this line never returns.
//!     pams_torch::init(&registry);
//!
//!     let runner = TorchAgentParallelRunner::new().builder().registry(registry);
//!     let report = runner.config_path("candle.json").seed(1).build()?.run()?;
//!     assert!(report.records_hash.is_some());
//!     Ok(())
//! }
//! ```
//!
//! # Concepts
//!
//! **Threads.** A worker's candle uses `simulation.torchNumThreads` threads, or else its share of
//! the main process's ([`threads_per_worker`]). It finds the number in its environment before it
//! starts. The main process keeps its own number.
//!
//! **Sharing.** The [strategy](SharingStrategy) is set in the main process at setup, before the
//! agents' tensors are made, and in each worker. Both strategies send an arena once per worker,
//! whatever the number of its tensors.
//!
//! **Killed runs.** Named arenas of a run that is killed are removed at once by a [`Sweeper`], a
//! small process beside the workers.
//!
//! **Your own initializer.** [`TorchAgentParallelRunner::with_initializer`] runs it in each worker
//! behind this crate's own, for example to load a model once per worker, and onto a device. The
//! program names it at the top of `main` with [`init_with`] and [`worker_service`].
//!
//! **Reading only.** What an agent changes of a tensor in place in `submit_orders` stays in its
//! worker, and ends the run with an error that names the arena. Memory in which all processes see
//! changes is asked for by name, and allowed by [`mutable_arenas`]; records can then depend on
//! which worker is first.
//!
//! [`mutable_arenas`]: TorchAgentParallelRunner::mutable_arenas
//!
//! # Determinism
//!
//! Records are equal to those of the other runners as long as agents take their randomness from
//! their own generator. candle's products in 32 bits have the same bits for any number of threads;
//! an agent that uses other operations can compare runs with `torchNumThreads` 1 and 2.
//!
//! # Features
//!
//! `cuda` and `metal` are passed through to candle. They need the toolkits of these devices and are
//! not built in our checks. Every worker that uses a device makes a context of its own there.
//!
//! # Limits
//!
//! 64 bit Linux. This crate chooses no device, and it sends no tensors of devices: see
//! [`pams_candle::check_location`].
#![forbid(unsafe_code)]

mod executor;
mod initializer;
mod sweeper;
mod threads;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use pams_agent::Registry;
use pams_runner::{ProcessExecutor, RunnerBuilder, WorkerInitializer};
use process_pool::Entry;

pub use initializer::{TorchArguments, TorchInitializer};
pub use process_pool::StartMethod;
pub use sweeper::Sweeper;
pub use tensor_share::{SharingStrategy, all_sharing_strategies};
pub use threads::{main_threads, threads_per_worker, worker_threads};

use executor::TorchExecutor;

/// Asks normal agents in worker processes that are set up for tensors. See the [crate].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TorchAgentParallelRunner<I: WorkerInitializer = ()> {
    /// How workers are started when `simulation.startMethod` does not say. By default `spawn`: a
    /// process that was forked after candle has started threads waits for ever.
    pub default_start_method: StartMethod,
    /// How many threads candle uses in each worker. By default none: what
    /// `simulation.torchNumThreads` says, else each worker's share.
    pub torch_num_threads: Option<NonZeroUsize>,
    /// How tensors travel. By default `file_system`; none keeps what is set.
    pub torch_sharing_strategy: Option<SharingStrategy>,
    /// Whether agents may hold mutable arenas, whose changes all processes see. By default not:
    /// records can then depend on which worker is first.
    pub mutable_arenas: bool,
    /// How long a worker may take until its initializer is through. By default a minute.
    pub start_timeout: Option<Duration>,
    /// The executable that workers run; its `main` has to begin with [`init`]. By default the
    /// running one.
    pub executable: Option<PathBuf>,
    arguments: I::Arguments,
}

impl TorchAgentParallelRunner {
    /// Workers without an initializer of the user's.
    #[must_use]
    pub fn new() -> Self {
        Self::with_initializer(())
    }
}

impl Default for TorchAgentParallelRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: WorkerInitializer> TorchAgentParallelRunner<I> {
    /// Workers that also run the initializer `I` with these arguments.
    #[must_use]
    pub fn with_initializer(arguments: I::Arguments) -> Self {
        Self {
            default_start_method: StartMethod::Spawn,
            torch_num_threads: None,
            torch_sharing_strategy: Some(SharingStrategy::FileSystem),
            mutable_arenas: false,
            start_timeout: None,
            executable: None,
            arguments,
        }
    }

    /// Begins to describe a run.
    #[must_use]
    pub fn builder<'l>(self) -> RunnerBuilder<'l> {
        let arguments =
            TorchArguments { sharing_strategy: self.torch_sharing_strategy, inner: self.arguments };
        let mut processes = ProcessExecutor::<TorchInitializer<I>>::with_initializer(arguments)
            .default_start_method(self.default_start_method)
            .mutable_memory(self.mutable_arenas);
        if let Some(timeout) = self.start_timeout {
            processes = processes.start_timeout(timeout);
        }
        if let Some(path) = self.executable {
            processes = processes.executable(path);
        }
        RunnerBuilder::default().executor(TorchExecutor {
            processes,
            num_threads: self.torch_num_threads,
            sharing_strategy: self.torch_sharing_strategy,
            sweeper: None,
        })
    }
}

/// Turns this process into a worker, or a [`Sweeper`], if a runner started it as one; otherwise
/// returns at once. It belongs at the top of `main`, with a registry of all classes of the program's agents.
pub fn init(registry: &Registry) {
    init_with(registry, &[]);
}

/// As [`init`], for a program whose workers also have initializers, each given as its
/// [`worker_service`].
pub fn init_with(registry: &Registry, services: &[Entry]) {
    sweeper::serve();
    let mut all = vec![worker_service::<()>()];
    all.extend_from_slice(services);
    pams_runner::init_with(registry, &all);
}

/// The entry of torch-style workers with an initializer, for [`init_with`].
#[must_use]
pub fn worker_service<I: WorkerInitializer>() -> Entry {
    pams_runner::worker_service::<TorchInitializer<I>>()
}

//! The runners by the names that people look for. They differ in where normal agents are asked,
//! never in a record.

use crate::builder::RunnerBuilder;
use crate::parallel::ThreadExecutor;

/// Asks one agent after the other on the calling thread.
#[derive(Debug)]
pub struct SequentialRunner;

/// Asks normal agents on threads of this process, which read one common replica of the markets.
///
/// ```
/// use std::num::NonZeroUsize;
/// use pams_runner::{MultiThreadAgentParallelRunner, SequentialRunner};
///
/// let config = r#"{
///     "simulation": {"markets": ["Market"], "agents": ["Traders"], "sessions": [
///         {"sessionName": "day", "iterationSteps": 50, "withOrderPlacement": true,
///          "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 4}]},
///     "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
///     "Traders": {"class": "TestAgent", "numAgents": 10, "markets": ["Market"],
///                 "cashAmount": 10000, "assetVolume": 50}
/// }"#;
/// let parallel = MultiThreadAgentParallelRunner::builder().num_parallel(NonZeroUsize::new(2).unwrap());
/// let parallel = parallel.config_text(config).build()?.run()?;
/// let sequential = SequentialRunner::builder().config_text(config).build()?.run()?;
/// assert_eq!(parallel, sequential);
/// # Ok::<(), pams_runner::Error>(())
/// ```
#[derive(Debug)]
pub struct MultiThreadAgentParallelRunner;

impl SequentialRunner {
    /// Begins to describe a run.
    #[must_use]
    pub fn builder<'l>() -> RunnerBuilder<'l> {
        RunnerBuilder::default()
    }
}

impl MultiThreadAgentParallelRunner {
    /// Begins to describe a run.
    #[must_use]
    pub fn builder<'l>() -> RunnerBuilder<'l> {
        RunnerBuilder::default().executor(ThreadExecutor::default())
    }
}

/// Asks normal agents in worker processes, which hold replicas of the markets. A program that uses
/// it calls [`init`](crate::init) at the top of `main`.
#[cfg(feature = "process")]
#[derive(Debug)]
pub struct MultiProcessAgentParallelRunner;

#[cfg(feature = "process")]
impl MultiProcessAgentParallelRunner {
    /// Begins to describe a run.
    #[must_use]
    pub fn builder<'l>() -> RunnerBuilder<'l> {
        RunnerBuilder::default().executor(crate::process::ProcessExecutor::new())
    }
}

//! Runs a configured market simulation and shows its records to loggers.
//!
//! A [`RunnerBuilder`] takes a PAMS config, a seed and whatever should see the records; the runner
//! that it builds asks the agents, hands their orders to the simulator, and ends with a
//! [`RunReport`].
//!
//! ```
//! use pams_runner::{MemorySaver, SequentialRunner};
//!
//! let config = r#"{
//!     "simulation": {
//!         "markets": ["Market"], "agents": ["Traders"],
//!         "sessions": [{"sessionName": "day", "iterationSteps": 100, "withOrderPlacement": true,
//!                       "withOrderExecution": true, "withPrint": false}]
//!     },
//!     "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
//!     "Traders": {"class": "TestAgent", "numAgents": 10, "markets": ["Market"],
//!                 "cashAmount": 10000, "assetVolume": 50}
//! }"#;
//! let mut saver = MemorySaver::default();
//! let report = SequentialRunner::builder()
//!     .config_text(config)
//!     .seed(42)
//!     .logger(&mut saver)
//!     .build()?
//!     .run()?;
//! assert_eq!(report.steps, 100);
//! assert_eq!(saver.market_prices("Market").count(), 100);
//! # Ok::<(), pams_runner::Error>(())
//! ```
//!
//! # What a run depends on
//!
//! The config, the seed and the generator decide every record. Loggers, outputs, the clock and the
//! machine do not; with the `xoshiro256++` generator not even the machine's C library does. The
//! records of a run have one hash ([`RecordHash`]) by which runs are compared.
//!
//! # Limits
//!
//! Only the asking of normal agents runs in parallel ([`MultiThreadAgentParallelRunner`],
//! [`MultiProcessAgentParallelRunner`], or an [`Executor`] of one's own); orders are processed on
//! the calling thread. An agent that reads a file, a clock or a global counter can tell its
//! workers apart, and breaks the promise above.
#![forbid(unsafe_code)]

mod asking;
mod builder;
mod choice;
mod codec;
mod control;
mod error;
mod hash;
mod kinds;
mod logger;
mod loggers;
mod names;
mod parallel;
mod population;
#[cfg(feature = "process")]
mod process;
mod recorder;
mod report;
mod runner;
mod setup;

pub use asking::Purity;
pub use builder::RunnerBuilder;
pub use choice::{Choice, Rehearsal};
pub use control::RunControl;
pub use error::{Error, ErrorKind};
pub use hash::{ParseRecordHashError, RecordHash, RecordHasher};
#[cfg(feature = "process")]
pub use kinds::MultiProcessAgentParallelRunner;
pub use kinds::{MultiThreadAgentParallelRunner, SequentialRunner};
pub use logger::Logger;
pub use loggers::{JsonLines, MemorySaver, StepPrint};
pub use names::NameTable;
pub use parallel::{
    Answer, Executor, ExecutorError, Plan, Question, Replica, Reply, Splitting, StartPlan, Task,
    ThreadExecutor,
};
#[cfg(feature = "process")]
pub use process::{ProcessExecutor, WorkerInitializer, init, init_with, remote, worker_service};
pub use report::{MarketReport, RunReport};
pub use runner::Runner;

//! Run folders: what a simulation run leaves on disk, and how it is read again.
//!
//! A [`RunWriter`] is a logger that writes a folder while a run goes on; a [`RunFolder`] reads it.
//!
//! ```
//! use pams_results::{RunFacts, RunFolder, RunWriter, WriteOptions};
//! use pams_runner::SequentialRunner;
//!
//! # let parent = tempfile::tempdir()?;
//! # let parent = parent.path();
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
//! let builder = SequentialRunner::builder().config_text(config).seed(42);
//! let settings = builder.check()?;
//! let mut writer = RunWriter::create(parent, "test-42", WriteOptions::default())?;
//! let report = builder.logger(&mut writer).build()?.run()?;
//! let path = writer.publish(&report, &settings.resolved, RunFacts::default())?;
//!
//! let run = RunFolder::open(path)?;
//! assert_eq!(run.info().seed, 42);
//! let prices = run.steps()?.map(|step| Ok(step?.record.market_price));
//! assert_eq!(prices.collect::<Result<Vec<f64>, pams_results::Error>>()?.len(), 100);
//! assert_eq!(Some(run.hash_tables()?), report.records_hash);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The folder
//!
//! `run.json` says what the run was ([`RunInfo`]), `config.json` is the config as it was understood,
//! and each table is a file: `steps`, `orders`, `cancels`, `expirations`, `executions`, `sessions`,
//! `accounts`, `holdings`, and `depth` if it was asked for. Together the tables hold every record,
//! so their hash is that of the run ([`RunFolder::hash_tables`]).
//!
//! # Promises
//!
//! - A folder is complete or not there, however the program ends. It is written under a hidden name
//!   beside its place, synced, and renamed.
//! - Memory is bounded, whatever the length of the run.
//! - What is written, and whether, never changes a run.
//!
//! # Limits
//!
//! Unix only. Whole numbers in tables have 63 bits; a larger time to live is written as the largest
//! one. JSON has no floats that are not finite: in JSON lines they become null, and read as NaN.
#![forbid(unsafe_code)]

mod diff;
mod error;
mod folder;
mod format;
mod info;
mod machine;
mod partial;
mod rows;
mod table;
mod tables;
mod writer;

pub use diff::{Comparison, Difference, FieldDifference, Lines, first_difference, lines_at};
pub use error::{Error, ErrorKind, Explained};
pub use folder::{Records, Rows, RunFolder};
pub use format::{ParseTableFormatError, TableFormat};
pub use info::{
    ConfigInfo, Depth, MarketSummary, RunInfo, RunSummary, RunTiming, RunnerInfo, TablesInfo,
};
pub use machine::Machine;
pub use partial::Existing;
pub use rows::{AccountRow, DepthRow, HoldingRow, Numbered, SessionEvent, SessionRow, StepRow};
pub use writer::{RunFacts, RunWriter, WriteOptions};

//! Sweeps: many runs of one config with other parameters and seeds, in worker processes.
//!
//! A [`Sweep`] is a config, a [`Grid`] of parameters and a set of [`Seeds`]. Every point of the grid
//! runs with every seed, each run on one core, and ends as a row of one table.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use pams_agent::Registry;
//! use pams_sweep::{ConfigText, Grid, Sweep, SweepControl, SweepOptions};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let registry = Registry::builtin();
//!     // A worker is this program, run again; in a worker this line never returns.
//!     pams_runner::init_with(&registry, &[pams_sweep::worker_service(&registry)]);
//!
//!     let sweep = Sweep {
//!         config: ConfigText {
//!             name: "config.json".to_owned(),
//!             text: std::fs::read("config.json")?,
//!             ..ConfigText::default()
//!         },
//!         grid: Grid::new(vec!["FCNAgents.orderMargin=0.05,0.1".parse()?])?,
//!         seeds: "0..1000".parse()?,
//!         generator: Default::default(),
//!     };
//!     let (options, control) = (SweepOptions::default(), SweepControl::default());
//!     let report = sweep.run(&registry, Path::new("sweep"), &options, &control)?;
//!     assert_eq!(report.runs, 2000);
//!     Ok(())
//! }
//! ```
//!
//! # The folder
//!
//! `sweep.json` says what the sweep is, `journal.jsonl` has a line for each run that is over, in the
//! order in which they came, and `runs.parquet`, written at the end, has a row for each run, ordered by
//! point and seed. `runs` has the folders of runs that are kept ([`run_folder`]).
//!
//! # Promises
//!
//! - The table depends on the config, the grid, the seeds, the generator and the version; not on the
//!   number of workers, the order in which runs finish, or how often the sweep was interrupted.
//! - A run of a sweep is the run that a runner makes of the same config and seed, to the record hash.
//! - Finished runs are not repeated. Runs that failed are, when the sweep is started again.
//! - A config is read once for each point and worker, not for each seed.
//! - Memory is bounded by 8 bytes a run and some thousand rows of the table, and by what one run needs in
//!   each worker.
//!
//! # Limits
//!
//! A sweep has at most 100 million runs. All runs are sequential: a run that needs many cores itself is
//! not for a sweep. Keys with a dot in their name can't be varied.
#![forbid(unsafe_code)]

mod config;
mod control;
mod error;
mod folder;
mod grid;
mod journal;
mod outcome;
mod report;
mod seeds;
mod service;
mod sweep;
mod table;

pub use config::ConfigText;
pub use control::SweepControl;
pub use error::{Error, ErrorKind};
pub use folder::Existing;
pub use grid::{Axis, Grid, ParseAxisError};
pub use outcome::{MarketOutcome, RunOutcome};
pub use report::{MarketStatistics, PointReport, RunFailure, Statistics, SweepReport};
pub use seeds::{ParseSeedsError, Seeds};
pub use service::worker_service;
pub use sweep::{KeepRuns, Sweep, SweepOptions, run_folder};

//! The command line.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use pams_core::random::GeneratorKind;
use pams_results::TableFormat;
use pams_sweep::{Axis, Seeds};

use crate::facts::FactsArguments;
use crate::plot::PlotArguments;

/// Run artificial-market simulations from PAMS config files.
#[derive(Debug, Parser)]
#[command(name = "pams", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pams run config.json
      Run once, with a seed that is drawn and printed
  pams run config.json --seed 42 --log run.jsonl
      Keep every order, execution and price
  pams run config.json --seed 42 --prng mt19937
      Get the numbers that PAMS 0.3.0 gives for this seed
  pams run config.json --seed 42 --out results
      Keep the run as tables in results/config-42, for pandas, polars and R
  pams sweep config.json --seeds 0..1000 --set FCNAgents.orderMargin=0.05,0.1 --out sweep
      Run it with 1,000 seeds for each of two values, and get one table
  pams replay results/config-42
      Run it again, and see whether every record is the same
  pams diff results/config-42 results/config-43
      Show the first record in which two runs differ
  pams facts results/config-*
      Tell the stylised facts, with confidence intervals over seeds
  pams plot results/config-42
      Draw it: a page, SVG and PNG in results/config-42/report
  pams check config.json
      List every mistake without running
  pams schema > pams.schema.json
      For completion and checks in an editor

Exit status: 0 done, 1 the input or the run failed, 2 wrong usage, 130 interrupted.
`replay` and `diff`: 0 equal, 1 different, 2 something failed";

const OUTPUT: &str = "Standard output carries one thing: the steps, the log, or else the summary. \
    Where it carries steps or log, the summary goes to standard error, as warnings, errors and the \
    progress bar do.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a simulation and end with a summary
    Run(RunArguments),
    /// Run a config with many seeds and parameters, and get one table
    Sweep(SweepArguments),
    /// Run a kept run again, and see whether every record is the same
    Replay(ReplayArguments),
    /// Show the first record in which two runs differ
    Diff(DiffArguments),
    /// Tell the stylised facts of kept runs
    Facts(FactsArguments),
    /// Draw a kept run as pictures and a page
    Plot(PlotArguments),
    /// List every mistake of a config without running it
    Check(CheckArguments),
    /// Print the JSON Schema of a config
    Schema,
    /// Look after tensors in shared memory
    #[cfg(feature = "torch")]
    Shm {
        #[command(subcommand)]
        command: ShmCommand,
    },
}

#[cfg(feature = "torch")]
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ShmCommand {
    /// List what lies in /dev/shm, and who holds it
    List,
    /// Remove what processes left that were killed
    Sweep,
}

#[derive(Debug, Default, Args)]
#[command(after_long_help = OUTPUT)]
pub(crate) struct RunArguments {
    /// The config, a JSON file; `-` reads it from standard input
    pub(crate) config: PathBuf,

    /// The seed from which all random numbers come; drawn and printed when it is not given
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// The random generator: `xoshiro256++` is fast and gives the same run on every machine,
    /// `mt19937` gives the numbers of PAMS 0.3.0
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) prng: GeneratorKind,

    /// How agents are asked; the choice never changes a result
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) runner: RunnerKind,

    /// Ask every agent twice and end with an error if the answers or the agent differ; for trying
    /// out classes of your own
    #[arg(long)]
    pub(crate) check_pure: bool,

    #[command(flatten)]
    pub(crate) workers: WorkerOptions,

    /// Write every record to this file, one JSON object a line; `-` writes to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) keeping: Keeping,

    /// Print the prices of each step to standard output as PAMS does
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) print: Option<Print>,

    /// The form of the summary at the end
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) summary: Option<SummaryForm>,

    /// Leave out the hash of all records
    #[arg(long)]
    pub(crate) no_hash: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) talking: Talking,
}

const SWEEPING: &str = "\
Examples:
  pams sweep config.json --seeds 0..1000 --out sweep
      1,000 runs that differ by their seed
  pams sweep config.json --seeds 0..=9 --set FCNAgents.orderMargin=0.05,0.1 --out sweep
      10 seeds for each of two values
  pams sweep config.json --seeds 1,2,5 --set Market.marketPrice=300,400 \\
      --set 'FCNAgents.noiseWeight={\"expon\":[0.5]},{\"expon\":[1.0]}' --out sweep
      A grid of two times two points
  pams sweep config.json --seeds 0..2000 --out sweep
      The first example went on with: the runs that are finished are not repeated

DIR/runs.parquet has a row for each run. After an interruption or a kill the same command goes on
from where it was.

Exit status: 0 done, 1 the input or a run failed, 2 wrong usage, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = SWEEPING)]
pub(crate) struct SweepArguments {
    /// The config, a JSON file; `-` reads it from standard input
    pub(crate) config: PathBuf,

    /// The seeds of each point: ranges and single ones, such as `0..1000`, `0..=9` or `1,2,5`
    #[arg(long, value_name = "SEEDS", allow_hyphen_values = true)]
    pub(crate) seeds: Seeds,

    /// A parameter and the values that it takes, as JSON or as text; several make a grid. The path is
    /// the keys of the config from outside in, and an element of an array by its number
    #[arg(long = "set", value_name = "PATH=VALUE,...")]
    pub(crate) parameters: Vec<Axis>,

    /// The folder of the sweep
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// How many runs go on at the same time, each in a process; by default as many as there are CPUs
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// The random generator, as for `pams run`
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) prng: GeneratorKind,

    /// Keep each run as tables in a folder of its own, DIR/runs/point-N-seed-N
    #[arg(long)]
    pub(crate) keep: bool,

    /// Remove the sweep in DIR and begin again; by default it is gone on with
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// The form of the summary at the end
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) format: Option<SummaryForm>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) talking: Talking,
}

/// What of a run is kept in a folder.
#[derive(Debug, Default, Args)]
pub(crate) struct Keeping {
    /// Keep the run as tables in the folder DIR/CONFIG-SEED, which is complete or not there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// How the tables are written: `parquet`, `csv` or `jsonl`
    #[arg(long, value_name = "FORMAT", default_value_t, requires = "out")]
    pub(crate) out_format: TableFormat,

    /// Keep also the best LEVELS price levels of each side of every book
    #[arg(long, value_name = "LEVELS", requires = "out")]
    pub(crate) depth: Option<NonZeroU32>,

    /// Keep price levels only every so many steps; by default at the end of each step
    #[arg(long, value_name = "STEPS", requires = "depth")]
    pub(crate) depth_every: Option<NonZeroU64>,

    /// Replace the run folder if there is one
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The folder of a run, made by `pams run --out`
    #[arg(value_name = "RUN_DIR")]
    pub(crate) run: PathBuf,

    /// How agents are asked; by default as they were in the run
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) runner: Option<RunnerKind>,

    #[command(flatten)]
    pub(crate) workers: WorkerOptions,

    #[command(flatten)]
    pub(crate) talking: Talking,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct WorkerOptions {
    /// How many threads or processes ask agents at the same time; by default what the config's
    /// `numParallel` says, else one less than there are CPUs
    #[arg(long, value_name = "N")]
    pub(crate) num_parallel: Option<NonZeroUsize>,

    /// How worker processes are started; by default what the config's `startMethod` says, else
    /// `spawn`
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) start_method: Option<StartMethod>,

    /// How many threads candle uses in each process that asks networks; by default what the config's
    /// `torchNumThreads` says for workers of `torch`, else their share of all threads
    #[cfg(feature = "torch")]
    #[arg(long, value_name = "N")]
    pub(crate) torch_threads: Option<NonZeroUsize>,

    /// How worker processes get at the tensors of networks
    #[cfg(feature = "torch")]
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) sharing_strategy: Option<SharingStrategy>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// A run: its folder, or its log (`pams run --log`)
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,

    /// The other run
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,

    /// How many equal records are shown before the first difference
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) context: usize,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The configs, JSON files; `-` reads one from standard input
    #[arg(value_name = "CONFIG", required = true)]
    pub(crate) configs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) talking: Talking,
}

#[derive(Debug, Default, Args)]
pub(crate) struct Reading {
    /// Take unknown keys as warnings instead of errors, for old configs
    #[arg(long)]
    pub(crate) lenient: bool,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Talking {
    /// Tell nothing but errors: no progress bar, no warnings, no summary unless its form is asked for.
    /// The seed is told if it was drawn and no summary has it
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Tell also what is only good to know, such as prices that were moved to the grid
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerKind {
    /// One agent after the other, on one thread
    #[default]
    Sequential,
    /// Agents of a step at the same time, on threads of this process
    Threads,
    /// Agents of a step at the same time, in worker processes
    Processes,
    /// As `processes`, with what neural networks need: threads and shared memory
    Torch,
    /// One of `sequential`, `threads` and `torch`, by what asking agents takes and holds
    Auto,
}

impl RunnerKind {
    /// The name on the command line and in the summary.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Threads => "threads",
            Self::Processes => "processes",
            Self::Torch => "torch",
            Self::Auto => "auto",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StartMethod {
    /// A fresh copy of the program
    Spawn,
    /// A server process without threads forks the workers
    Forkserver,
    /// The workers are forked before any thread starts
    Fork,
}

impl From<StartMethod> for pams_config::StartMethod {
    fn from(method: StartMethod) -> Self {
        match method {
            StartMethod::Spawn => Self::Spawn,
            StartMethod::Forkserver => Self::ForkServer,
            StartMethod::Fork => Self::Fork,
        }
    }
}

#[cfg(feature = "torch")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum SharingStrategy {
    /// Objects with names in /dev/shm (the default of `torch`)
    FileSystem,
    /// Memory files without names, whose descriptors are sent
    FileDescriptor,
}

#[cfg(feature = "torch")]
impl From<SharingStrategy> for tensor_share::SharingStrategy {
    fn from(strategy: SharingStrategy) -> Self {
        match strategy {
            SharingStrategy::FileSystem => Self::FileSystem,
            SharingStrategy::FileDescriptor => Self::FileDescriptor,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Print {
    /// `session time market_id market_name market_price fundamental_price` for each step and market
    Steps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryForm {
    /// A table for people (the default)
    Text,
    /// One JSON object
    Json,
}

/// How much is told on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// Reads a seed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

impl Arguments {
    /// Refuses what each argument alone can't see.
    pub(crate) fn checked(self) -> Result<Self, clap::Error> {
        match &self.command {
            Command::Run(run) if run.print.is_some() && run.logs_to_standard_output() => {
                let message = "`--log -` and `--print` both need standard output: log to a file";
                Err(Self::command().error(clap::error::ErrorKind::ArgumentConflict, message))
            }
            _ => Ok(self),
        }
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        match &self.command {
            Command::Run(arguments) => arguments.talking.verbosity(),
            Command::Sweep(arguments) => arguments.talking.verbosity(),
            Command::Check(arguments) => arguments.talking.verbosity(),
            Command::Replay(arguments) => arguments.talking.verbosity(),
            Command::Diff(_) | Command::Facts(_) | Command::Plot(_) | Command::Schema => {
                Verbosity::Normal
            }
            #[cfg(feature = "torch")]
            Command::Shm { .. } => Verbosity::Normal,
        }
    }
}

impl RunArguments {
    /// Whether standard output carries steps or records, so that nothing else may go there.
    pub(crate) fn fills_standard_output(&self) -> bool {
        self.print.is_some() || self.logs_to_standard_output()
    }

    fn logs_to_standard_output(&self) -> bool {
        self.log.as_deref() == Some(Path::new("-"))
    }
}

impl Talking {
    pub(crate) fn verbosity(self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

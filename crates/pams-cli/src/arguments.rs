//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pams_core::random::GeneratorKind;

/// Run artificial-market simulations from PAMS config files.
#[derive(Debug, Parser)]
#[command(name = "pams", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pams run config.json                          run once, with a seed that is printed
  pams run config.json --seed 42 --log run.jsonl
                                                keep every order, execution and price
  pams run config.json --seed 42 --prng mt19937 the numbers that PAMS 0.3.0 gives
  pams check config.json                        list every mistake without running
  pams schema > pams.schema.json                for completion and checks in an editor";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a simulation and end with a summary
    Run(RunArguments),
    /// List every mistake of a config without running it
    Check(CheckArguments),
    /// Print the JSON Schema of a config
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The config, a JSON file; `-` reads it from standard input
    pub(crate) config: PathBuf,

    /// The seed from which all random numbers come; drawn and printed when it is not given
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// The random generator: `xoshiro256++` is fast and gives the same run on every machine,
    /// `mt19937` gives the numbers of PAMS 0.3.0
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) prng: GeneratorKind,

    /// How agents are asked; the choice never changes a result
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) runner: RunnerKind,

    /// Write every record to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Print the prices of each step as PAMS does
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

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The config, a JSON file; `-` reads it from standard input
    pub(crate) config: PathBuf,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) talking: Talking,
}

#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// Take unknown keys as warnings instead of errors, for old configs
    #[arg(long)]
    pub(crate) lenient: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Talking {
    /// No progress bar, no warnings, no text summary
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Tell more about what happens
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerKind {
    /// One agent after the other, on one thread
    #[default]
    Sequential,
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

impl Arguments {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match &self.command {
            Command::Run(arguments) => arguments.talking.verbosity(),
            Command::Check(arguments) => arguments.talking.verbosity(),
            Command::Schema => Verbosity::Normal,
        }
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

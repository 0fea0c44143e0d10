//! `pams sweep`.

mod summary;

use std::fs;
use std::io::{self, Read as _};
use std::path::{self, Path};
use std::process::ExitCode;
use std::sync::Arc;

use pams_agent::Registry;
use pams_config::Strictness;
use pams_results::Explained;
use pams_sweep::{
    ConfigText, Error, ErrorKind, Existing, Grid, KeepRuns, Sweep, SweepControl, SweepOptions,
    SweepReport,
};

use crate::arguments::{SweepArguments, Verbosity};
use crate::output::{Failure, Output};
use crate::progress::Progress;
use crate::summary::grouped;

/// How many failures are told. The table and the JSON summary have more.
const TOLD: usize = 10;

/// Runs a sweep: 0 when all runs are good, 1 when some failed.
pub(crate) fn sweep(arguments: &SweepArguments, registry: &Registry, output: &Output) -> ExitCode {
    match run(arguments, registry, output) {
        Ok(report) => end(&report, arguments, output),
        Err(SweepFailure::Interrupted(sentence)) => {
            output.tell(format_args!("{sentence}"));
            ExitCode::from(130)
        }
        Err(SweepFailure::Other(failure)) => failure.report(output),
    }
}

/// Why there is no report.
enum SweepFailure {
    Interrupted(String),
    Other(Failure),
}

impl From<Failure> for SweepFailure {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

fn run(
    arguments: &SweepArguments,
    registry: &Registry,
    output: &Output,
) -> Result<SweepReport, SweepFailure> {
    let grid = Grid::new(arguments.parameters.clone())
        .map_err(|error| Failure::Told(error.to_string()))?;
    let sweep = Sweep {
        config: read(arguments)?,
        grid,
        seeds: arguments.seeds.clone(),
        generator: arguments.prng,
    };
    let options = SweepOptions {
        jobs: arguments.jobs,
        existing: if arguments.overwrite { Existing::Overwrite } else { Existing::Resume },
        keep_runs: if arguments.keep { KeepRuns::Yes } else { KeepRuns::No },
        environment: crate::torch::one_thread(),
    };
    let control = Arc::new(SweepControl::default());
    let stopped = Arc::clone(&control);
    crate::run::stop_on_interrupt(move || stopped.stop());
    let progress = if arguments.talking.verbosity() == Verbosity::Quiet {
        Progress::hidden()
    } else {
        let shown = Arc::clone(&control);
        let counts = move || (shown.runs_done(), shown.runs_in_all());
        Progress::of(counts, "runs", output.bars())
    };
    let outcome = sweep.run(registry, &arguments.out, &options, &control);
    drop(progress);
    outcome.map_err(|error| told(error, arguments))
}

/// Reads the config. Its folder is absolute, so that kept runs find what it names.
fn read(arguments: &SweepArguments) -> Result<ConfigText, Failure> {
    let path = &arguments.config;
    let name = crate::run::show_config(path);
    let (text, folder) = if path == Path::new("-") {
        let mut text = Vec::new();
        (io::stdin().read_to_end(&mut text).map(|_| text), None)
    } else {
        let absolute = path::absolute(path).unwrap_or_else(|_| path.clone());
        (fs::read(path), absolute.parent().map(Path::to_owned))
    };
    let text = text
        .map_err(|error| Failure::Told(format!("{name} can't be read: {}", Explained(&error))))?;
    let strictness =
        if arguments.reading.lenient { Strictness::Lenient } else { Strictness::Strict };
    Ok(ConfigText { name, text, folder, strictness })
}

fn told(error: Error, arguments: &SweepArguments) -> SweepFailure {
    let out = arguments.out.display();
    let sentence = match error.into_kind() {
        ErrorKind::Config(error) => return SweepFailure::Other(Failure::from(*error)),
        ErrorKind::Interrupted { done, in_all } => {
            return SweepFailure::Interrupted(format!(
                "interrupted: {} of {} runs are finished and kept in {out}\n  the same command goes \
                 on from there",
                grouped(done),
                grouped(in_all),
            ));
        }
        ErrorKind::Changed { folder, what } => format!(
            "{} holds another sweep: {what}; choose another `--out`, or `--overwrite` to remove it",
            folder.display()
        ),
        other => Error::from(other).to_string(),
    };
    SweepFailure::Other(Failure::Told(sentence))
}

/// Tells what the sweep came to, and answers with the exit status.
fn end(report: &SweepReport, arguments: &SweepArguments, output: &Output) -> ExitCode {
    if (arguments.format.is_some() || arguments.talking.verbosity() != Verbosity::Quiet)
        && let Err(failure) = summary::print(report, arguments)
    {
        return failure.report(output);
    }
    if report.failed == 0 {
        return ExitCode::SUCCESS;
    }
    let (failed, runs) = (grouped(report.failed), grouped(report.runs));
    let mut text = format!("error: {failed} of {runs} runs failed");
    for failure in report.failures.iter().take(TOLD) {
        let point = if failure.parameters.is_empty() { "" } else { ", " };
        let error = failure.error.replace('\n', "\n    ");
        text += &format!("\n  {}{point}seed {}: {error}", failure.parameters, failure.seed);
    }
    let more = report.failed - report.failed.min(TOLD as u64);
    if more > 0 {
        text += &format!("\n  and {} more in {}", grouped(more), report.table.display());
    }
    output.tell(format_args!("{text}"));
    ExitCode::FAILURE
}

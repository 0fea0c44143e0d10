//! `pams replay`.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum as _;
use pams_agent::Registry;
use pams_results::{RunFolder, RunInfo};
use pams_runner::{RecordHash, RunControl};

use crate::arguments::{Reading, ReplayArguments, RunArguments, RunnerKind};
use crate::diff::FAILED;
use crate::output::{Failure, Output};

/// Runs a kept run again: 0 when every record is equal, 1 when one is not.
pub(crate) fn replay(arguments: &ReplayArguments, registry: Registry, output: &Output) -> ExitCode {
    match run_again(arguments, registry, output) {
        Ok(code) => code,
        Err(failure) => failure.report_with(output, FAILED),
    }
}

fn run_again(
    arguments: &ReplayArguments,
    registry: Registry,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let folder = RunFolder::open(&arguments.run)?;
    folder.check_config()?;
    let expected = match folder.records_hash()? {
        Some(hash) => hash,
        None => folder.hash_tables()?,
    };
    let run = run_arguments(arguments, &folder)?;
    #[cfg(feature = "torch")]
    crate::torch::fix_threads(&run, &registry);
    let control = Arc::new(RunControl::default());
    let finished = crate::run::execute(&run, registry, output, folder.info().seed, &control)?;
    let found = finished.report.records_hash.expect("invariant: the hash was not left out");
    let text = describe(&arguments.run, folder.info(), expected, found);
    writeln!(io::stdout().lock(), "{text}")
        .map_err(|error| Failure::write("standard output", &error))?;
    Ok(if found == expected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The arguments of `pams run` that make the same run.
fn run_arguments(arguments: &ReplayArguments, folder: &RunFolder) -> Result<RunArguments, Failure> {
    let info = folder.info();
    let of_file = |error: &dyn std::fmt::Display| {
        let path = arguments.run.join("run.json");
        Failure::Told(format!("{} is damaged: {error}", path.display()))
    };
    let runner = match arguments.runner {
        Some(runner) => runner,
        None => RunnerKind::from_str(&info.runner.kind, false).map_err(|error| of_file(&error))?,
    };
    Ok(RunArguments {
        config: folder.config_path(),
        seed: Some(info.seed),
        prng: info.generator.parse().map_err(|error| of_file(&error))?,
        runner,
        workers: arguments.workers,
        reading: Reading { lenient: info.config.lenient },
        talking: arguments.talking,
        ..RunArguments::default()
    })
}

fn describe(run: &Path, info: &RunInfo, expected: RecordHash, found: RecordHash) -> String {
    let shown = run.display();
    if found == expected {
        return format!("{shown} is equal when it is run again: {found}");
    }
    let RunInfo { seed, generator, .. } = info;
    format!(
        "{shown} is different when it is run again\n  then  {expected} (pams-rs {})\n  now   \
         {found} (pams-rs {})\n  to see the first difference: pams run {shown}/config.json --seed \
         {seed} --prng {generator} --out again && pams diff {shown} again/config-{seed}",
        info.pams_rs,
        env!("CARGO_PKG_VERSION"),
    )
}

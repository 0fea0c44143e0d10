//! The run folder of `pams run --out`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pams_results::{
    Depth, Error, ErrorKind, Existing, RunFacts, RunTiming, RunWriter, RunnerInfo, WriteOptions,
};
use pams_runner::RunReport;
use serde_json::Value as Json;

use crate::arguments::{Keeping, RunArguments};
use crate::output::Failure;
use crate::summary::{Timing, Workers, peak_memory};

/// Begins the run folder, if one was asked for.
pub(crate) fn begin(arguments: &RunArguments, seed: u64) -> Result<Option<RunWriter>, Failure> {
    let Keeping { out, out_format, depth, depth_every, overwrite } = &arguments.keeping;
    let Some(out) = out else { return Ok(None) };
    let options = WriteOptions {
        format: *out_format,
        depth: depth
            .map(|levels| Depth { levels: levels.get(), every: depth_every.map_or(1, Into::into) }),
        existing: if *overwrite { Existing::Overwrite } else { Existing::Keep },
    };
    let name = format!("{}-{seed}", stem(&arguments.config));
    Ok(Some(RunWriter::create(out, &name, options)?))
}

/// Completes the run folder.
pub(crate) fn complete(
    writer: RunWriter,
    arguments: &RunArguments,
    report: &RunReport,
    config: &Json,
    timing: Timing,
    workers: &Workers,
) -> Result<PathBuf, Failure> {
    // What `auto` chose is what ran.
    let kind = workers.chosen.as_ref().map_or(arguments.runner, |chosen| chosen.runner);
    let facts = RunFacts {
        config_name: crate::run::show_config(&arguments.config),
        lenient: arguments.reading.lenient,
        runner: RunnerInfo {
            kind: kind.name().to_owned(),
            workers: workers.count,
            torch_threads: workers.torch_threads,
            sharing_strategy: workers.sharing_strategy.clone(),
        },
        timing: RunTiming {
            setup_seconds: timing.setup.as_secs_f64(),
            run_seconds: timing.run.as_secs_f64(),
            peak_memory_bytes: peak_memory(),
        },
    };
    Ok(writer.publish(report, config, facts)?)
}

/// What runs of a config are called.
fn stem(config: &Path) -> String {
    if config == Path::new("-") {
        return "stdin".to_owned();
    }
    config.file_stem().unwrap_or(OsStr::new("run")).to_string_lossy().into_owned()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let path = error.path().display();
        Self::Told(match error.kind() {
            ErrorKind::Exists => format!(
                "{path} exists already; `--overwrite` replaces it, or choose another `--out` or \
                 `--seed`"
            ),
            _ => error.to_string(),
        })
    }
}

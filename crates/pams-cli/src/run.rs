//! `pams run`.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pams_agent::Registry;
use pams_config::Strictness;
use pams_runner::{JsonLines, RunControl, RunnerBuilder, SequentialRunner, StepPrint};

use crate::arguments::{Print, Reading, RunArguments, RunnerKind};
use crate::output::Failure;
use crate::progress::Progress;
use crate::summary::{Summary, Timing};

/// How many bytes of a log are written at once.
const LOG_BUFFER: usize = 1 << 18;

pub(crate) fn run(arguments: RunArguments, registry: Registry) -> Result<(), Failure> {
    let start = now();
    let RunnerKind::Sequential = arguments.runner;
    let verbosity = arguments.talking.verbosity();
    let control = Arc::new(RunControl::default());
    let mut builder = read_config(&arguments.config, &arguments.reading)
        .registry(registry)
        .seed(arguments.seed.unwrap_or_else(draw_seed))
        .generator(arguments.prng)
        .control(Arc::clone(&control));
    if arguments.no_hash {
        builder = builder.without_record_hash();
    }
    if let Some(Print::Steps) = arguments.print {
        builder = builder.logger(StepPrint::new(BufWriter::new(io::stdout())));
    }
    if let Some(path) = &arguments.log {
        // A config with mistakes must not cost the user an old log.
        builder.check()?;
        let file = File::create(path).map_err(|error| Failure::file(show(path), error))?;
        builder = builder.logger(JsonLines::new(BufWriter::with_capacity(LOG_BUFFER, file)));
    }
    let runner = builder.build()?;
    let setup = start.elapsed();
    stop_on_interrupt(Arc::clone(&control));
    let start = now();
    let progress = Progress::show(control, verbosity);
    let outcome = runner.run();
    let run = start.elapsed();
    drop(progress);
    let timing = Timing { setup, run };
    Summary::new(&arguments, &outcome?, timing).print(&arguments, verbosity)
}

pub(crate) fn read_config<'l>(path: &Path, reading: &Reading) -> RunnerBuilder<'l> {
    let builder = SequentialRunner::builder().strictness(if reading.lenient {
        Strictness::Lenient
    } else {
        Strictness::Strict
    });
    if path == Path::new("-") {
        builder.config_reader(io::stdin())
    } else {
        builder.config_path(path)
    }
}

/// A seed that differs from run to run, short enough to be typed again.
fn draw_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

/// The first Ctrl-C ends the run after its current step, the second one ends the process.
fn stop_on_interrupt(control: Arc<RunControl>) {
    let mut asked = false;
    let handler = move || {
        if asked {
            #[expect(clippy::exit, clippy::disallowed_methods, reason = "the user insists")]
            std::process::exit(130);
        }
        asked = true;
        control.stop();
    };
    // Without a handler Ctrl-C still ends the process, only less politely.
    if let Err(error) = ctrlc::set_handler(handler) {
        tracing::debug!("no handler for Ctrl-C: {error}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the summary tells how long the run took")]
fn now() -> Instant {
    Instant::now()
}

pub(crate) fn show(path: &Path) -> String {
    path.display().to_string()
}

//! `pams run`.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pams_agent::Registry;
use pams_config::Strictness;
use pams_runner::{
    JsonLines, MultiProcessAgentParallelRunner, MultiThreadAgentParallelRunner, Purity, RunControl,
    RunReport, Runner, RunnerBuilder, SequentialRunner, StepPrint,
};
use serde_json::Value as Json;

use crate::arguments::{Print, Reading, RunArguments, RunnerKind, Verbosity};
use crate::auto;
use crate::output::{Failure, Named, Output};
use crate::progress::Progress;
use crate::summary::{Chosen, Summary, Timing, Workers};

/// How many bytes of a log are written at once.
const LOG_BUFFER: usize = 1 << 18;

/// How a file stands in an argument that means a standard stream.
const STREAM: &str = "-";

/// A run that is over.
pub(crate) struct Finished {
    pub(crate) report: RunReport,
    pub(crate) timing: Timing,
    pub(crate) workers: Workers,
    /// The folder in which it was kept.
    pub(crate) folder: Option<PathBuf>,
}

pub(crate) fn run(
    arguments: &RunArguments,
    registry: Registry,
    output: &Output,
) -> Result<(), Failure> {
    let seed = arguments.seed.unwrap_or_else(draw_seed);
    let control = Arc::new(RunControl::default());
    run_with(arguments, registry, output, seed, &control).map_err(|failure| {
        failure.with_advice(|is_log_good| {
            let has_begun = control.steps_in_all() > 0;
            let log = arguments.log.as_ref().filter(|_| is_log_good && has_begun);
            let log = log.map(|path| format!("{} has all records up to there", show_output(path)));
            let out = arguments.keeping.out.as_ref().filter(|_| has_begun);
            let out = out.map(|path| format!("nothing of the run is kept in {}", show(path)));
            // A drawn seed would be lost otherwise, and the run with it.
            let seed = arguments.seed.is_none().then(|| format!("the seed was {seed}"));
            let advice: Vec<String> = log.into_iter().chain(out).chain(seed).collect();
            (!advice.is_empty()).then(|| advice.join("; "))
        })
    })
}

fn run_with(
    arguments: &RunArguments,
    registry: Registry,
    output: &Output,
    seed: u64,
    control: &Arc<RunControl>,
) -> Result<(), Failure> {
    let finished = execute(arguments, registry, output, seed, control)?;
    if arguments.summary.is_some() || arguments.talking.verbosity() != Verbosity::Quiet {
        return Summary::new(arguments, finished).print(arguments, output);
    }
    if arguments.seed.is_none() {
        output.tell(format_args!("the seed is {seed}"));
    }
    Ok(())
}

/// Runs a config with its outputs, and tells nothing but how far it is.
pub(crate) fn execute(
    arguments: &RunArguments,
    registry: Registry,
    output: &Output,
    seed: u64,
    control: &Arc<RunControl>,
) -> Result<Finished, Failure> {
    let start = now();
    let chosen = Arc::new(OnceLock::new());
    #[cfg(feature = "torch")]
    let _sweeper = crate::torch::share(arguments);
    let builder = builder(arguments, registry, output, seed, control, &chosen)?;
    let config = match &arguments.keeping.out {
        Some(_) => builder.check()?.resolved,
        None => Json::Null,
    };
    // A config with mistakes must not cost the user an old log: outputs are opened when it is good.
    let runner = builder.build()?;
    let mut writer = crate::keep::begin(arguments, seed)?;
    let mut runner = add_outputs(runner, arguments)?;
    if let Some(writer) = &mut writer {
        runner = runner.logger(writer);
    }
    let mut workers = crate::torch::workers(arguments, &runner);
    let setup = start.elapsed();
    let stopped = Arc::clone(control);
    stop_on_interrupt(move || stopped.stop());
    let start = now();
    let progress = if arguments.talking.verbosity() == Verbosity::Quiet
        || (arguments.fills_standard_output() && io::stdout().is_terminal())
    {
        Progress::hidden()
    } else {
        Progress::show(Arc::clone(control), output.bars())
    };
    let outcome = runner.run();
    let timing = Timing { setup, run: start.elapsed() };
    drop(progress);
    if let Some(chosen) = chosen.get() {
        workers = workers.chosen(chosen.clone());
    }
    let report = outcome?;
    let complete =
        |writer| crate::keep::complete(writer, arguments, &report, &config, timing, &workers);
    let folder = writer.map(complete).transpose()?;
    Ok(Finished { report, timing, workers, folder })
}

/// Everything that a run needs, as the arguments say it. What `auto` chooses goes to `chosen`.
fn builder<'l>(
    arguments: &RunArguments,
    registry: Registry,
    output: &Output,
    seed: u64,
    control: &Arc<RunControl>,
    chosen: &Arc<OnceLock<Chosen>>,
) -> Result<RunnerBuilder<'l>, Failure> {
    let builder = match arguments.runner {
        RunnerKind::Sequential => SequentialRunner::builder(),
        RunnerKind::Threads => MultiThreadAgentParallelRunner::builder(),
        RunnerKind::Processes => MultiProcessAgentParallelRunner::builder(),
        RunnerKind::Torch => crate::torch::builder(arguments)?,
        RunnerKind::Auto => automatic(arguments, output, Arc::clone(chosen))?,
    };
    // A config that is kept lies elsewhere, and its relative paths would no longer be right.
    let path = match &arguments.keeping.out {
        Some(_) if arguments.config != Path::new(STREAM) => path::absolute(&arguments.config),
        _ => Ok(arguments.config.clone()),
    };
    let path = path.unwrap_or_else(|_| arguments.config.clone());
    let mut builder = read_config(builder, &path, &arguments.reading)
        .config_name(show_config(&arguments.config))
        .registry(registry)
        .seed(seed)
        .generator(arguments.prng)
        .control(Arc::clone(control));
    if let Some(workers) = arguments.workers.num_parallel {
        builder = builder.num_parallel(workers);
    }
    if let Some(method) = arguments.workers.start_method {
        builder = builder.start_method(method.into());
    }
    if arguments.check_pure {
        builder = builder.purity(Purity::Checked);
    }
    if arguments.no_hash {
        builder = builder.without_record_hash();
    }
    Ok(builder)
}

/// A builder whose run chooses when it begins, tells the choice and keeps it.
fn automatic<'l>(
    arguments: &RunArguments,
    output: &Output,
    kept: Arc<OnceLock<Chosen>>,
) -> Result<RunnerBuilder<'l>, Failure> {
    let builder = if cfg!(feature = "torch") {
        crate::torch::builder(arguments)?
    } else {
        MultiThreadAgentParallelRunner::builder()
    };
    let verbosity = arguments.talking.verbosity();
    let output = output.clone();
    Ok(builder.choose(move |rehearsal| {
        let (choice, chosen) = auto::choose(rehearsal);
        if verbosity != Verbosity::Quiet {
            let Chosen { runner, reason } = &chosen;
            output.tell(format_args!("runner {}: {reason}", runner.name()));
        }
        // A run chooses once.
        let _ = kept.set(chosen);
        choice
    }))
}

/// Opens the outputs that were asked for.
fn add_outputs<'l>(
    mut runner: Runner<'l>,
    arguments: &RunArguments,
) -> Result<Runner<'l>, Failure> {
    if let Some(Print::Steps) = arguments.print {
        runner = runner.logger(StepPrint::new(standard_output()));
    }
    let Some(path) = &arguments.log else { return Ok(runner) };
    if path == Path::new(STREAM) {
        return Ok(runner.logger(JsonLines::new(standard_output())));
    }
    if is_same_file(path, &arguments.config) {
        let name = show(path);
        return Err(Failure::Told(format!("{name} is the config, and --log would overwrite it")));
    }
    let file = File::create(path).map_err(|error| Failure::write(&show(path), &error))?;
    let file = BufWriter::with_capacity(LOG_BUFFER, Named::new(file, show(path)));
    Ok(runner.logger(JsonLines::new(file)))
}

fn standard_output() -> impl Write + Send {
    BufWriter::new(Named::new(io::stdout(), "standard output"))
}

fn is_same_file(first: &Path, second: &Path) -> bool {
    match (fs::canonicalize(first), fs::canonicalize(second)) {
        (Ok(first), Ok(second)) => first == second,
        _ => false,
    }
}

pub(crate) fn read_config<'l>(
    builder: RunnerBuilder<'l>,
    path: &Path,
    reading: &Reading,
) -> RunnerBuilder<'l> {
    let builder =
        builder.strictness(if reading.lenient { Strictness::Lenient } else { Strictness::Strict });
    let builder = if path == Path::new(STREAM) {
        builder.config_reader(io::stdin())
    } else {
        builder.config_path(path)
    };
    builder.config_name(show_config(path))
}

/// A seed that differs from run to run, short enough to be typed again.
fn draw_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

/// The first Ctrl-C asks for an end in order, the second one ends the process.
pub(crate) fn stop_on_interrupt(stop: impl Fn() + Send + 'static) {
    let mut asked = false;
    let handler = move || {
        if asked {
            #[expect(clippy::exit, clippy::disallowed_methods, reason = "the user insists")]
            std::process::exit(130);
        }
        asked = true;
        stop();
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

/// What the config is called.
pub(crate) fn show_config(path: &Path) -> String {
    if path == Path::new(STREAM) { "standard input".to_owned() } else { show(path) }
}

fn show_output(path: &Path) -> String {
    if path == Path::new(STREAM) { "standard output".to_owned() } else { show(path) }
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

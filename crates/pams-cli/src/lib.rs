//! The `pams` command as a function, so that a program with classes of its own is one line.
//!
//! ```no_run
//! use pams_agent::{Registry, TestAgent};
//!
//! fn main() -> std::process::ExitCode {
//!     let mut registry = Registry::builtin();
//!     registry.agent::<TestAgent>("MyAgent"); // your own class here
//!     pams_cli::main(registry)
//! }
//! ```
//!
//! # The command
//!
//! `pams run` runs a config, `pams sweep` runs it with many seeds and parameters, `pams replay` runs a kept run again,
//! `pams diff` compares two, `pams facts` tells the stylised facts of kept runs, `pams plot` draws one, `pams check` lists
//! a config's mistakes, `pams schema` prints the JSON Schema of configs with the classes of the registry, `pams shm` looks
//! after shared memory. Results go to standard output, everything else to standard error. Exit status: 0 done, 1 the input
//! or the run failed, 2 wrong usage, 130 interrupted.
//!
//! # Features
//!
//! `png`, on by default: `pams plot` writes PNG besides SVG and HTML.
//!
//! `torch`, on by default: the class `CandleAgent`, which [`main()`] registers unless the program has
//! one of that name, and the torch-style runner. A program with neural agents installs
//! `tensor_share::ShareAlloc` as its allocator, or every process has a copy of their tensors.
//!
//! # Limits
//!
//! This crate parses arguments, calls [`pams_runner`] and shows what comes back; whatever else a
//! program needs, it finds there. This is the only library of the project that prints, watches the
//! clock and reacts to Ctrl-C. [`main`] is for the `main` of a program: it takes over the handler of
//! Ctrl-C and, unless there is one, installs a `tracing` subscriber.
#![forbid(unsafe_code)]

mod arguments;
mod auto;
#[cfg(doctest)]
mod book;
mod check;
mod diff;
mod facts;
mod keep;
mod output;
mod plot;
mod progress;
mod replay;
mod run;
mod schema;
#[cfg(feature = "torch")]
mod shm;
mod summary;
mod sweep;
mod torch;

use std::process::ExitCode;

use clap::Parser;
use pams_agent::Registry;

use arguments::{Arguments, Command};
use output::Output;

/// Runs the `pams` command of this process's arguments with the classes of `registry`.
///
/// It has to be the first call of `main`: with worker processes, a worker runs `main` up to here,
/// and a run with neural agents begins by running the program again with candle's numbers of
/// threads in its environment.
pub fn main(mut registry: Registry) -> ExitCode {
    torch::register(&mut registry);
    torch::init(&registry, &[pams_sweep::worker_service(&registry)]);
    let arguments = match Arguments::try_parse().and_then(Arguments::checked) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no errors and go to standard output.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let output = Output::new(arguments.verbosity());
    let outcome = match arguments.command {
        Command::Run(arguments) => {
            #[cfg(feature = "torch")]
            torch::fix_threads(&arguments, &registry);
            run::run(&arguments, registry, &output)
        }
        Command::Sweep(arguments) => return sweep::sweep(&arguments, &registry, &output),
        Command::Check(arguments) => return check::check(&arguments, &registry, &output),
        Command::Replay(arguments) => return replay::replay(&arguments, registry, &output),
        Command::Diff(arguments) => return diff::diff(&arguments, &output),
        Command::Facts(arguments) => facts::facts(&arguments),
        Command::Plot(arguments) => plot::plot(&arguments),
        Command::Schema => schema::schema(&registry),
        #[cfg(feature = "torch")]
        Command::Shm { command } => shm::shm(command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&output),
    }
}

//! `pams check`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use pams_agent::Registry;
use pams_runner::SequentialRunner;

use crate::arguments::{CheckArguments, Verbosity};
use crate::output::{Failure, Output};
use crate::run::{read_config, show_config};

/// Checks every config, also after one with mistakes.
pub(crate) fn check(arguments: &CheckArguments, registry: &Registry, output: &Output) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for config in &arguments.configs {
        if let Err(failure) = check_one(config, arguments, registry.clone()) {
            if matches!(failure, Failure::NoReader) {
                return ExitCode::FAILURE;
            }
            code = failure.report(output);
        }
    }
    code
}

fn check_one(config: &Path, arguments: &CheckArguments, registry: Registry) -> Result<(), Failure> {
    let builder =
        read_config(SequentialRunner::builder(), config, &arguments.reading).registry(registry);
    let settings = builder.check()?;
    // Some mistakes, as correlations that contradict each other, show when everything is made.
    builder.without_record_hash().build()?;
    if arguments.talking.verbosity() == Verbosity::Quiet {
        return Ok(());
    }
    let steps = settings
        .sessions
        .iter()
        .fold(0_u64, |steps, session| steps.saturating_add(session.iteration_steps));
    writeln!(
        io::stdout().lock(),
        "{} has no mistakes: {}, {}, {}, {}",
        show_config(config),
        count(settings.market_count() as u64, "market"),
        count(settings.agent_count() as u64, "agent"),
        count(settings.sessions.len() as u64, "session"),
        count(steps, "step"),
    )
    .map_err(|error| Failure::write("standard output", &error))
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

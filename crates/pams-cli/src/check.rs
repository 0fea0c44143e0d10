//! `pams check`.

use std::io::{self, Write};
use std::path::Path;

use pams_agent::Registry;

use crate::arguments::CheckArguments;
use crate::output::Failure;
use crate::run::read_config;

pub(crate) fn check(arguments: &CheckArguments, registry: Registry) -> Result<(), Failure> {
    let builder = read_config(&arguments.config, &arguments.reading).registry(registry);
    let settings = builder.check()?;
    // Some mistakes, as correlations that contradict each other, show when everything is made.
    builder.without_record_hash().build()?;
    let steps: u64 = settings.sessions.iter().map(|session| session.iteration_steps).sum();
    let name = if arguments.config == Path::new("-") {
        "standard input".to_owned()
    } else {
        crate::run::show(&arguments.config)
    };
    writeln!(
        io::stdout().lock(),
        "{name} has no mistakes: {}, {}, {}, {}",
        count(settings.market_count() as u64, "market"),
        count(settings.agent_count() as u64, "agent"),
        count(settings.sessions.len() as u64, "session"),
        count(steps, "step"),
    )
    .map_err(|error| Failure::file("standard output", error))
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

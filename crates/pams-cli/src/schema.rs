//! `pams schema`.

use std::io::{self, Write};

use pams_agent::Registry;

use crate::output::Failure;

pub(crate) fn schema(registry: &Registry) -> Result<(), Failure> {
    let schema = pams_config::schema(registry);
    writeln!(io::stdout().lock(), "{schema:#}")
        .map_err(|error| Failure::write("standard output", &error))
}

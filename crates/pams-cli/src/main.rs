//! The `pams` command with the built-in classes.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    pams_cli::main(pams_agent::Registry::builtin())
}

//! The `pams` command with the classes of the tests, for the live comparison with PAMS.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    pams_cli::main(pams_tests::registry())
}

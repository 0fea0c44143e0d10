//! The `pams` command with the classes of the tests, for the live comparison with PAMS.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, address] = &arguments[..]
        && mode == pams_tests::tcp::WORKER
    {
        return match pams_tests::tcp::serve(address) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    pams_cli::main(pams_tests::registry())
}

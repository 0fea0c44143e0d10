//! `pams shm`.

use std::fmt::Display;
use std::io::{self, Write};

use crate::arguments::ShmCommand;
use crate::output::Failure;

pub(crate) fn shm(command: ShmCommand) -> Result<(), Failure> {
    match command {
        ShmCommand::List => list(),
        ShmCommand::Sweep => {
            let swept = tensor_share::sweep().map_err(told)?;
            say(format_args!(
                "removed {} arenas of {} processes that have ended, {} bytes",
                swept.arenas, swept.processes, swept.bytes
            ))
        }
    }
}

fn list() -> Result<(), Failure> {
    for arena in tensor_share::report().map_err(told)? {
        let holders: Vec<String> = arena
            .holders
            .iter()
            .filter(|holder| holder.is_alive)
            .map(|holder| format!("{} ({})", holder.process, holder.program))
            .collect();
        let holders =
            if holders.is_empty() { "nobody: sweep".to_owned() } else { holders.join(", ") };
        say(format_args!("{}  {} bytes  held by {holders}", arena.id, arena.bytes))?;
    }
    Ok(())
}

fn say(line: impl Display) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{line}")
        .map_err(|error| Failure::write("standard output", &error))
}

fn told(error: tensor_share::Error) -> Failure {
    Failure::Told(error.to_string())
}

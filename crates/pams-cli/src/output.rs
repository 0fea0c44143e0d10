//! What goes to standard error, and how the command ends.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use pams_runner::{Error, ErrorKind};
use tracing::level_filters::LevelFilter;

use crate::arguments::Verbosity;

/// Why the command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The run or its input.
    Run(Error),
    /// A file or stream of the command's own.
    File { name: String, error: io::Error },
    /// Nobody reads standard output any more, as in `pams … | head`.
    NoReader,
}

impl Failure {
    pub(crate) fn file(name: impl Into<String>, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::NoReader;
        }
        Self::File { name: name.into(), error }
    }

    /// Tells what went wrong, and answers with the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::NoReader => ExitCode::SUCCESS,
            Self::Run(error) if error.is_interrupted() => {
                tell(format_args!("{error}; the records up to there are written"));
                ExitCode::from(130)
            }
            Self::Run(error) => {
                tell(format_args!("error: {}", Described(&error)));
                ExitCode::FAILURE
            }
            Self::File { name, error } => {
                tell(format_args!("error: {name}: {error}"));
                ExitCode::FAILURE
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Log(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Self::NoReader,
            _ => Self::Run(error),
        }
    }
}

/// An error with the mistakes of a config one below the other.
struct Described<'a>(&'a Error);

impl fmt::Display for Described<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(config) = self.0.config_error() else { return self.0.fmt(formatter) };
        let n = config.problems().len();
        let what = if n == 1 { "a mistake" } else { "mistakes" };
        let name = self.0.to_string();
        let name = name.split_once(":\n").map_or("the config", |(name, _)| name);
        write!(formatter, "{name} has {what}")?;
        for problem in config.problems() {
            write!(formatter, "\n  {problem}")?;
        }
        if n > 1 {
            write!(formatter, "\n{n} mistakes in all")?;
        }
        Ok(())
    }
}

/// Writes a line to standard error. That nobody reads it is no reason to fail.
pub(crate) fn tell(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes the events of the libraries to standard error.
pub(crate) fn show_warnings(verbosity: Verbosity) {
    let level = match verbosity {
        Verbosity::Quiet => LevelFilter::OFF,
        Verbosity::Normal => LevelFilter::WARN,
        Verbosity::Verbose => LevelFilter::INFO,
    };
    // An embedding program may have a subscriber already; then that one decides.
    let _ = tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .with_max_level(level)
        .with_writer(io::stderr)
        .try_init();
}

//! What goes to standard error, and how the command ends.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use indicatif::MultiProgress;
use pams_results::Explained;
use pams_runner::{Error, ErrorKind};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::arguments::Verbosity;

/// Why the command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The run or its input.
    Run { error: Box<Error>, advice: Option<String> },
    /// A sentence that says it all.
    Told(String),
    /// Nobody reads standard output any more, as in `pams … | head`.
    NoReader,
}

impl Failure {
    /// Something of the command's own could not be written.
    pub(crate) fn write(name: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::NoReader;
        }
        if error.kind() == io::ErrorKind::NotFound {
            return Self::Told(format!("{name} can't be written: there is no such directory"));
        }
        Self::Told(format!("{name} can't be written: {}", Explained(error)))
    }

    /// A file could not be read.
    pub(crate) fn read(path: &Path, error: &io::Error) -> Self {
        Self::Told(format!("{} can't be read: {}", path.display(), Explained(error)))
    }

    /// Adds what else to know where the run and not the config failed. `advice` is told whether what
    /// was logged so far is complete.
    pub(crate) fn with_advice(self, advice: impl FnOnce(bool) -> Option<String>) -> Self {
        match self {
            Self::Run { error, .. }
                if !matches!(error.kind(), ErrorKind::Read(_) | ErrorKind::Config(_)) =>
            {
                let advice = advice(!matches!(error.kind(), ErrorKind::Log(_)));
                Self::Run { error, advice }
            }
            other => other,
        }
    }

    /// Tells what went wrong, and answers with the exit status.
    pub(crate) fn report(self, output: &Output) -> ExitCode {
        self.report_with(output, 1)
    }

    /// As [`report`](Self::report), with a status of its own for what went wrong.
    pub(crate) fn report_with(self, output: &Output, failed: u8) -> ExitCode {
        match self {
            Self::NoReader => ExitCode::SUCCESS,
            Self::Told(sentence) => {
                output.tell(format_args!("error: {sentence}"));
                ExitCode::from(failed)
            }
            Self::Run { error, advice } => {
                if let Some(config) = error.config_error() {
                    for warning in config.warnings() {
                        tracing::warn!("{}{warning}", Prefix(error.context()));
                    }
                }
                let advice = advice.map(|advice| format!("\n  {advice}")).unwrap_or_default();
                if error.is_interrupted() {
                    output.tell(format_args!("{error}{advice}"));
                    return ExitCode::from(130);
                }
                output.tell(format_args!("error: {}{advice}", Described(&error)));
                ExitCode::from(failed)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Log(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Self::NoReader,
            _ => Self::Run { error: Box::new(error), advice: None },
        }
    }
}

/// A name in front of what is said about it, if there is a name.
struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, "{}: ", self.0) }
    }
}

/// An error of a run, with the mistakes of a config one below the other.
struct Described<'a>(&'a Error);

impl fmt::Display for Described<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.context();
        match self.0.kind() {
            ErrorKind::Config(config) => {
                match config.problems().len() {
                    1 => write!(formatter, "{name} has a mistake")?,
                    n => write!(formatter, "{name} has {n} mistakes")?,
                }
                for problem in config.problems() {
                    write!(formatter, "\n  {problem}")?;
                }
                #[cfg(not(feature = "torch"))]
                if config.problems().iter().any(crate::torch::is_missing) {
                    write!(formatter, "\n  {}", crate::torch::MISSING)?;
                }
                Ok(())
            }
            ErrorKind::Read(cause) => {
                write!(formatter, "{name} can't be read: {}", Explained(cause))
            }
            // The writers of this command say what they write to.
            ErrorKind::Log(cause) => cause.fmt(formatter),
            _ => self.0.fmt(formatter),
        }
    }
}

/// A writer whose errors say what could not be written.
#[derive(Debug)]
pub(crate) struct Named<W> {
    inner: W,
    name: String,
}

impl<W> Named<W> {
    pub(crate) fn new(inner: W, name: impl Into<String>) -> Self {
        Self { inner, name: name.into() }
    }

    fn explain<T>(&self, result: io::Result<T>) -> io::Result<T> {
        // The writers in between ask again after an interruption, by its kind.
        result.map_err(|error| {
            let message = format!("{} can't be written: {}", self.name, Explained(&error));
            io::Error::new(error.kind(), message)
        })
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.explain(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.explain(flushed)
    }
}

/// Standard error, which lines share with a progress bar.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    bars: MultiProgress,
}

impl Output {
    /// Standard error, to which the events of the libraries go from now on.
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        let output = Self::default();
        let level = match verbosity {
            Verbosity::Quiet => LevelFilter::OFF,
            Verbosity::Normal => LevelFilter::WARN,
            Verbosity::Verbose => LevelFilter::INFO,
        };
        let writer = output.clone();
        // An embedding program may have a subscriber already; then that one decides.
        let _ = tracing_subscriber::fmt()
            .event_format(Plain)
            .with_max_level(level)
            .with_writer(move || writer.clone())
            .try_init();
        output
    }

    /// Writes a line to standard error. That nobody reads it is no reason to fail.
    pub(crate) fn tell(&self, line: fmt::Arguments<'_>) {
        let _ = self.write_above(format!("{line}\n").as_bytes());
    }

    /// The bars that are shown below what is written.
    pub(crate) fn bars(&self) -> &MultiProgress {
        &self.bars
    }

    fn write_above(&self, bytes: &[u8]) -> io::Result<()> {
        self.bars.suspend(|| io::stderr().lock().write_all(bytes))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_above(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Events as lines that look like the errors of this command.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let word = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "note",
        };
        write!(writer, "{word}: ")?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

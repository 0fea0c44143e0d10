//! What can go wrong when a simulation is set up and run.

use std::fmt;
use std::io;

use pams_config::ConfigError;
use pams_core::Step;

/// Why a simulation could not be set up or did not end.
///
/// The text names the thing: the file, the key's path, the step and the agent. Callers branch on
/// [`Error::kind`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    /// What was being done, in front of the message; may be empty.
    context: String,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No config was given to the builder.
    #[error("no config was given: use config_path, config_reader, config_text or config_value")]
    NoConfig,
    /// The config could not be read.
    #[error("the config can't be read: {0}")]
    Read(io::Error),
    /// The config has mistakes.
    #[error("{0}")]
    Config(ConfigError),
    /// A market, agent or event can't be made.
    #[error("{0}")]
    Setup(Box<dyn std::error::Error + Send + Sync>),
    /// An agent failed when it was asked, or an instruction or an event failed.
    #[error("{0}")]
    Run(Box<dyn std::error::Error + Send + Sync>),
    /// The workers of a parallel runner failed, not an agent.
    #[error("the workers failed: {0}")]
    Executor(Box<dyn std::error::Error + Send + Sync>),
    /// A logger could not write.
    #[error("{0}")]
    Log(io::Error),
    /// The run was asked to stop.
    #[error("interrupted at step {0}")]
    Interrupted(Step),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self { kind, context: context.into() }
    }

    pub(crate) fn setup(
        context: impl Into<String>,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::new(ErrorKind::Setup(error.into()), context)
    }

    pub(crate) fn run(
        context: impl Into<String>,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::new(ErrorKind::Run(error.into()), context)
    }

    /// Says which config the error is about.
    pub(crate) fn of_config(self, name: &str) -> Self {
        match (name, self.context.as_str()) {
            ("", _) => self,
            (name, "") => Self { context: name.to_owned(), ..self },
            (name, context) => Self { context: format!("{name}: {context}"), ..self },
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// What the error is about: the config's name, the key's path, or the step and the agent. Empty
    /// when there is nothing to name.
    #[must_use]
    pub fn context(&self) -> &str {
        &self.context
    }

    /// The mistakes of the config, if that is what went wrong.
    #[must_use]
    pub fn config_error(&self) -> Option<&ConfigError> {
        match &self.kind {
            ErrorKind::Config(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the run was asked to stop.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, ErrorKind::Interrupted(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, self.context.as_str()) {
            (kind, "") => kind.fmt(formatter),
            // One mistake a line, below the name of the file.
            (kind @ ErrorKind::Config(_), context) => write!(formatter, "{context}:\n{kind}"),
            (kind, context) => write!(formatter, "{context}: {kind}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The messages above contain those of their sources already.
        match &self.kind {
            ErrorKind::Read(error) | ErrorKind::Log(error) => error.source(),
            ErrorKind::Setup(error) | ErrorKind::Run(error) | ErrorKind::Executor(error) => {
                error.source()
            }
            ErrorKind::Config(_) | ErrorKind::NoConfig | ErrorKind::Interrupted(_) => None,
        }
    }
}

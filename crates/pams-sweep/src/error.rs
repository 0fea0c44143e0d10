//! What can go wrong with a sweep.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use pams_results::Explained;

/// Why a sweep could not be begun or did not end.
///
/// That runs fail is no error of a sweep: they are listed in its report. Callers branch on
/// [`Error::kind`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The config, by itself or with the parameters of a point.
    Config(Box<pams_runner::Error>),
    /// The parameters or the seeds; the text says what is wrong.
    Grid(String),
    /// The folder holds another sweep; the text says what is different.
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What is different.
        what: String,
    },
    /// The folder holds something else.
    Foreign(PathBuf),
    /// Another sweep writes into the folder now.
    InUse(PathBuf),
    /// A file could not be written.
    Write(PathBuf, io::Error),
    /// A file could not be read.
    Read(PathBuf, io::Error),
    /// A file does not say what it should.
    Damaged(PathBuf, String),
    /// The worker processes.
    Pool(process_pool::Error),
    /// The sweep was asked to stop.
    Interrupted {
        /// Runs that are finished.
        done: u64,
        /// Runs of the whole sweep.
        in_all: u64,
    },
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind }
    }

    pub(crate) fn grid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Grid(message.into()))
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::new(ErrorKind::Write(path, error))
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::new(ErrorKind::Read(path, error))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// What went wrong, to be taken apart.
    #[must_use]
    pub fn into_kind(self) -> ErrorKind {
        self.kind
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}

impl From<pams_runner::Error> for Error {
    fn from(error: pams_runner::Error) -> Self {
        Self::new(ErrorKind::Config(Box::new(error)))
    }
}

impl From<process_pool::Error> for Error {
    fn from(error: process_pool::Error) -> Self {
        Self::new(ErrorKind::Pool(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Config(error) => error.fmt(formatter),
            ErrorKind::Grid(message) => formatter.write_str(message),
            ErrorKind::Changed { folder, what } => {
                write!(formatter, "{} holds another sweep: {what}", folder.display())
            }
            ErrorKind::Foreign(folder) => write!(
                formatter,
                "{} holds other files and no sweep; choose a new or an empty folder",
                folder.display()
            ),
            ErrorKind::InUse(folder) => {
                write!(formatter, "another sweep writes into {} now", folder.display())
            }
            ErrorKind::Write(path, error) => {
                write!(formatter, "{} can't be written: {}", path.display(), Explained(error))
            }
            ErrorKind::Read(path, error) => {
                write!(formatter, "{} can't be read: {}", path.display(), Explained(error))
            }
            ErrorKind::Damaged(path, what) => {
                write!(formatter, "{} is damaged: {what}", path.display())
            }
            ErrorKind::Pool(error) => write!(formatter, "the workers failed: {error}"),
            ErrorKind::Interrupted { done, in_all } => {
                write!(formatter, "interrupted: {done} of {in_all} runs are finished")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The messages above contain those of their sources already.
        match &self.kind {
            ErrorKind::Config(error) => error.source(),
            ErrorKind::Write(_, error) | ErrorKind::Read(_, error) => error.source(),
            ErrorKind::Pool(error) => error.source(),
            _ => None,
        }
    }
}

//! What can go wrong with run folders.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run folder could not be written or read.
///
/// The text names the path, the reason and what to do. Callers branch on [`Error::kind`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    path: PathBuf,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is something under the name of the folder already, and overwriting was not asked for.
    Exists,
    /// What should be overwritten is no run folder.
    NotOverwritable,
    /// The folder, or something in it, could not be written.
    Write(io::Error),
    /// The folder, or something in it, could not be read.
    Read(io::Error),
    /// The path is no run folder.
    NotARun,
    /// A file of the folder does not say what it should; the text says what is wrong.
    Damaged(String),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, path: impl Into<PathBuf>) -> Self {
        Self { kind, path: path.into() }
    }

    pub(crate) fn write(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self::new(ErrorKind::Write(error), path)
    }

    pub(crate) fn read(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self::new(ErrorKind::Read(error), path)
    }

    pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Damaged(what.into()), path)
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The file or folder that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            ErrorKind::Exists => write!(
                formatter,
                "{path} exists already; overwrite it, or choose another folder or seed"
            ),
            ErrorKind::NotOverwritable => write!(
                formatter,
                "{path} is no run folder, so it is not overwritten; choose another folder"
            ),
            ErrorKind::Write(error) => {
                write!(formatter, "{path} can't be written: {}", Explained(error))?;
                match remedy(error.kind()) {
                    Some(remedy) => write!(formatter, "; {remedy}"),
                    None => Ok(()),
                }
            }
            ErrorKind::Read(error) => {
                write!(formatter, "{path} can't be read: {}", Explained(error))
            }
            ErrorKind::NotARun => write!(
                formatter,
                "{path} is no run folder: it has no run.json; `pams run --out` makes one"
            ),
            ErrorKind::Damaged(what) => write!(formatter, "{path} is damaged: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The messages above contain those of their sources already.
        match &self.kind {
            ErrorKind::Write(error) | ErrorKind::Read(error) => error.source(),
            _ => None,
        }
    }
}

/// What went wrong with a file in words for people, without the system's number for it.
///
/// ```
/// use std::io;
/// use pams_results::Explained;
///
/// let error = io::Error::from(io::ErrorKind::StorageFull);
/// assert_eq!(Explained(&error).to_string(), "the disk is full");
/// ```
#[derive(Debug)]
pub struct Explained<'a>(pub &'a io::Error);

impl fmt::Display for Explained<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0.kind() {
            io::ErrorKind::NotFound => "there is no such file or directory",
            io::ErrorKind::PermissionDenied => "you have no permission",
            io::ErrorKind::IsADirectory => "it is a directory, not a file",
            io::ErrorKind::NotADirectory => "a part of its path is no directory",
            io::ErrorKind::ReadOnlyFilesystem => "its file system is read-only",
            io::ErrorKind::StorageFull => "the disk is full",
            io::ErrorKind::QuotaExceeded => "your disk quota is used up",
            _ => return self.0.fmt(formatter),
        })
    }
}

/// What a user can do when writing fails, where there is something.
fn remedy(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => Some("choose a folder that you may write to"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space, or choose a folder on another disk")
        }
        _ => None,
    }
}

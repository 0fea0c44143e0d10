//! What can go wrong with networks.

use std::fmt;
use std::path::Path;

/// Why a network could not be made, loaded or asked.
///
/// The text names the file, the tensor and both shapes. It is opaque; callers branch on
/// [`Error::kind`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    text: String,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file of weights could not be read.
    File,
    /// Weights are not those of the network that was asked for.
    Shape,
    /// A tensor is not in CPU memory.
    Device,
    /// Shared memory could not be made or opened.
    Memory,
    /// candle could not compute.
    Compute,
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub(crate) fn file(path: &Path, error: impl fmt::Display) -> Self {
        Self::new(ErrorKind::File, format!("{}: {error}", path.display()))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<tensor_share::Error> for Error {
    fn from(error: tensor_share::Error) -> Self {
        Self::new(ErrorKind::Memory, error.to_string())
    }
}

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        Self::new(ErrorKind::Compute, error.to_string())
    }
}

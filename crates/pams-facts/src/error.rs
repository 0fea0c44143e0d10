//! What can go wrong.

use std::fmt;

/// Why facts or pictures could not be made.
///
/// [`kind`](Self::kind) is for programs, the text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Columns that belong together have different lengths.
    Lengths,
    /// A table of prices has no usable column or a cell that is no price.
    Prices,
    /// A picture could not be drawn.
    Drawing,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn drawing(cause: &impl fmt::Display) -> Self {
        Self::new(ErrorKind::Drawing, format!("the picture can't be drawn: {cause}"))
    }

    /// What kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

//! The forms that a table can have on disk.

mod csv;
mod json_lines;
mod parquet;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::table::{Column, TableSpec};

/// How the tables of a run folder are written.
///
/// ```
/// use pams_results::TableFormat;
///
/// assert_eq!("csv".parse(), Ok(TableFormat::Csv));
/// assert_eq!(TableFormat::default().to_string(), "parquet");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// Apache Parquet, in columns and compressed: small, and read fast by data frames.
    #[default]
    Parquet,
    /// Comma-separated values with a line of names. A value that is not there is empty.
    Csv,
    /// One JSON object a line. A value that is not there is null, as is a float that is not finite.
    #[serde(rename = "jsonl")]
    JsonLines,
}

impl TableFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Parquet, Self::Csv, Self::JsonLines];

    /// The name, which is also the ending of the files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }

    /// The name of a table's file.
    pub(crate) fn file_name(self, table: &str) -> String {
        format!("{table}.{self}")
    }

    pub(crate) fn encoder(self, spec: &TableSpec, file: File) -> io::Result<Box<dyn Encoder>> {
        Ok(match self {
            Self::Parquet => Box::new(parquet::Writer::new(spec, file)?),
            Self::Csv => Box::new(csv::Writer::new(spec, file)?),
            Self::JsonLines => Box::new(json_lines::Writer::new(spec, file)),
        })
    }

    pub(crate) fn decoder(self, spec: &TableSpec, path: &Path) -> io::Result<Box<dyn Decoder>> {
        let file = File::open(path)?;
        Ok(match self {
            Self::Parquet => Box::new(parquet::Reader::new(spec, file)?),
            Self::Csv => Box::new(csv::Reader::new(spec, file)?),
            Self::JsonLines => Box::new(json_lines::Reader::new(spec, file)),
        })
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for TableFormat {
    type Err = ParseTableFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| ParseTableFormatError(text.to_owned()))
    }
}

/// A text that is no [`TableFormat`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format `{0}` of tables; there are `parquet`, `csv` and `jsonl`")]
pub struct ParseTableFormatError(String);

/// Writes the rows of one table.
pub(crate) trait Encoder: Send {
    /// Writes some rows.
    fn write(&mut self, columns: &[Column]) -> io::Result<()>;

    /// Writes the end and gives the file back, for it to be synced.
    fn finish(self: Box<Self>) -> io::Result<File>;
}

/// Reads the rows of one table. What the file does not say as it should is an error of the kind
/// [`io::ErrorKind::InvalidData`].
pub(crate) trait Decoder {
    /// Appends the next rows to empty columns, and says how many; 0 at the end.
    fn read(&mut self, columns: &mut [Column]) -> io::Result<usize>;
}

/// The file does not say what it should.
fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

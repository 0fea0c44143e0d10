//! The first record in which two runs differ.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::folder::RunFolder;

/// The records and accounts of a run, as lines of a log.
pub type Lines = Box<dyn Iterator<Item = Result<String, Error>>>;

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// Every record and every account is equal.
    Equal {
        /// How many there are.
        entries: u64,
    },
    /// There is a difference.
    Different(Box<Difference>),
}

/// The first entry in which two runs differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The number of the entry, from 0.
    pub number: u64,
    /// The entries before it, which are equal; the oldest one first.
    pub before: Vec<String>,
    /// The entry of the first run; none when the run has ended.
    pub first: Option<String>,
    /// The entry of the second run; none when the run has ended.
    pub second: Option<String>,
    /// The fields that differ.
    pub fields: Vec<FieldDifference>,
}

/// A field of an entry in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The key.
    pub name: String,
    /// Its value in the first run as JSON; none if there is no such key.
    pub first: Option<String>,
    /// Its value in the second run as JSON; none if there is no such key.
    pub second: Option<String>,
}

/// The records and accounts that lie at `path`, a run folder or a log (`pams run --log`).
///
/// # Errors
///
/// When it can't be opened; the iterator errors when it can't be read.
pub fn lines_at(path: &Path) -> Result<Lines, Error> {
    if path.is_dir() {
        return Ok(Box::new(RunFolder::open(path)?.log_lines()?));
    }
    let file = File::open(path).map_err(|error| Error::read(path, error))?;
    let path = path.to_owned();
    let lines = BufReader::with_capacity(1 << 17, file).lines().enumerate();
    Ok(Box::new(lines.map(move |(index, line)| {
        let line = line.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Error::damaged(&path, "it is no text"),
            _ => Error::read(&path, error),
        })?;
        // Enough to tell a log from anything else; all of it is looked at where lines differ.
        if line.starts_with('{') && line.trim_end().ends_with('}') {
            return Ok(line);
        }
        let what = format!("line {} is no JSON object, so this is no log", index + 1);
        Err(Error::damaged(&path, what))
    })))
}

/// Compares two runs, entry by entry, up to the first difference, with `context` entries before it.
///
/// Entries are equal if their JSON values are: how a number is written does not matter.
///
/// ```
/// use pams_results::{Comparison, first_difference};
///
/// let run = |price: &str| {
///     let lines = [r#"{"type":"order","price":299.5}"#.to_owned(), price.to_owned()];
///     lines.into_iter().map(Ok::<_, pams_results::Error>)
/// };
/// let (first, second) = (run(r#"{"type":"step","price":300.0}"#), run(r#"{"type":"step","price":301.0}"#));
/// let Comparison::Different(found) = first_difference(first, second, 3)? else { panic!("they differ") };
/// assert_eq!(found.number, 1);
/// assert_eq!(found.fields[0].name, "price");
/// # Ok::<(), pams_results::Error>(())
/// ```
///
/// # Errors
///
/// When an entry can't be read.
pub fn first_difference(
    mut first: impl Iterator<Item = Result<String, Error>>,
    mut second: impl Iterator<Item = Result<String, Error>>,
    context: usize,
) -> Result<Comparison, Error> {
    let mut before = VecDeque::with_capacity(context + 1);
    for number in 0.. {
        let (one, other) = (first.next().transpose()?, second.next().transpose()?);
        match (&one, &other) {
            (None, None) => return Ok(Comparison::Equal { entries: number }),
            (Some(one), Some(other)) if are_equal(one, other) => {}
            _ => {
                let fields = differing_fields(one.as_deref(), other.as_deref());
                let before = before.into();
                let found = Difference { number, before, first: one, second: other, fields };
                return Ok(Comparison::Different(Box::new(found)));
            }
        }
        before.extend(one);
        if before.len() > context {
            before.pop_front();
        }
    }
    unreachable!("invariant: nobody has 2^64 records")
}

fn are_equal(first: &str, second: &str) -> bool {
    if first.trim_end() == second.trim_end() {
        return true;
    }
    let value = |text: &str| serde_json::from_str::<Json>(text).ok();
    matches!((value(first), value(second)), (Some(first), Some(second)) if first == second)
}

fn differing_fields(first: Option<&str>, second: Option<&str>) -> Vec<FieldDifference> {
    let object = |text: Option<&str>| -> Option<Map<String, Json>> {
        text.and_then(|text| serde_json::from_str(text).ok())
    };
    let (Some(first), Some(second)) = (object(first), object(second)) else { return Vec::new() };
    let added = second.keys().filter(|name| !first.contains_key(*name));
    let names = first.keys().chain(added);
    names
        .filter(|name| first.get(*name) != second.get(*name))
        .map(|name| FieldDifference {
            name: name.clone(),
            first: first.get(name).map(Json::to_string),
            second: second.get(name).map(Json::to_string),
        })
        .collect()
}

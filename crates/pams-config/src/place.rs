//! Where something stands in a config: the JSON path of a value and its place in the text.

use std::fmt;
use std::sync::Arc;

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// Where a value or a key stands.
#[derive(Clone, Debug, Default)]
pub struct Place {
    path: Path,
    offset: Option<usize>,
}

impl Place {
    /// The JSON path, such as `FCNAgents.orderMargin` or `simulation.sessions[1]`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn new(path: Path, offset: Option<usize>) -> Self {
        Self { path, offset }
    }

    /// The byte in the text, if the config was a text.
    pub(crate) fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// The place of something that is missing in the object at this place.
    pub(crate) fn missing(&self, key: &str) -> Self {
        Self { path: self.path.key(key), offset: self.offset }
    }
}

/// The JSON path of a value. Values share the paths of what contains them, so that a path costs one step however deep
/// it is.
#[derive(Clone, Default)]
pub struct Path(Option<Arc<Step>>);

struct Step {
    parent: Path,
    segment: Segment,
}

enum Segment {
    Key(Box<str>),
    Index(usize),
}

impl Path {
    /// The path of the value under `key` in the object at this path.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(Some(Arc::new(Step { parent: self.clone(), segment: Segment::Key(key.into()) })))
    }

    /// The path of the value at `index` in the array at this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(Some(Arc::new(Step { parent: self.clone(), segment: Segment::Index(index) })))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(step) = &self.0 else { return Ok(()) };
        step.parent.fmt(formatter)?;
        match &step.segment {
            Segment::Key(key) if is_plain(key) => {
                let dot = if step.parent.0.is_some() { "." } else { "" };
                write!(formatter, "{dot}{key}")
            }
            Segment::Key(key) => write!(formatter, "[{key:?}]"),
            Segment::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{self}`")
    }
}

/// Whether a key reads well in a path without quotes.
fn is_plain(key: &str) -> bool {
    let special =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '.' | '[' | ']' | '"' | '`');
    !key.is_empty() && !key.contains(special)
}

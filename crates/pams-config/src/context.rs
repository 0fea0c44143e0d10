//! What readers of values share: the mistakes found so far and the names that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::{ConfigError, Problem, Warning};
use crate::markets::Markets;
use crate::node::Node;
use crate::place::{Place, Position};

/// How unknown keys are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// An unknown key is an error. The default.
    #[default]
    Strict,
    /// An unknown key is a warning.
    Lenient,
}

/// How a config is read.
///
/// ```
/// use pams_config::{ReadOptions, Strictness};
///
/// let options = ReadOptions::from(Strictness::Lenient).folder("configs");
/// assert_eq!(options.strictness, Strictness::Lenient);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// How unknown keys are taken.
    pub strictness: Strictness,
    /// The folder from which relative paths in the config are meant; none for a config that is no
    /// file, whose paths are meant from where the program runs.
    pub folder: Option<PathBuf>,
}

impl ReadOptions {
    /// Sets the folder from which relative paths in the config are meant.
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }
}

impl From<Strictness> for ReadOptions {
    fn from(strictness: Strictness) -> Self {
        Self { strictness, folder: None }
    }
}

/// Collects the mistakes of a config while it is read.
///
/// Every reader goes on after a mistake, so that all of them are shown at once. The same mistake at the same place, which
/// several blocks may reach through `extends`, is kept once.
#[derive(Debug)]
pub struct Context {
    markets: Markets,
    options: ReadOptions,
    problems: Vec<Finding>,
    warnings: Vec<Finding>,
    seen: BTreeSet<(String, String)>,
    /// The paths of files that the config names, by the path of the key, joined with the folder.
    files: BTreeMap<String, String>,
}

/// A problem whose place is still a byte.
#[derive(Debug)]
struct Finding {
    path: String,
    offset: Option<usize>,
    message: String,
    help: Option<String>,
}

impl Context {
    pub(crate) fn new(options: ReadOptions) -> Self {
        Self {
            markets: Markets::default(),
            options,
            problems: Vec::new(),
            warnings: Vec::new(),
            seen: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }

    /// The markets of the config.
    #[must_use]
    pub fn markets(&self) -> &Markets {
        &self.markets
    }

    /// The folder from which relative paths in the config are meant; none when they are meant from
    /// where the program runs.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.options.folder.as_deref()
    }

    /// Notes what a path of a file means, for the config as it was understood.
    pub(crate) fn set_file(&mut self, place: &Place, file: &Path) {
        if let Some(file) = file.to_str() {
            self.files.insert(place.path().to_string(), file.to_owned());
        }
    }

    /// What the path of a file at a place means, if there is one.
    pub(crate) fn file(&self, place: &Place) -> Option<&str> {
        // Most configs name no file, and then no path need be written out.
        if self.files.is_empty() {
            return None;
        }
        self.files.get(&place.path().to_string()).map(String::as_str)
    }

    /// Reports a mistake.
    pub fn problem(&mut self, place: &Place, message: impl Into<String>) {
        self.report(place, message.into(), None);
    }

    /// Reports a mistake and what to do about it.
    pub fn problem_with_help(
        &mut self,
        place: &Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(place, message.into(), Some(help.into()));
    }

    /// Reports that a value is not what it should be, as in "expected a number, found the string "abc"". Gives `None`,
    /// what a reader answers then.
    pub fn expected<T>(&mut self, node: &Node, what: &str) -> Option<T> {
        self.report(node.place(), format!("expected {what}, found {}", node.describe()), None);
        None
    }

    /// Reports something that works but is probably not meant.
    pub fn warn(&mut self, place: &Place, message: impl Into<String>) {
        self.add(place, message.into(), None, Severity::Warning);
    }

    pub(crate) fn report(&mut self, place: &Place, message: String, help: Option<String>) {
        self.add(place, message, help, Severity::Problem);
    }

    /// Reports an unknown key, as severe as was asked for.
    pub(crate) fn unknown_key(&mut self, place: &Place, message: String, help: Option<String>) {
        let severity = match self.options.strictness {
            Strictness::Strict => Severity::Problem,
            Strictness::Lenient => Severity::Warning,
        };
        self.add(place, message, help, severity);
    }

    pub(crate) fn markets_mut(&mut self) -> &mut Markets {
        &mut self.markets
    }

    /// How many mistakes were found so far.
    pub(crate) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// The markets and warnings, or all mistakes. `text` turns bytes into lines and columns.
    pub(crate) fn finish(
        self,
        text: Option<&[u8]>,
    ) -> Result<(Markets, Vec<Warning>), ConfigError> {
        let warnings = locate(self.warnings, text);
        if self.problems.is_empty() {
            return Ok((self.markets, warnings));
        }
        Err(ConfigError::content(locate(self.problems, text), warnings))
    }

    fn add(&mut self, place: &Place, message: String, help: Option<String>, severity: Severity) {
        let path = place.path().to_string();
        if !self.seen.insert((path.clone(), message.clone())) {
            return;
        }
        let finding = Finding { path, offset: place.offset(), message, help };
        match severity {
            Severity::Problem => self.problems.push(finding),
            Severity::Warning => self.warnings.push(finding),
        }
    }
}

enum Severity {
    Problem,
    Warning,
}

/// A single problem at a place.
pub(crate) fn problem_at(
    place: &Place,
    message: String,
    help: Option<String>,
    text: Option<&[u8]>,
) -> Problem {
    let finding = Finding { path: place.path().to_string(), offset: place.offset(), message, help };
    locate(vec![finding], text).remove(0)
}

/// Orders findings by their place and counts lines and columns in one walk over the text.
fn locate(mut findings: Vec<Finding>, text: Option<&[u8]>) -> Vec<Problem> {
    findings.sort_by_key(|finding| finding.offset);
    let mut at = 0;
    let mut position = Position { line: 1, column: 1 };
    let locate_one = |finding: Finding| {
        let found = text.zip(finding.offset).map(|(text, offset)| {
            for byte in &text[at..offset] {
                match byte {
                    b'\n' => position = Position { line: position.line + 1, column: 1 },
                    // Bytes that continue a character are no column of their own.
                    0x80..=0xBF => {}
                    _ => position.column += 1,
                }
            }
            at = offset;
            position
        });
        Problem {
            path: finding.path,
            position: found,
            message: finding.message,
            help: finding.help,
        }
    };
    findings.into_iter().map(locate_one).collect()
}

//! What is wrong with a config.

use std::fmt;

use crate::place::Position;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The JSON path of the key, such as `FCNAgents.orderMargin`; empty when the whole text is meant.
    pub path: String,
    /// Where it stands in the text, if the config was a text.
    pub position: Option<Position>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// Something that works but is probably not what was meant.
pub type Warning = Problem;

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)?;
        if let Some(position) = self.position {
            write!(formatter, " ({position})")?;
        }
        if let Some(help) = &self.help {
            write!(formatter, "; {help}")?;
        }
        Ok(())
    }
}

/// A config that cannot be used, with all its mistakes.
///
/// The mistakes stand in the order of the text. Its text has one line for each, `path: message (line, column); help`,
/// so that it can be shown as it is; who shows the config itself takes the positions from [`problems`](Self::problems).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
    is_syntax: bool,
}

impl ConfigError {
    /// The mistakes; there is at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What was noticed besides.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether the text is no JSON at all, so that nothing else was looked at.
    #[must_use]
    pub fn is_syntax(&self) -> bool {
        self.is_syntax
    }

    pub(crate) fn syntax(problem: Problem) -> Self {
        Self { problems: vec![problem], warnings: Vec::new(), is_syntax: true }
    }

    pub(crate) fn content(problems: Vec<Problem>, warnings: Vec<Warning>) -> Self {
        Self { problems, warnings, is_syntax: false }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            problem.fmt(formatter)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

//! What this crate has to be told about classes.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::block::{Block, ConfigBlock};

/// What a class makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassKind {
    /// Markets.
    Market,
    /// Agents.
    Agent,
    /// Events.
    Event,
}

impl ClassKind {
    /// The three kinds.
    pub const ALL: [Self; 3] = [Self::Market, Self::Agent, Self::Event];
}

impl fmt::Display for ClassKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Market => "market",
            Self::Agent => "agent",
            Self::Event => "event",
        })
    }
}

/// A class's own settings, as the class reads them: the [`ConfigBlock`] behind a pointer that anyone can hold.
pub type ClassSettings = Arc<dyn Any + Send + Sync>;

/// The classes that a config may name, and how their own keys are read.
///
/// This crate knows no class; it knows what is common to all markets, agents and events, and asks for the rest.
///
/// `class_names`, `read` and `schema` are required. `is_index` is overridden where an index market has another class name
/// than `IndexMarket`. `read` is only called with names that `class_names` lists.
pub trait ClassCatalog {
    /// The names of the classes of a kind, in the order in which they are to be shown.
    fn class_names(&self, kind: ClassKind) -> Vec<String>;

    /// Reads a class's own keys, usually with [`read_settings`]. Answers `None` when a mistake was reported to `block`.
    /// Every key of the class has to be asked for, also after a mistake: a key that nobody asks for is unknown.
    fn read(&self, kind: ClassKind, class: &str, block: &mut Block<'_>) -> Option<ClassSettings>;

    /// The JSON Schema of an object with the class's own keys, usually [`ConfigBlock::schema`].
    fn schema(&self, kind: ClassKind, class: &str) -> Json;

    /// Whether a market class is an index: its group has `markets`, the components.
    fn is_index(&self, class: &str) -> bool {
        class == "IndexMarket"
    }
}

/// Reads a class's settings that are declared with [`config_block!`](crate::config_block).
pub fn read_settings<B: ConfigBlock>(block: &mut Block<'_>) -> Option<ClassSettings> {
    B::read(block).map(|settings| Arc::new(settings) as ClassSettings)
}

/// The settings of a class that has no keys of its own.
#[must_use]
pub fn no_settings() -> ClassSettings {
    Arc::new(())
}

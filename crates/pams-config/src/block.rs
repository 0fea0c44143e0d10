//! Reading the keys of one object.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use pams_core::MarketId;
use serde_json::{Map, Value as Json};

use crate::context::Context;
use crate::markets::Markets;
use crate::nearest::suggest;
use crate::node::{Member, Members, Node};
use crate::place::Place;
use crate::value::ConfigValue;

/// Keys that are notes to the reader of a config, as a regular expression.
pub(crate) const NOTE_PATTERN: &str = "^(MEMO|_|//|comment)";

/// Whether a key is a note to the reader of a config.
pub(crate) fn is_note(key: &str) -> bool {
    ["MEMO", "_", "//", "comment"].iter().any(|start| key.starts_with(start))
}

/// A set of keys that belong together, usually declared with [`config_block!`](crate::config_block).
pub trait ConfigBlock: Sized + Send + Sync + 'static {
    /// Reads the keys; `None` when a mistake was reported to `block`. All keys are asked for, also after a mistake.
    fn read(block: &mut Block<'_>) -> Option<Self>;

    /// The JSON Schema of an object with these keys.
    fn schema() -> Json;

    /// The keys that may be given.
    fn keys() -> &'static [&'static str];
}

/// The keys of one block of a config, with what it inherits through `extends`, while they are read.
///
/// A key that was asked for is known, whether it is there or not; when all readers are done, the others are unknown.
#[derive(Debug)]
pub struct Block<'a> {
    place: Place,
    fields: &'a Fields<'a>,
    known: BTreeSet<String>,
    /// The market groups that the block's agents can trade in, once they are known.
    accessible: Option<Vec<usize>>,
    context: &'a mut Context,
}

/// The keys of an object, or of several that extend each other. Each knows where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'t>(pub(crate) IndexMap<&'t str, &'t Member>);

impl<'t> Fields<'t> {
    /// The keys of one object.
    pub(crate) fn of(members: &'t Members) -> Self {
        Self(members.0.iter().map(|(key, member)| (key.as_str(), member)).collect())
    }
}

impl<'a> Block<'a> {
    pub(crate) fn new(place: Place, fields: &'a Fields<'a>, context: &'a mut Context) -> Self {
        Self { place, fields, known: BTreeSet::new(), accessible: None, context }
    }

    /// Reads a key. A missing one is a mistake, unless the type has a value for that, as [`Option`] has.
    pub fn value<T: ConfigValue>(&mut self, key: &str) -> Option<T> {
        self.known.insert(key.to_owned());
        if let Some(member) = self.fields.0.get(key) {
            return T::read(&member.node, self.context);
        }
        let value = T::when_missing();
        if value.is_none() {
            self.context.problem(&self.place.missing(key), "this key is required");
        }
        value
    }

    /// Reads a key that has a default.
    pub fn value_or<T: ConfigValue>(
        &mut self,
        key: &str,
        default: impl FnOnce() -> T,
    ) -> Option<T> {
        match self.value::<Option<T>>(key)? {
            Some(value) => Some(value),
            None => Some(default()),
        }
    }

    /// A key that is accepted and has no effect: a warning that ends in `why`.
    pub fn deprecated(&mut self, key: &str, why: &str) {
        self.known.insert(key.to_owned());
        if self.contains(key) {
            self.warn(key, format!("this key has no effect: {why}"));
        }
    }

    /// A key that is an error with a sentence of its own.
    pub fn refused(&mut self, key: &str, sentence: &str) {
        self.known.insert(key.to_owned());
        if self.contains(key) {
            self.problem(key, sentence);
        }
    }

    /// Whether a key is given.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.fields.0.contains_key(key)
    }

    /// Reports a mistake in the value of a key.
    pub fn problem(&mut self, key: &str, message: impl Into<String>) {
        let place = self.place_of(key);
        self.context.problem(&place, message);
    }

    /// Reports a mistake in the value of a key, and what to do about it.
    pub fn problem_with_help(
        &mut self,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place_of(key);
        self.context.problem_with_help(&place, message, help);
    }

    /// Reports that a key works but is probably not meant.
    pub fn warn(&mut self, key: &str, message: impl Into<String>) {
        let place = self.place_of(key);
        self.context.warn(&place, message);
    }

    /// Where a key's value stands; for a missing key, where it should.
    #[must_use]
    pub fn place_of(&self, key: &str) -> Place {
        match self.fields.0.get(key) {
            Some(member) => member.node.place().clone(),
            None => self.place.missing(key),
        }
    }

    /// Where the block itself stands.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The markets of the config.
    #[must_use]
    pub fn markets(&self) -> &Markets {
        self.context.markets()
    }

    /// The markets that the agents of this block can trade in, in the order of their `markets`. `None` for other blocks,
    /// and when the block's `markets` are wrong, which was reported.
    #[must_use]
    pub fn accessible_markets(&self) -> Option<Vec<MarketId>> {
        let groups = self.accessible.as_ref()?.iter().map(|group| &self.markets().groups()[*group]);
        Some(
            groups
                .flat_map(|entry| {
                    (entry.first..entry.first + entry.names.len()).map(MarketId::from_index)
                })
                .collect(),
        )
    }

    /// Whether the agents of this block can trade in a market. True for other blocks, and when the block's `markets` are
    /// wrong, so that one mistake does not look like two.
    #[must_use]
    pub fn can_access(&self, market: MarketId) -> bool {
        self.accessible
            .as_ref()
            .is_none_or(|groups| groups.contains(&self.markets().group_of(market)))
    }

    /// What is shared with the readers of values.
    pub fn context(&mut self) -> &mut Context {
        self.context
    }

    /// How many mistakes were reported so far, in the whole config: a reader that sees it grow knows that it failed.
    #[must_use]
    pub fn problem_count(&self) -> usize {
        self.context.problem_count()
    }

    pub(crate) fn set_accessible(&mut self, groups: Option<Vec<usize>>) {
        self.accessible = groups;
    }

    /// Marks keys as known that were read before.
    pub(crate) fn know(&mut self, keys: &[&str]) {
        self.known.extend(keys.iter().map(|key| (*key).to_owned()));
    }

    /// Reports the keys that nobody asked for. `hints` say more about some.
    pub(crate) fn report_unknown(&mut self, hints: &BTreeMap<&str, String>) {
        for (key, member) in &self.fields.0 {
            if self.known.contains(*key) || is_note(key) {
                continue;
            }
            let known = self.known.iter().map(String::as_str);
            let help = hints.get(key).cloned().or_else(|| suggest(key, known));
            self.context.unknown_key(&member.key, "unknown key".to_owned(), help);
        }
    }

    /// The keys as plain JSON, without notes. Paths of files are as they were resolved.
    pub(crate) fn resolved(&self) -> Map<String, Json> {
        let given = self.fields.0.iter();
        let kept = given.filter(|(key, _)| self.known.contains(**key) || !is_note(key));
        let file = |node: &Node| self.context.file(node.place()).map(str::to_owned);
        kept.map(|(key, member)| ((*key).to_owned(), member.node.to_json_with(&file))).collect()
    }
}

//! Which markets there are, by name and by id, for whoever refers to one.

use std::collections::{BTreeMap, BTreeSet};

use pams_core::MarketId;

use crate::names::{Clash, NameTable, Names, is_number_start};
use crate::nearest::{list, nearest};

/// The markets of a config.
///
/// Names and ids are known from the start. What a market's own keys say ([`components`](Self::components),
/// [`outstanding_shares`](Self::outstanding_shares)) is known once its group was read: always for agents and events, for
/// markets of earlier groups only while markets are read.
#[derive(Clone, Debug, Default)]
pub struct Markets {
    groups: Vec<MarketEntry>,
    table: NameTable,
    len: usize,
    by_block: BTreeMap<String, usize>,
    /// Groups that could not be opened, and what they probably meant: their instances are not reported again.
    unresolved: BTreeSet<String>,
    /// The list of groups could not be read, so that no name can be called wrong.
    is_unlisted: bool,
}

/// What is known of a market group.
#[derive(Clone, Debug)]
pub(crate) struct MarketEntry {
    pub(crate) block: String,
    pub(crate) names: Names,
    pub(crate) first: usize,
    pub(crate) is_index: bool,
    pub(crate) components: Vec<MarketId>,
    pub(crate) outstanding_shares: Option<u64>,
    /// None until it was read.
    pub(crate) volatility: Option<f64>,
}

/// Why a name is no market.
pub(crate) struct Unknown {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Markets {
    /// How many markets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The market with this instance name.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<MarketId> {
        let (group, index) = self.table.find(name)?;
        Some(MarketId::from_index(self.groups[group].first + index))
    }

    /// The name of a market.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    #[must_use]
    pub fn name(&self, id: MarketId) -> String {
        let entry = self.entry(id);
        entry.names.name(id.index() - entry.first)
    }

    /// Whether a market is an index.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    #[must_use]
    pub fn is_index(&self, id: MarketId) -> bool {
        self.entry(id).is_index
    }

    /// The components of an index, in the order of its list; empty for any other market.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    #[must_use]
    pub fn components(&self, id: MarketId) -> &[MarketId] {
        &self.entry(id).components
    }

    /// The outstanding shares of a market, if it has any.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    #[must_use]
    pub fn outstanding_shares(&self, id: MarketId) -> Option<u64> {
        self.entry(id).outstanding_shares
    }

    pub(crate) fn groups(&self) -> &[MarketEntry] {
        &self.groups
    }

    pub(crate) fn group_mut(&mut self, group: usize) -> &mut MarketEntry {
        &mut self.groups[group]
    }

    /// The name of a group's block.
    pub(crate) fn block(&self, group: usize) -> &str {
        &self.groups[group].block
    }

    /// The names of all groups' blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &str> + Clone {
        self.groups.iter().map(|entry| entry.block.as_str())
    }

    pub(crate) fn group_of_block(&self, block: &str) -> Option<usize> {
        self.by_block.get(block).copied()
    }

    /// The number of the group that a market belongs to.
    pub(crate) fn group_of(&self, id: MarketId) -> usize {
        let after = self.groups.partition_point(|entry| entry.first <= id.index());
        let group = self.groups[..after]
            .iter()
            .rposition(|entry| id.index() < entry.first + entry.names.len());
        group.expect("invariant: ids are only made for markets that exist")
    }

    pub(crate) fn entry(&self, id: MarketId) -> &MarketEntry {
        &self.groups[self.group_of(id)]
    }

    /// Adds a group; the first clash of names with an earlier one comes back.
    pub(crate) fn add(&mut self, block: &str, names: Names, is_index: bool) -> Option<Clash> {
        self.by_block.insert(block.to_owned(), self.groups.len());
        let entry = MarketEntry {
            block: block.to_owned(),
            names: names.clone(),
            first: self.len,
            is_index,
            components: Vec::new(),
            outstanding_shares: None,
            volatility: None,
        };
        self.len += names.len();
        self.groups.push(entry);
        self.table.add(names)
    }

    pub(crate) fn add_unresolved(&mut self, name: String) {
        self.unresolved.insert(name);
    }

    pub(crate) fn set_unlisted(&mut self) {
        self.is_unlisted = true;
    }

    pub(crate) fn is_unresolved(&self, name: &str) -> bool {
        let is_instance_of =
            |missing: &String| name.strip_prefix(missing.as_str()).is_some_and(is_number_start);
        self.is_unlisted || self.unresolved.iter().any(is_instance_of)
    }

    /// Finds an instance name, or says why there is none. `Err(None)` when that is another mistake's fault.
    pub(crate) fn resolve(&self, name: &str) -> Result<MarketId, Option<Unknown>> {
        if let Some(id) = self.id(name) {
            return Ok(id);
        }
        if self.is_unresolved(name) {
            return Err(None);
        }
        if let Some(group) = self.group_of_block(name) {
            let entry = &self.groups[group];
            let n = entry.names.len();
            let message = match n {
                0 => format!("the group `{name}` makes no markets"),
                1 => format!("`{name}` is the name of a group, not of a market"),
                _ => format!("`{name}` is ambiguous: the group has {n} markets"),
            };
            let help =
                (n > 0).then(|| format!("name one of its markets: {}", entry.names.describe()));
            return Err(Some(Unknown { message, help }));
        }
        Err(Some(Unknown {
            message: format!("there is no market named `{name}`"),
            help: self.suggest(name),
        }))
    }

    fn suggest(&self, name: &str) -> Option<String> {
        const MOST: usize = 1000;
        let names: Vec<String> =
            self.groups.iter().flat_map(|entry| entry.names.iter()).take(MOST).collect();
        if let Some(best) = nearest(name, names.iter().map(String::as_str)) {
            return Some(format!("did you mean `{best}`?"));
        }
        list(names.iter().map(String::as_str))
    }
}

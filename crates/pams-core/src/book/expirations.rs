//! Which orders leave a book when.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::ids::OrderId;
use crate::quantity::Step;

/// How many steps ahead the lists stand in a row, so that one is found without a search. Orders
/// that live longer are rare enough to be looked up.
const NEAR: u64 = 1024;

/// Lists of orders by the step at which they are gone, each in the order of placement. Orders that
/// die earlier stay in their list; whoever takes it skips them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Expirations {
    now: Step,
    /// Entry i belongs to the step `now + 1 + i`.
    near: VecDeque<Vec<OrderId>>,
    far: BTreeMap<Step, Vec<OrderId>>,
    /// Emptied lists, kept for their memory.
    #[serde(skip)]
    spare: Vec<Vec<OrderId>>,
}

impl PartialEq for Expirations {
    fn eq(&self, other: &Self) -> bool {
        self.now == other.now && self.near == other.near && self.far == other.far
    }
}

impl Expirations {
    pub(super) fn new() -> Self {
        Self {
            now: Step::BEFORE_START,
            near: VecDeque::new(),
            far: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// Adds an order that is gone at a future step.
    pub(super) fn add(&mut self, gone_at: Step, id: OrderId) {
        let ahead = usize::try_from(gone_at.0.saturating_sub(self.now.0) - 1).unwrap_or(usize::MAX);
        if ahead as u64 >= NEAR {
            self.far.entry(gone_at).or_default().push(id);
            return;
        }
        while self.near.len() <= ahead {
            self.near.push_back(self.spare.pop().unwrap_or_default());
        }
        self.near[ahead].push(id);
    }

    /// Moves towards `until`, unless it is reached, and gives the orders that are gone at the step
    /// that it comes to: those that were added with a long life first, which were placed before the
    /// others.
    pub(super) fn next(&mut self, until: Step) -> Option<Vec<OrderId>> {
        if self.now >= until {
            return None;
        }
        self.now = if self.near.is_empty() {
            // Nothing happens before the first of the far ones.
            self.far.first_key_value().map_or(until, |(&step, _)| step.min(until))
        } else {
            self.now.next()
        };
        let near = self.near.pop_front().or_else(|| self.spare.pop()).unwrap_or_default();
        match self.far.first_entry() {
            Some(entry) if *entry.key() <= self.now => {
                let mut ids = entry.remove();
                ids.extend_from_slice(&near);
                self.give_back(near);
                Some(ids)
            }
            _ => Some(near),
        }
    }

    /// Takes the memory of a list back.
    pub(super) fn give_back(&mut self, mut ids: Vec<OrderId>) {
        ids.clear();
        self.spare.push(ids);
    }
}

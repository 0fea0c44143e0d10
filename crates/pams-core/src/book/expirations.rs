//! Which orders leave a book when.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::orders::{Orders, Row};
use super::queue::{Chain, Links};
use crate::quantity::Step;

/// How many steps ahead the chains stand in a row, so that one is found without a search. Orders
/// that live longer are rare enough to be looked up.
const NEAR: u64 = 1024;

/// The row of chains grows by so many at least, so that it has to grow seldom.
const ROOM: usize = 64;

/// Resting orders by the step at which they are gone, each chain in the order of placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Expirations {
    now: Step,
    /// Entry i belongs to the step `now + 1 + i`.
    near: VecDeque<Chain>,
    /// Orders that were placed more than [`NEAR`] steps before they are gone. They stay here when
    /// that step comes near.
    far: BTreeMap<Step, Chain>,
}

impl Expirations {
    pub(super) fn new() -> Self {
        Self { now: Step::BEFORE_START, near: VecDeque::new(), far: BTreeMap::new() }
    }

    /// The step up to which orders have expired.
    pub(super) fn now(&self) -> Step {
        self.now
    }

    /// Adds an order that is gone at a future step.
    pub(super) fn add(&mut self, orders: &mut Orders, gone_at: Step, slot: u32) {
        let chain = if is_near(&orders[slot], gone_at) {
            let index = self.index(gone_at);
            if index >= self.near.len() {
                self.near.resize((index | (ROOM - 1)) + 1, Chain::default());
            }
            &mut self.near[index]
        } else {
            self.far.entry(gone_at).or_default()
        };
        chain.append(orders, slot, links);
    }

    /// Takes an order out that leaves the book before its time is over, or when it is.
    pub(super) fn remove(&mut self, orders: &mut Orders, gone_at: Step, slot: u32) {
        if is_near(&orders[slot], gone_at) {
            let index = self.index(gone_at);
            self.near[index].remove(orders, slot, links);
        } else if let Some(chain) = self.far.get_mut(&gone_at) {
            chain.remove(orders, slot, links);
            if chain.is_empty() {
                self.far.remove(&gone_at);
            }
        }
    }

    /// Moves towards `until`, unless it is reached, and gives the orders that are gone at the step
    /// that it comes to: the head of the chain of those placed long before, then that of the
    /// others. Nobody's place in a chain matters any more.
    pub(super) fn next(&mut self, until: Step) -> Option<[Chain; 2]> {
        if self.now >= until {
            return None;
        }
        self.now = if self.near.is_empty() {
            // Nothing happens before the first of the far ones.
            self.far.first_key_value().map_or(until, |(&step, _)| step.min(until))
        } else {
            self.now.next()
        };
        let near = self.near.pop_front().unwrap_or_default();
        let far = match self.far.first_entry() {
            Some(entry) if *entry.key() <= self.now => entry.remove(),
            _ => Chain::default(),
        };
        Some([far, near])
    }

    fn index(&self, gone_at: Step) -> usize {
        usize::try_from(gone_at.0 - self.now.0 - 1).expect("invariant: it is a step to come")
    }
}

/// Whether an order is among the near ones. That is decided once, when it is placed.
fn is_near(row: &Row, gone_at: Step) -> bool {
    gone_at.0.abs_diff(row.placed_at().0) <= NEAR
}

fn links(row: &mut Row) -> &mut Links {
    &mut row.of_step
}

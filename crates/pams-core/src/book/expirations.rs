//! Which orders leave a book when.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::BookOrder;
use super::queue::{Chain, Links, Orders};
use crate::ids::OrderId;
use crate::quantity::Step;

/// How many steps ahead the chains stand in a row, so that one is found without a search. Orders
/// that live longer are rare enough to be looked up.
const NEAR: u64 = 1024;

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

    /// Adds an order of the table that is gone at a future step.
    pub(super) fn add(&mut self, orders: &mut Orders, gone_at: Step, id: OrderId) {
        let chain = match near_index(orders[id.0].placed_at, gone_at) {
            None => self.far.entry(gone_at).or_default(),
            Some(_) => {
                let index = self.index(gone_at);
                while self.near.len() <= index {
                    self.near.push_back(Chain::default());
                }
                &mut self.near[index]
            }
        };
        chain.append(orders, id, links);
    }

    /// Takes an order out that leaves the book before its time is over, or when it is.
    pub(super) fn remove(&mut self, orders: &mut Orders, gone_at: Step, id: OrderId) {
        if near_index(orders[id.0].placed_at, gone_at).is_some() {
            let index = self.index(gone_at);
            self.near[index].remove(orders, id, links);
        } else if let Some(chain) = self.far.get_mut(&gone_at) {
            chain.remove(orders, id, links);
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
fn near_index(placed_at: Step, gone_at: Step) -> Option<u64> {
    let ahead = gone_at.0.abs_diff(placed_at.0);
    (ahead <= NEAR).then_some(ahead)
}

fn links(order: &mut BookOrder) -> &mut Links {
    &mut order.of_step
}

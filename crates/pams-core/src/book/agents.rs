//! Each agent's resting orders, oldest first.
//!
//! A table with open addressing, because an agent is looked up whenever an order comes or goes. An
//! agent that has no orders any more keeps its place until the table grows, so nothing is ever
//! taken out of the middle.

use serde::{Deserialize, Serialize};

use super::orders::{Orders, Row};
use super::queue::{Chain, Links, NONE};
use crate::ids::AgentId;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Entry {
    agent: Option<AgentId>,
    orders: Chain,
}

/// See the module. Never iterated, so that its layout reaches no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentOrders {
    /// A power of two of entries, at most half of them with an agent.
    entries: Vec<Entry>,
    /// How far a spread id is shifted to be less than the number of entries.
    shift: u32,
    n_agents: usize,
}

impl AgentOrders {
    /// How many entries there are at first.
    const FIRST: usize = 64;

    pub(super) fn new() -> Self {
        let entries = vec![Entry::default(); Self::FIRST];
        Self { entries, shift: u32::BITS - Self::FIRST.ilog2(), n_agents: 0 }
    }

    /// The oldest resting order of an agent.
    pub(super) fn first(&self, agent: AgentId) -> u32 {
        let entry = &self.entries[self.place(agent)];
        if entry.agent.is_some() { entry.orders.head } else { NONE }
    }

    /// Adds an order behind all others of its agent.
    pub(super) fn append(&mut self, orders: &mut Orders, slot: u32) {
        let agent = orders[slot].agent;
        let mut place = self.place(agent);
        if self.entries[place].agent.is_none() {
            if self.n_agents >= self.entries.len() / 2 {
                self.make_room();
                place = self.place(agent);
            }
            self.entries[place].agent = Some(agent);
            self.n_agents += 1;
        }
        self.entries[place].orders.append(orders, slot, of_agent);
    }

    /// Takes out an order that was added.
    pub(super) fn remove(&mut self, orders: &mut Orders, slot: u32) {
        let place = self.place(orders[slot].agent);
        self.entries[place].orders.remove(orders, slot, of_agent);
    }

    /// Where an agent is, or where it would be added.
    #[inline]
    fn place(&self, agent: AgentId) -> usize {
        /// 2³² over the golden ratio: neighbouring ids end up far from each other.
        const SPREAD: u32 = 0x9e37_79b9;
        let last = self.entries.len() - 1;
        let mut place = (agent.0.wrapping_mul(SPREAD) >> self.shift) as usize;
        while self.entries[place].agent.is_some_and(|there| there != agent) {
            place = (place + 1) & last;
        }
        place
    }

    #[cold]
    fn make_room(&mut self) {
        let busy = |entry: &Entry| !entry.orders.is_empty();
        let n_busy = self.entries.iter().filter(|entry| busy(entry)).count();
        let length = (4 * n_busy).next_power_of_two().max(Self::FIRST);
        self.shift = u32::BITS - length.ilog2();
        let entries = std::mem::replace(&mut self.entries, vec![Entry::default(); length]);
        for entry in entries.into_iter().filter(busy) {
            let agent = entry.agent.expect("invariant: orders have an agent");
            let place = self.place(agent);
            self.entries[place] = entry;
        }
        self.n_agents = n_busy;
    }
}

fn of_agent(row: &mut Row) -> &mut Links {
    &mut row.of_agent
}

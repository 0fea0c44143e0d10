//! All orders that a book knows, and where they are by id.
//!
//! An order stands in a slot of a slab. Slots of forgotten orders are used again, so the slab is as
//! long as the most orders that were known at once, however many were ever placed. Ids count all
//! orders, so they are no slots; a ring finds the slot of an id, and the id that is written in the
//! slot says whether it is still that order.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::queue::{Links, NONE};
use super::{BookOrder, NewOrder, OrderState};
use crate::ids::{AgentId, OrderId};
use crate::order::Side;
use crate::quantity::{Step, Tick, Volume};

/// Room for orders from the start, so that short runs never move them. Memory that is not touched
/// costs nothing.
const FIRST: usize = 1024;

/// Stands for the level of a market order. No tick is as far from zero.
const NO_TICK: i64 = i64::MIN;

/// An order in its slot: [`BookOrder`] without gaps, and the order's place in its lists.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) id: OrderId,
    tick: i64,
    pub(super) volume: Volume,
    placed_at: Step,
    time_to_live: u64,
    pub(super) agent: AgentId,
    /// Where its level is in the side's table; nothing for a market order.
    pub(super) level: u32,
    pub(super) at_level: Links,
    pub(super) of_agent: Links,
    pub(super) of_step: Links,
    pub(super) side: Side,
    pub(super) state: OrderState,
    expires: bool,
}

impl Row {
    fn new(id: OrderId, new: &NewOrder) -> Self {
        Self {
            id,
            tick: new.tick.map_or(NO_TICK, |tick| tick.0),
            volume: new.volume,
            placed_at: new.placed_at,
            time_to_live: new.time_to_live.unwrap_or(0),
            agent: new.agent,
            level: NONE,
            at_level: Links::default(),
            of_agent: Links::default(),
            of_step: Links::default(),
            side: new.side,
            state: OrderState::Resting,
            expires: new.time_to_live.is_some(),
        }
    }

    /// The order's level, none for a market order.
    #[inline]
    pub(super) fn tick(&self) -> Option<Tick> {
        (self.tick != NO_TICK).then_some(Tick(self.tick))
    }

    pub(super) fn placed_at(&self) -> Step {
        self.placed_at
    }

    /// The first step at which the order is gone, none when it never expires.
    #[inline]
    pub(super) fn gone_at(&self) -> Option<Step> {
        let last = self.placed_at.saturating_add(self.time_to_live);
        self.expires.then(|| last.saturating_add(1))
    }

    #[inline]
    pub(super) fn order(&self) -> BookOrder {
        BookOrder {
            agent: self.agent,
            side: self.side,
            state: self.state,
            tick: self.tick(),
            volume: self.volume,
            placed_at: self.placed_at,
            time_to_live: self.expires.then_some(self.time_to_live),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Orders {
    rows: Vec<Row>,
    /// The first free slot; each names the next one in its `of_step`.
    free: u32,
    n_known: usize,
    next_id: OrderId,
    ids: Ids,
}

impl Orders {
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::with_capacity(FIRST),
            free: NONE,
            n_known: 0,
            next_id: OrderId(0),
            ids: Ids::new(),
        }
    }

    /// The id that the next order will get.
    pub(super) fn next_id(&self) -> OrderId {
        self.next_id
    }

    /// Takes an order in and returns its slot.
    pub(super) fn place(&mut self, new: &NewOrder) -> u32 {
        let id = self.next_id;
        let row = Row::new(id, new);
        let slot = if self.free == NONE {
            let slot = u32::try_from(self.rows.len()).ok().filter(|&slot| slot != NONE);
            self.rows.push(row);
            slot.expect("a book knows less than 2^32 orders at once")
        } else {
            let slot = self.free;
            self.free = self[slot].of_step.next;
            self[slot] = row;
            slot
        };
        self.ids.insert(id, slot, &self.rows, self.n_known);
        self.n_known += 1;
        self.next_id = OrderId(id.0 + 1);
        slot
    }

    /// The slot of an order; none when there never was one or it is forgotten.
    #[inline]
    pub(super) fn find(&self, id: OrderId) -> Option<u32> {
        self.ids.find(id, &self.rows)
    }

    /// The order in a slot; none for [`NONE`].
    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Row> {
        self.rows.get_mut(slot as usize)
    }

    /// Makes a slot free.
    pub(super) fn forget(&mut self, slot: u32) {
        self.ids.remove(self[slot].id, slot);
        self[slot].of_step.next = self.free;
        self.free = slot;
        self.n_known -= 1;
    }
}

impl Index<u32> for Orders {
    type Output = Row;
    #[inline]
    fn index(&self, slot: u32) -> &Row {
        &self.rows[slot as usize]
    }
}

impl IndexMut<u32> for Orders {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Row {
        &mut self.rows[slot as usize]
    }
}

/// Slots by id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Ids {
    /// The slot of an order is at its id, counted around the ring, whose length is a power of two.
    ring: Vec<u32>,
    /// Orders so old that a younger one has their place on the ring. Never iterated.
    old: FxHashMap<OrderId, u32>,
}

impl Ids {
    /// How long the ring is at first.
    const FIRST: usize = 256;

    fn new() -> Self {
        Self { ring: vec![NONE; Self::FIRST], old: FxHashMap::default() }
    }

    fn insert(&mut self, id: OrderId, slot: u32, rows: &[Row], n_known: usize) {
        let mut place = self.place(id);
        if self.ring[place] != NONE && n_known > self.ring.len() / 2 {
            self.grow(rows);
            place = self.place(id);
        }
        let there = self.ring[place];
        if there != NONE {
            self.old.insert(rows[there as usize].id, there);
        }
        self.ring[place] = slot;
    }

    #[inline]
    fn find(&self, id: OrderId, rows: &[Row]) -> Option<u32> {
        let slot = self.ring[self.place(id)];
        if rows.get(slot as usize).is_some_and(|row| row.id == id) {
            return Some(slot);
        }
        if self.old.is_empty() { None } else { self.old.get(&id).copied() }
    }

    fn remove(&mut self, id: OrderId, slot: u32) {
        let place = self.place(id);
        if self.ring[place] == slot {
            self.ring[place] = NONE;
        } else {
            self.old.remove(&id);
        }
    }

    #[cold]
    fn grow(&mut self, rows: &[Row]) {
        let longer = vec![NONE; self.ring.len() * 2];
        for slot in std::mem::replace(&mut self.ring, longer) {
            if slot != NONE {
                let place = self.place(rows[slot as usize].id);
                self.ring[place] = slot;
            }
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "less than the length of the ring")]
    fn place(&self, id: OrderId) -> usize {
        (id.0 & (self.ring.len() as u64 - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> NewOrder {
        NewOrder {
            agent: AgentId(0),
            side: Side::Buy,
            tick: None,
            volume: Volume(1),
            placed_at: Step(0),
            time_to_live: None,
        }
    }

    #[test]
    fn an_old_order_is_found_and_costs_no_memory() {
        let mut orders = Orders::new();
        let old: Vec<u32> = (0..3).map(|_| orders.place(&order())).collect();
        for n in 3..100_000 {
            let slot = orders.place(&order());
            assert_eq!(orders.find(OrderId(n)), Some(slot));
            orders.forget(slot);
            assert_eq!(orders.find(OrderId(n)), None);
        }
        for (id, slot) in (0..).zip(old) {
            assert_eq!(orders.find(OrderId(id)), Some(slot));
            orders.forget(slot);
            assert_eq!(orders.find(OrderId(id)), None);
        }
        assert_eq!(orders.rows.len(), 4);
        assert_eq!(orders.ids.ring.len(), Ids::FIRST);
        assert!(orders.ids.old.is_empty());
    }

    #[test]
    fn orders_that_are_all_known_are_all_found() {
        let mut orders = Orders::new();
        let slots: Vec<u32> = (0..10_000).map(|_| orders.place(&order())).collect();
        for (id, slot) in (0..).zip(slots) {
            assert_eq!(orders.find(OrderId(id)), Some(slot));
        }
        assert_eq!(orders.find(OrderId(10_000)), None);
        assert!(orders.ids.old.is_empty(), "a ring that grows has room for all");
    }
}

//! The order book of one market: who waits at which price, in price-time priority.
//!
//! Levels are keyed by integer tick, so two prices that differ only in rounding share a level.
//! Orders at a level form a linked list through the order table, so that a cancel, a fill or an
//! expiration takes an order out of the middle without searching and without disturbing anybody's
//! place. Market orders stand in a queue of their own before all levels. The book decides nothing:
//! when orders trade is the business of [`crate::market`].
//!
//! | operation | cost |
//! |---|---|
//! | place | O(log levels) |
//! | cancel, fill, best price | O(1), O(log levels) when a level appears or disappears |
//! | expire | O(orders that expire) |
//! | total volumes | O(1) |

mod expirations;
mod queue;
mod side;

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, OrderId};
use crate::order::Side;
use crate::quantity::{Step, Tick, Volume};
use crate::window::Window;
use expirations::Expirations;
use queue::{Chain, Links, NONE, Orders};
use side::SideBook;

/// One level of one side as it is seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The price as a number of ticks.
    pub tick: Tick,
    /// Units waiting here.
    pub volume: Volume,
    /// Orders waiting here.
    pub n_orders: u64,
}

/// What an order is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderState {
    /// It waits in the book.
    Resting,
    /// All of it traded.
    Filled,
    /// Its agent took it off the book.
    Canceled,
    /// Its time was over.
    Expired,
}

/// An order that the book has accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BookOrder {
    /// Whose order.
    pub agent: AgentId,
    /// Buy or sell.
    pub side: Side,
    /// What it is doing.
    pub state: OrderState,
    /// Its level, none for a market order.
    pub tick: Option<Tick>,
    /// Units left to trade.
    pub volume: Volume,
    /// When it was accepted.
    pub placed_at: Step,
    /// For how many steps after `placed_at` it lives; for ever when none.
    pub time_to_live: Option<u64>,
    pub(crate) at_level: Links,
    pub(crate) of_agent: Links,
    pub(crate) of_step: Links,
}

impl BookOrder {
    /// The first step at which the order is gone, none when it never expires.
    fn gone_at(&self) -> Option<Step> {
        self.time_to_live.map(|steps| self.placed_at.saturating_add(steps).saturating_add(1))
    }
}

/// What a new order brings; the book adds its id and place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewOrder {
    pub(crate) agent: AgentId,
    pub(crate) side: Side,
    pub(crate) tick: Option<Tick>,
    pub(crate) volume: Volume,
    pub(crate) placed_at: Step,
    pub(crate) time_to_live: Option<u64>,
}

/// The order with the highest priority on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Its level, none when a market order stands at the top.
    pub tick: Option<Tick>,
    /// The order.
    pub order_id: OrderId,
}

/// An order book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    orders: Orders,
    buy: SideBook,
    sell: SideBook,
    /// Each agent's resting orders, oldest first. Never iterated.
    agents: FxHashMap<AgentId, Chain>,
    expirations: Expirations,
}

impl Book {
    pub(crate) fn new() -> Self {
        Self {
            orders: Window::new(),
            buy: SideBook::new(Side::Buy),
            sell: SideBook::new(Side::Sell),
            agents: FxHashMap::default(),
            expirations: Expirations::new(),
        }
    }

    /// The order with the highest priority on `side`: market orders first, then the best price,
    /// then the earliest.
    #[must_use]
    pub fn best(&self, side: Side) -> Option<Best> {
        self.side(side).best()
    }

    /// The levels of `side` from the best price on. Market orders are not among them.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = Level> + '_ {
        self.side(side).levels()
    }

    /// The ids of the orders that rest on `side`, by priority.
    pub fn resting(&self, side: Side) -> impl Iterator<Item = OrderId> + '_ {
        self.side(side).resting(&self.orders)
    }

    /// The ids of an agent's resting orders, oldest first.
    pub fn resting_of(&self, agent: AgentId) -> impl Iterator<Item = OrderId> + '_ {
        let first = self.agents.get(&agent).map_or(NONE, |chain| chain.head);
        queue::walk(&self.orders, first, |order| &order.of_agent)
    }

    /// Units waiting in limit orders of `side`.
    #[must_use]
    pub fn limit_volume(&self, side: Side) -> Volume {
        self.side(side).limit_volume()
    }

    /// Units waiting in market orders of `side`.
    #[must_use]
    pub fn market_volume(&self, side: Side) -> Volume {
        self.side(side).market_volume()
    }

    /// An order that was accepted once; none when there never was one or it is forgotten.
    #[must_use]
    pub fn order(&self, id: OrderId) -> Option<&BookOrder> {
        self.orders.get(id.0)
    }

    /// The id that the next order will get.
    #[must_use]
    pub fn next_order_id(&self) -> OrderId {
        OrderId(self.orders.end())
    }

    pub(crate) fn place(&mut self, new: NewOrder) -> OrderId {
        let id = self.next_order_id();
        let NewOrder { agent, side, tick, volume, placed_at, time_to_live } = new;
        let order = BookOrder {
            agent,
            side,
            state: OrderState::Resting,
            tick,
            volume,
            placed_at,
            time_to_live,
            at_level: Links::default(),
            of_agent: Links::default(),
            of_step: Links::default(),
        };
        let gone_at = order.gone_at();
        self.orders.push(order);
        if let Some(step) = gone_at {
            self.expirations.add(&mut self.orders, step, id);
        }
        match side {
            Side::Buy => self.buy.append(&mut self.orders, id),
            Side::Sell => self.sell.append(&mut self.orders, id),
        }
        self.agents.entry(agent).or_default().append(&mut self.orders, id, of_agent);
        id
    }

    /// Takes `volume` of a resting order away; an order without a remainder leaves the book.
    pub(crate) fn fill(&mut self, id: OrderId, volume: Volume) {
        match self.orders[id.0].side {
            Side::Buy => self.buy.reduce(&mut self.orders, id, volume),
            Side::Sell => self.sell.reduce(&mut self.orders, id, volume),
        }
        if self.orders[id.0].volume.is_zero() {
            self.take_out(id, OrderState::Filled);
        }
    }

    /// Takes an order off the book if it still rests there.
    pub(crate) fn cancel(&mut self, id: OrderId) {
        if self.orders[id.0].state == OrderState::Resting {
            self.take_out(id, OrderState::Canceled);
        }
    }

    /// Takes all orders off the book whose time is over at `now` and tells which: the buy side
    /// first, each side in the order of placement.
    pub(crate) fn expire(&mut self, now: Step, mut expired: impl FnMut(OrderId, &BookOrder)) {
        while let Some(chains) = self.expirations.next(now) {
            for side in [Side::Buy, Side::Sell] {
                for chain in chains {
                    let mut next = chain.head;
                    while next != NONE {
                        let id = OrderId(next);
                        next = self.orders[id.0].of_step.next;
                        if self.orders[id.0].side == side {
                            self.take_off_levels(id, OrderState::Expired);
                            expired(id, &self.orders[id.0]);
                        }
                    }
                }
            }
        }
    }

    /// Forgets dead orders that were accepted before `step`, up to the first one that rests.
    pub(crate) fn forget_before(&mut self, step: Step) {
        let mut first = self.orders.first();
        while let Some(order) = self.orders.get(first) {
            if order.placed_at >= step || order.state == OrderState::Resting {
                break;
            }
            first += 1;
        }
        self.orders.forget_before(first);
    }

    /// Takes an order out of the book before its time is over.
    fn take_out(&mut self, id: OrderId, state: OrderState) {
        if let Some(step) = self.orders[id.0].gone_at() {
            self.expirations.remove(&mut self.orders, step, id);
        }
        self.take_off_levels(id, state);
    }

    fn take_off_levels(&mut self, id: OrderId, state: OrderState) {
        let order = &mut self.orders[id.0];
        order.state = state;
        let (agent, side) = (order.agent, order.side);
        match side {
            Side::Buy => self.buy.remove(&mut self.orders, id),
            Side::Sell => self.sell.remove(&mut self.orders, id),
        }
        if let Entry::Occupied(mut chain) = self.agents.entry(agent) {
            chain.get_mut().remove(&mut self.orders, id, of_agent);
            if chain.get().is_empty() {
                chain.remove();
            }
        }
    }

    fn side(&self, side: Side) -> &SideBook {
        match side {
            Side::Buy => &self.buy,
            Side::Sell => &self.sell,
        }
    }
}

fn of_agent(order: &mut BookOrder) -> &mut Links {
    &mut order.of_agent
}

#[cfg(test)]
mod tests;

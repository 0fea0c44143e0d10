//! The order book of one market: who waits at which price, in price-time priority.
//!
//! Levels are keyed by integer tick, so two prices that differ only in rounding share a level.
//! Those near the touch stand side by side, the others in a sorted list. Orders stand in a slab and
//! form linked lists through it, so that a cancel, a fill or an expiration takes an order out of the
//! middle without searching and without disturbing anybody's place. Market orders stand in a queue
//! of their own before all levels. The book does not decide when orders trade: that is the business
//! of a market.
//!
//! | operation | cost |
//! |---|---|
//! | place, near the touch | O(1) |
//! | place, elsewhere | O(log levels) for a new level |
//! | cancel, fill | O(1); O(log levels) when a level far from the touch disappears |
//! | best price, total volumes | O(1) |
//! | expire | O(orders that expire) |
//!
//! Memory grows with the orders that are known at once: those that rest, and those that left within
//! the time for which a book remembers.

mod agents;
mod expirations;
mod far;
mod ladder;
mod near;
mod orders;
mod queue;
mod side;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, OrderId};
use crate::order::Side;
use crate::quantity::{Step, Tick, Volume};
use agents::AgentOrders;
use expirations::Expirations;
use orders::Orders;
use queue::NONE;
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

/// An order that the book has accepted, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
}

/// What a new order brings; the book adds its id and place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewOrder {
    /// Whose order.
    pub agent: AgentId,
    /// Buy or sell.
    pub side: Side,
    /// Its level, none for a market order.
    pub tick: Option<Tick>,
    /// Units to trade; at least 1.
    pub volume: Volume,
    /// The current step.
    pub placed_at: Step,
    /// For how many steps after `placed_at` it lives; for ever when none.
    pub time_to_live: Option<u64>,
}

/// The order with the highest priority on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Its level, none when a market order stands at the top.
    pub tick: Option<Tick>,
    /// The order.
    pub order_id: OrderId,
}

/// A buy and a sell order that trade with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// The buy order.
    pub buy: OrderId,
    /// The sell order.
    pub sell: OrderId,
    /// Whose buy order.
    pub buy_agent: AgentId,
    /// Whose sell order.
    pub sell_agent: AgentId,
    /// The limit of the earlier order, or of the only one that has a limit; none for two market
    /// orders.
    pub tick: Option<Tick>,
    /// Units traded.
    pub volume: Volume,
}

/// An order book.
///
/// ```
/// use pams_core::{AgentId, Book, NewOrder, Side, Step, Tick, Volume};
///
/// let order = |side, tick, volume| NewOrder {
///     agent: AgentId(0),
///     side,
///     tick: Some(Tick(tick)),
///     volume: Volume(volume),
///     placed_at: Step(0),
///     time_to_live: None,
/// };
/// let mut book = Book::new(Some(0));
/// let ask = book.place(order(Side::Sell, 3001, 2));
/// let bid = book.place(order(Side::Buy, 3002, 3));
/// let fill = book.match_best().expect("they cross");
/// assert_eq!((fill.buy, fill.sell, fill.tick), (bid, ask, Some(Tick(3001))));
/// assert_eq!(book.match_best(), None);
/// assert_eq!(book.limit_volume(Side::Buy), Volume(1));
/// book.cancel(bid);
/// assert_eq!(book.best(Side::Buy), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    orders: Orders,
    /// Buys, then sells: taking one by its number costs no branch, which would be a coin toss.
    sides: [SideBook; 2],
    agents: AgentOrders,
    expirations: Expirations,
    /// For how many steps an order is known after it left; for ever when none.
    memory: Option<u64>,
    /// What left when, the earliest first, if it is ever forgotten.
    left: VecDeque<(Step, u32)>,
}

impl Book {
    /// An empty book that knows orders for `memory` steps after they left it; for ever when none.
    /// It knows at most 2³² orders at a time.
    #[must_use]
    pub fn new(memory: Option<u64>) -> Self {
        Self {
            orders: Orders::new(),
            sides: [SideBook::new(Side::Buy), SideBook::new(Side::Sell)],
            agents: AgentOrders::new(),
            expirations: Expirations::new(),
            memory,
            left: VecDeque::new(),
        }
    }

    /// The order with the highest priority on `side`: market orders first, then the best price,
    /// then the earliest.
    #[must_use]
    pub fn best(&self, side: Side) -> Option<Best> {
        let row = &self.orders[self.side(side).top()?];
        Some(Best { tick: row.tick(), order_id: row.id })
    }

    /// The best limit price of `side` as a tick, whether market orders stand before it or not.
    #[inline]
    #[must_use]
    pub fn best_limit(&self, side: Side) -> Option<Tick> {
        self.side(side).best_limit()
    }

    /// The tick of the best order of `side`: none when there is no order or a market order is the
    /// best.
    #[inline]
    #[must_use]
    pub fn touch(&self, side: Side) -> Option<Tick> {
        let side = self.side(side);
        if side.has_market_orders() { None } else { side.best_limit() }
    }

    /// The levels of `side` from the best price on. Market orders are not among them.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = Level> + '_ {
        self.side(side).levels()
    }

    /// The ids of the orders that rest on `side`, by priority.
    pub fn resting(&self, side: Side) -> impl Iterator<Item = OrderId> + '_ {
        self.side(side).resting(&self.orders).map(|row| row.id)
    }

    /// The ids of an agent's resting orders, oldest first.
    pub fn resting_of(&self, agent: AgentId) -> impl Iterator<Item = OrderId> + '_ {
        let first = self.agents.first(agent);
        queue::walk(&self.orders, first, |row| &row.of_agent).map(|row| row.id)
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
    pub fn order(&self, id: OrderId) -> Option<BookOrder> {
        self.orders.find(id).map(|slot| self.orders[slot].order())
    }

    /// The id that the next order will get.
    #[must_use]
    pub fn next_order_id(&self) -> OrderId {
        self.orders.next_id()
    }

    /// Puts an order behind all others of its price. Nothing trades.
    ///
    /// The clock stands at the order's `placed_at`: [`expire`](Self::expire) was called with no
    /// later step. All volumes that were ever placed have to fit 64 bits together.
    ///
    /// # Panics
    ///
    /// When the book knows 2³² orders, or the order's time is already over.
    pub fn place(&mut self, new: NewOrder) -> OrderId {
        let slot = self.orders.place(&new);
        if let Some(step) = self.orders[slot].gone_at() {
            self.expirations.add(&mut self.orders, step, slot);
        }
        self.sides[new.side as usize].append(&mut self.orders, slot);
        self.agents.append(&mut self.orders, slot);
        self.orders[slot].id
    }

    /// Takes `volume` of a resting order away; an order without a remainder leaves the book.
    ///
    /// # Panics
    ///
    /// When no such order rests, or it is smaller.
    pub fn fill(&mut self, id: OrderId, volume: Volume) {
        let slot = self.orders.find(id).filter(|&slot| {
            let row = &self.orders[slot];
            row.state == OrderState::Resting && volume <= row.volume
        });
        self.fill_slot(
            slot.expect("only a resting order trades, and at most what is left"),
            volume,
        );
    }

    /// Lets the best buy order trade with the best sell order if their prices cross. Market orders
    /// cross everything, each other too.
    #[inline]
    pub fn match_best(&mut self) -> Option<Fill> {
        let (buy_slot, sell_slot) = (self.sides[0].top()?, self.sides[1].top()?);
        let (buy, sell) = (&self.orders[buy_slot], &self.orders[sell_slot]);
        let tick = match (buy.tick(), sell.tick()) {
            (Some(bid), Some(ask)) if bid < ask => return None,
            // Ids count in the order of acceptance, so the lower id is the earlier order.
            (Some(bid), Some(ask)) => Some(if buy.id < sell.id { bid } else { ask }),
            (bid, ask) => bid.or(ask),
        };
        let fill = Fill {
            buy: buy.id,
            sell: sell.id,
            buy_agent: buy.agent,
            sell_agent: sell.agent,
            tick,
            volume: buy.volume.min(sell.volume),
        };
        self.fill_slot(buy_slot, fill.volume);
        self.fill_slot(sell_slot, fill.volume);
        Some(fill)
    }

    /// Takes an order off the book if it still rests there.
    pub fn cancel(&mut self, id: OrderId) {
        if let Some(slot) = self.orders.find(id)
            && self.orders[slot].state == OrderState::Resting
        {
            self.take_out(slot, OrderState::Canceled);
        }
    }

    /// Moves the clock to `now`. Takes all orders off the book whose time is over and tells which:
    /// the buy side first, each side in the order of placement. Forgets orders that left too long
    /// ago.
    pub fn expire(&mut self, now: Step, mut expired: impl FnMut(OrderId, &BookOrder)) {
        while let Some(chains) = self.expirations.next(now) {
            if chains.iter().all(|chain| chain.is_empty()) {
                continue;
            }
            for side in [Side::Buy, Side::Sell] {
                for chain in chains {
                    let mut next = chain.head;
                    while next != NONE {
                        let slot = next;
                        next = self.orders[slot].of_step.next;
                        if self.orders[slot].side == side {
                            self.take_off_levels(slot, OrderState::Expired);
                            let row = &self.orders[slot];
                            expired(row.id, &row.order());
                        }
                    }
                }
            }
        }
        if let Some(memory) = self.memory {
            let oldest = now.saturating_sub(memory);
            while let Some((_, slot)) = self.left.pop_front_if(|&mut (step, _)| step < oldest) {
                self.orders.forget(slot);
            }
        }
    }

    #[inline]
    fn fill_slot(&mut self, slot: u32, volume: Volume) {
        let row = &mut self.orders[slot];
        self.sides[row.side as usize].reduce(row, volume);
        if row.volume.is_zero() {
            self.take_out(slot, OrderState::Filled);
        }
    }

    /// Takes an order out of the book before its time is over.
    fn take_out(&mut self, slot: u32, state: OrderState) {
        if let Some(step) = self.orders[slot].gone_at() {
            self.expirations.remove(&mut self.orders, step, slot);
        }
        self.take_off_levels(slot, state);
    }

    fn take_off_levels(&mut self, slot: u32, state: OrderState) {
        let row = &mut self.orders[slot];
        row.state = state;
        let side = row.side;
        self.sides[side as usize].remove(&mut self.orders, slot);
        self.agents.remove(&mut self.orders, slot);
        if self.memory.is_some() {
            self.left.push_back((self.expirations.now(), slot));
        }
    }

    #[inline]
    fn side(&self, side: Side) -> &SideBook {
        &self.sides[side as usize]
    }
}

#[cfg(test)]
mod tests;

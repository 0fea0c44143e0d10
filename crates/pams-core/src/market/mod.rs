//! A market as everybody may see it: its prices, volumes, book and flags.
//!
//! [`MarketView`] is both what the simulator works on and what an agent reads. Everything that
//! happens to it is one of the [`MarketChange`](crate::delta::MarketChange)s, each of which is one
//! deterministic method here; a replica that is fed the changes therefore *is* the market.

mod matching;
mod series;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::book::{Book, BookOrder, Level, NewOrder};
use crate::ids::{AgentId, MarketId, OrderId};
use crate::order::Side;
use crate::quantity::{Step, Volume};
use crate::tick_size::TickSize;
use crate::window::Window;

pub use series::{HistoryError, StepValues};

/// A value of a field that a market class adds to its markets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FieldValue {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A flag.
    Bool(bool),
    /// A text.
    Text(String),
}

/// What an index is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// The market.
    pub market: MarketId,
    /// Its outstanding shares, the weight of its price.
    pub shares: u64,
}

/// What a market is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct MarketSpec {
    /// Its unique name.
    pub name: String,
    /// The distance between price levels.
    pub tick_size: TickSize,
    /// The market price at time 0, in price units.
    pub market_price: f64,
    /// The fundamental price at time 0, in price units; an index has its components' instead.
    pub fundamental_price: f64,
    /// Drift of the log fundamental price per step.
    pub fundamental_drift: f64,
    /// Standard deviation of the log return of the fundamental price per step.
    pub fundamental_volatility: f64,
    /// Shares, needed by a component of an index.
    pub outstanding_shares: Option<u64>,
    /// The components of an index; empty for a spot market.
    pub components: Vec<Component>,
    /// The executed volume that step 0 starts with, in units.
    pub initial_executed_volume: Volume,
    /// Fields of a user's market class.
    pub fields: BTreeMap<String, FieldValue>,
}

impl MarketSpec {
    /// A spot market with one price for everything and no movement of its fundamental.
    #[must_use]
    pub fn new(name: impl Into<String>, tick_size: TickSize, price: f64) -> Self {
        Self {
            name: name.into(),
            tick_size,
            market_price: price,
            fundamental_price: price,
            fundamental_drift: 0.0,
            fundamental_volatility: 0.0,
            outstanding_shares: None,
            components: Vec::new(),
            initial_executed_volume: Volume::ZERO,
            fields: BTreeMap::new(),
        }
    }
}

/// A market, read-only: what the simulator works on, what an agent reads, and what a replica is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketView {
    id: MarketId,
    name: Arc<str>,
    tick_size: TickSize,
    outstanding_shares: Option<u64>,
    components: Vec<Component>,
    initial_market_price: f64,
    initial_executed_volume: Volume,
    /// The market price of time 0, kept when time 0 itself is forgotten.
    opening_price: f64,
    /// How many steps before the current one are kept; all when none.
    history_window: Option<u64>,
    fields: BTreeMap<String, FieldValue>,
    time: Step,
    running: bool,
    /// Entry t belongs to time t.
    steps: Window<StepValues>,
    /// Units accepted in all orders so far, so that no total can overflow unnoticed.
    accepted_volume: Volume,
    book: Book,
}

impl MarketView {
    pub(crate) fn new(id: MarketId, spec: MarketSpec, history_window: Option<u64>) -> Self {
        Self {
            id,
            name: spec.name.into(),
            tick_size: spec.tick_size,
            outstanding_shares: spec.outstanding_shares,
            components: spec.components,
            initial_market_price: spec.market_price,
            initial_executed_volume: spec.initial_executed_volume,
            opening_price: spec.market_price,
            history_window,
            fields: spec.fields,
            time: Step::BEFORE_START,
            running: false,
            steps: Window::new(),
            accepted_volume: Volume::ZERO,
            book: Book::new(history_window),
        }
    }

    /// The market's id.
    #[must_use]
    pub fn id(&self) -> MarketId {
        self.id
    }

    /// The market's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The distance between price levels.
    #[must_use]
    pub fn tick_size(&self) -> TickSize {
        self.tick_size
    }

    /// Shares, where the config says how many.
    #[must_use]
    pub fn outstanding_shares(&self) -> Option<u64> {
        self.outstanding_shares
    }

    /// What an index is made of, in the order of its config; empty for a spot market.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Whether this is an index.
    #[must_use]
    pub fn is_index(&self) -> bool {
        !self.components.is_empty()
    }

    /// A field that the market's class added.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldValue> {
        self.fields.get(name)
    }

    /// The current step; −1 before the simulation begins.
    #[must_use]
    pub fn time(&self) -> Step {
        self.time
    }

    /// Whether orders trade here now, if the session lets them.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// The order book.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// The best buy price in price units; none without buyers or with a market order at the top.
    #[must_use]
    pub fn best_bid(&self) -> Option<f64> {
        self.best_price(Side::Buy)
    }

    /// The best sell price in price units; none without sellers or with a market order at the top.
    #[must_use]
    pub fn best_ask(&self) -> Option<f64> {
        self.best_price(Side::Sell)
    }

    /// The levels of one side from the best on, as price in price units, units and orders.
    pub fn depth(&self, side: Side) -> impl Iterator<Item = (f64, Level)> + '_ {
        self.book.levels(side).map(|level| (self.tick_size.price(level.tick), level))
    }

    /// The price of an order of this market in price units; none for a market order.
    #[must_use]
    pub fn order_price(&self, order: &BookOrder) -> Option<f64> {
        order.tick.map(|tick| self.tick_size.price(tick))
    }

    fn best_price(&self, side: Side) -> Option<f64> {
        Some(self.tick_size.price(self.book.touch(side)?))
    }
}

/// The changes. Each is deterministic: the same change of an equal market gives an equal market.
impl MarketView {
    /// Moves the clock by one step: expirations, the new fundamental, the carried prices.
    /// `fundamental` is the fundamental price of the new step, in price units.
    pub(crate) fn move_clock(
        &mut self,
        fundamental: f64,
        expired: impl FnMut(OrderId, &BookOrder),
    ) {
        self.time = self.time.next();
        self.book.expire(self.time, expired);
        let values = match self.steps.last() {
            None => StepValues::first(
                self.initial_market_price,
                fundamental,
                self.initial_executed_volume,
            ),
            Some(previous) => previous.carried(fundamental, self.running),
        };
        if self.time == Step(1) {
            self.opening_price = self.values().market_price;
        }
        self.steps.push(values);
        if let Some(window) = self.history_window {
            self.steps.forget_before(self.time.saturating_sub(window).since_start());
        }
    }

    pub(crate) fn place(&mut self, order: NewOrder) -> OrderId {
        let side = order.side;
        self.accepted_volume += order.volume;
        let id = self.book.place(order);
        let values = self.values_mut();
        match side {
            Side::Buy => values.n_buy_orders += 1,
            Side::Sell => values.n_sell_orders += 1,
        }
        self.refresh_prices();
        id
    }

    pub(crate) fn cancel(&mut self, id: OrderId) {
        self.book.cancel(id);
        self.refresh_prices();
    }

    pub(crate) fn set_running(&mut self, running: bool) {
        self.running = running;
    }

    pub(crate) fn set_market_price(&mut self, price: f64) {
        self.values_mut().market_price = price;
    }

    pub(crate) fn set_fundamental_price(&mut self, price: f64) {
        self.values_mut().fundamental_price = price;
    }

    pub(crate) fn set_field(&mut self, name: String, value: FieldValue) {
        self.fields.insert(name, value);
    }

    /// Units accepted in all orders so far.
    pub(crate) fn accepted_volume(&self) -> Volume {
        self.accepted_volume
    }

    /// After an order, a cancel or a fill: the stored mid price, and the market price where it
    /// follows another price.
    fn refresh_prices(&mut self) {
        let mid = match (self.best_bid(), self.best_ask()) {
            (Some(bid), Some(ask)) => Some((bid + ask) / 2.0),
            _ => None,
        };
        let running = self.running;
        let values = self.values_mut();
        values.mid_price = mid;
        if running && let Some(price) = values.last_executed_price.or(mid) {
            values.market_price = price;
        }
    }

    /// Whether an agent owns an order; none when there is no such order or it is forgotten.
    pub(crate) fn owner(&self, id: OrderId) -> Option<AgentId> {
        self.book.order(id).map(|order| order.agent)
    }
}

#[cfg(test)]
mod tests;

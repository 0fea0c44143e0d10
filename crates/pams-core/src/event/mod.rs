//! Events: code that is called at chosen points of a simulation and may change the markets.
//!
//! An event says once, through [`Event::hooks`], where and when it wants to be called. At each
//! point the hooks without a time run before those with one, each in the order in which they were
//! registered. What no event asked for costs one comparison.

mod mistake_shock;
mod price_limit;
mod price_shock;
mod schedule;
mod trading_halt;

use std::fmt;
use std::ops::Range;

use crate::error::EventError;
use crate::ids::{AgentId, MarketId, SessionId};
use crate::market::{FieldValue, MarketView};
use crate::order::{CancelRequest, IncomingOrder};
use crate::quantity::Step;
use crate::random::Generator;
use crate::record::{ExecutionRecord, OrderRecord};
use crate::session::CurrentSession;
use crate::world::World;

pub use mistake_shock::OrderMistakeShock;
pub use price_limit::PriceLimitRule;
pub use price_shock::FundamentalPriceShock;
pub(crate) use schedule::Schedule;
pub use trading_halt::TradingHaltRule;

/// Where an event can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookPoint {
    /// Before a session's begin record; markets still have the running flags of before.
    BeforeSession,
    /// After a session's last step; the clock has already moved.
    AfterSession,
    /// Before agents are asked, once for each market.
    BeforeStep,
    /// After a market's step record, once for each market.
    AfterStep,
    /// Before an order reaches the book. The event may change the order.
    BeforeOrder,
    /// After an order was accepted and its agent told, before it can trade.
    AfterOrder,
    /// Before a cancel reaches the book.
    BeforeCancel,
    /// After a cancel was accepted and its agent told.
    AfterCancel,
    /// After each fill, when the whole pass is done and both agents are told.
    AfterExecution,
}

/// When an event is called at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookTimes {
    /// At every step.
    Always,
    /// At these steps, counted from the beginning of the simulation.
    Steps(Range<Step>),
}

/// One registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Where.
    pub point: HookPoint,
    /// When.
    pub times: HookTimes,
}

impl Hook {
    /// At every step.
    #[must_use]
    pub fn always(point: HookPoint) -> Self {
        Self { point, times: HookTimes::Always }
    }

    /// At the steps of a range, counted from the beginning of the simulation.
    #[must_use]
    pub fn during(point: HookPoint, steps: Range<Step>) -> Self {
        Self { point, times: HookTimes::Steps(steps) }
    }
}

/// An event. Implement [`Event::hooks`] and the methods of the points that it names; the others
/// are never called.
///
/// An error ends the run with the event's name.
pub trait Event: Send + fmt::Debug {
    /// Where and when to call this event. Asked once, before the simulation begins.
    fn hooks(&self) -> Vec<Hook>;

    /// At [`HookPoint::BeforeSession`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn before_session(
        &mut self,
        _context: &mut EventContext<'_>,
        _session: SessionId,
    ) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::AfterSession`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn after_session(
        &mut self,
        _context: &mut EventContext<'_>,
        _session: SessionId,
    ) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::BeforeStep`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn before_step(&mut self, _context: &mut EventContext<'_>, _market: MarketId) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::AfterStep`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn after_step(&mut self, _context: &mut EventContext<'_>, _market: MarketId) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::BeforeOrder`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn before_order(
        &mut self,
        _context: &mut EventContext<'_>,
        _order: &mut IncomingOrder,
    ) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::AfterOrder`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn after_order(
        &mut self,
        _context: &mut EventContext<'_>,
        _order: &OrderRecord,
    ) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::BeforeCancel`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn before_cancel(
        &mut self,
        _context: &mut EventContext<'_>,
        _agent: AgentId,
        _cancel: CancelRequest,
    ) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::AfterCancel`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn after_cancel(
        &mut self,
        _context: &mut EventContext<'_>,
        _cancel: &OrderRecord,
    ) -> EventResult {
        Ok(())
    }

    /// At [`HookPoint::AfterExecution`].
    ///
    /// # Errors
    ///
    /// As the event decides.
    fn after_execution(
        &mut self,
        _context: &mut EventContext<'_>,
        _fill: &ExecutionRecord,
    ) -> EventResult {
        Ok(())
    }
}

/// What an event's methods return.
pub type EventResult = Result<(), EventError>;

/// What an event sees and may change.
#[derive(Debug)]
pub struct EventContext<'a> {
    world: &'a mut World,
    generator: &'a mut Generator,
}

impl<'a> EventContext<'a> {
    pub(crate) fn new(world: &'a mut World, generator: &'a mut Generator) -> Self {
        Self { world, generator }
    }

    /// The current step.
    #[must_use]
    pub fn time(&self) -> Step {
        self.world.time
    }

    /// The running session; none between sessions.
    #[must_use]
    pub fn session(&self) -> Option<CurrentSession> {
        self.world.session
    }

    /// Whether orders trade in the running session.
    #[must_use]
    pub fn session_executes(&self) -> bool {
        self.world.session.is_some_and(|session| session.order_execution.is_on())
    }

    /// All markets, ordered by id.
    #[must_use]
    pub fn markets(&self) -> &[MarketView] {
        &self.world.markets
    }

    /// One market.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    #[must_use]
    pub fn market(&self, market: MarketId) -> &MarketView {
        &self.world.markets[market.index()]
    }

    /// The event's own generator.
    pub fn generator(&mut self) -> &mut Generator {
        self.generator
    }

    /// Lets a market trade, or stops it. Orders are accepted either way.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    pub fn set_running(&mut self, market: MarketId, running: bool) {
        self.world.set_running(market, running);
    }

    /// Sets a market's current market price, in price units.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    pub fn set_market_price(&mut self, market: MarketId, price: f64) {
        self.world.set_market_price(market, price);
    }

    /// Sets a market's current fundamental price, in price units. For a spot market the prices of
    /// all later steps, of all markets, are drawn anew from here; an index returns to its
    /// components' mean at the next step.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    pub fn set_fundamental_price(&mut self, market: MarketId, price: f64) {
        self.world.set_fundamental_price(market, price);
    }

    /// Sets a field of a market that its class added.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    pub fn set_field(&mut self, market: MarketId, name: impl Into<String>, value: FieldValue) {
        self.world.set_field(market, name.into(), value);
    }
}

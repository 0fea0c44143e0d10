//! What happened, in order: the records that loggers, hashes and tests see.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, MarketId, OrderId, SessionId};
use crate::order::Side;
use crate::quantity::{Step, Volume};

/// An order at one moment of its life: accepted, cancelled or expired.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderRecord {
    /// When it happened. For an expiration this is the step that the clock moved to.
    pub time: Step,
    /// Where.
    pub market: MarketId,
    /// Which order.
    pub order_id: OrderId,
    /// Whose order.
    pub agent: AgentId,
    /// Buy or sell.
    pub side: Side,
    /// The limit price on the market's grid, in price units; none for a market order.
    pub price: Option<f64>,
    /// What is left to trade, in units.
    pub volume: Volume,
    /// For how many steps after its first one the order lives.
    pub time_to_live: Option<u64>,
}

/// One fill: a buy and a sell order traded with each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutionRecord {
    /// When.
    pub time: Step,
    /// Where.
    pub market: MarketId,
    /// Who bought.
    pub buy_agent: AgentId,
    /// Who sold.
    pub sell_agent: AgentId,
    /// The buy order.
    pub buy_order_id: OrderId,
    /// The sell order.
    pub sell_order_id: OrderId,
    /// The price of the matching pass, in price units.
    pub price: f64,
    /// Units traded.
    pub volume: Volume,
}

/// A market at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The running session.
    pub session: SessionId,
    /// The step that ends.
    pub time: Step,
    /// The market.
    pub market: MarketId,
    /// Its market price, in price units.
    pub market_price: f64,
    /// Its fundamental price, in price units.
    pub fundamental_price: f64,
}

/// A session that begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Which session.
    pub session: SessionId,
    /// When.
    pub time: Step,
}

/// Anything that a simulation tells about itself, in the order in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// An order was accepted.
    Order(OrderRecord),
    /// A cancel was accepted. The volume is what was left of the order.
    Cancel(OrderRecord),
    /// An order left the book because its time was over.
    Expiration(OrderRecord),
    /// Two orders traded.
    Execution(ExecutionRecord),
    /// A step of one market ended.
    Step(StepRecord),
    /// A session began.
    SessionBegin(SessionRecord),
    /// A session ended.
    SessionEnd(SessionRecord),
    /// The simulation began at this time.
    SimulationBegin(Step),
    /// The simulation ended at this time.
    SimulationEnd(Step),
}

/// Receives every record, one by one, in order.
pub trait RecordSink {
    /// Takes the next record.
    fn record(&mut self, record: Record);
}

/// Keeps all records in memory.
impl RecordSink for Vec<Record> {
    fn record(&mut self, record: Record) {
        self.push(record);
    }
}

/// Drops all records.
impl RecordSink for () {
    fn record(&mut self, _record: Record) {}
}

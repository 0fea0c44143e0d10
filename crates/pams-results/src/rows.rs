//! The rows of a run folder's tables as types.

use std::sync::Arc;

use pams_core::{AgentId, MarketId, SessionId, Side, Step, StepRecord, Volume};

/// A record and its number: records count from 0 over the whole run, in the order in which things
/// happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbered<T> {
    /// The number.
    pub number: u64,
    /// The record.
    pub record: T,
}

/// A market at the end of a step. Prices are in price units.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepRow {
    /// The number of the record.
    pub number: u64,
    /// The record, whose prices are those before the after-step events.
    pub record: StepRecord,
    /// The best buy price; none without buyers or with a market order at the top.
    pub best_bid: Option<f64>,
    /// The best sell price; none without sellers or with a market order at the top.
    pub best_ask: Option<f64>,
    /// Half the sum of best bid and best ask at the last order, cancel or fill.
    pub mid_price: Option<f64>,
    /// The price of the latest fill up to this step.
    pub last_executed_price: Option<f64>,
    /// Units traded in this step.
    pub executed_volume: Volume,
    /// Price times units traded in this step.
    pub executed_value: f64,
    /// Buy orders accepted in this step.
    pub n_buy_orders: u64,
    /// Sell orders accepted in this step.
    pub n_sell_orders: u64,
}

/// What a [`SessionRow`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// The simulation began.
    SimulationBegin,
    /// A session began.
    SessionBegin,
    /// A session ended.
    SessionEnd,
    /// The simulation ended.
    SimulationEnd,
}

impl SessionEvent {
    const ALL: [Self; 4] =
        [Self::SimulationBegin, Self::SessionBegin, Self::SessionEnd, Self::SimulationEnd];

    /// The name in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SimulationBegin => "simulation_begin",
            Self::SessionBegin => "session_begin",
            Self::SessionEnd => "session_end",
            Self::SimulationEnd => "simulation_end",
        }
    }

    pub(crate) fn code(self) -> u32 {
        self as u32
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|event| event.as_str() == text)
            .ok_or_else(|| format!("there is no event `{text}` of sessions"))
    }
}

/// The begin or end of a session or of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRow {
    /// The number of the record.
    pub number: u64,
    /// When.
    pub time: Step,
    /// What.
    pub event: SessionEvent,
    /// Which session; none for the simulation.
    pub session: Option<SessionId>,
}

/// An agent at the end of the run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AccountRow {
    /// The agent.
    pub agent: AgentId,
    /// Its name.
    pub name: Arc<str>,
    /// Its cash in price units.
    pub cash: f64,
}

/// What an agent holds in one market at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HoldingRow {
    /// The agent.
    pub agent: AgentId,
    /// The market.
    pub market: MarketId,
    /// Units held; may be negative.
    pub units: i64,
}

/// One price level of a book at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DepthRow {
    /// The step.
    pub time: Step,
    /// The market.
    pub market: MarketId,
    /// The side of the book.
    pub side: Side,
    /// How many levels are better; 0 for the best one.
    pub level: u32,
    /// The price in price units.
    pub price: f64,
    /// Units waiting.
    pub volume: Volume,
    /// Orders waiting.
    pub n_orders: u64,
}

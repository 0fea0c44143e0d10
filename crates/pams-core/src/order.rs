//! What an agent asks a market to do: orders and cancels.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, MarketId, OrderId};
use crate::quantity::Volume;

/// Which side of the book an order stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Wants to buy.
    Buy,
    /// Wants to sell.
    Sell,
}

impl Side {
    /// The other side.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }

    /// As it is written in records: `buy` or `sell`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        }
    }
}

/// At what price an order trades.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum OrderKind {
    /// At this price or a better one.
    Limit {
        /// In price units; the market moves it to its grid.
        price: f64,
    },
    /// At any price, before all limit orders.
    Market,
}

/// An order as an agent submits it. Its price, if any, is not yet on the market's grid.
///
/// ```
/// use pams_core::{MarketId, OrderRequest, Side};
///
/// let order = OrderRequest::limit(MarketId(0), Side::Buy, 300.0, 2).with_time_to_live(3);
/// assert_eq!(order.time_to_live, Some(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderRequest {
    /// Where to trade.
    pub market: MarketId,
    /// Whether to buy or to sell.
    pub side: Side,
    /// Limit or market order.
    pub kind: OrderKind,
    /// How many units; at least 1.
    pub volume: Volume,
    /// For how many steps after the current one the order lives; for ever when none.
    pub time_to_live: Option<u64>,
}

impl OrderRequest {
    /// A limit order that lives until it is filled or cancelled. `price` is in price units.
    #[must_use]
    pub fn limit(market: MarketId, side: Side, price: f64, volume: impl Into<Volume>) -> Self {
        let kind = OrderKind::Limit { price };
        Self { market, side, kind, volume: volume.into(), time_to_live: None }
    }

    /// A market order that lives until it is filled or cancelled.
    #[must_use]
    pub fn market(market: MarketId, side: Side, volume: impl Into<Volume>) -> Self {
        let kind = OrderKind::Market;
        Self { market, side, kind, volume: volume.into(), time_to_live: None }
    }

    /// The same order, living for `steps` steps after the one in which it is placed.
    #[must_use]
    pub fn with_time_to_live(self, steps: u64) -> Self {
        Self { time_to_live: Some(steps), ..self }
    }

    /// The limit price in price units, none for a market order.
    #[must_use]
    pub fn price(&self) -> Option<f64> {
        match self.kind {
            OrderKind::Limit { price } => Some(price),
            OrderKind::Market => None,
        }
    }
}

/// A wish to take an own order off the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// Where the order was placed.
    pub market: MarketId,
    /// Which order.
    pub order_id: OrderId,
}

/// What an agent may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Instruction {
    /// Place an order.
    Order(OrderRequest),
    /// Take an own order off the book.
    Cancel(CancelRequest),
}

impl Instruction {
    /// The market it is sent to.
    #[must_use]
    pub fn market(&self) -> MarketId {
        match self {
            Self::Order(order) => order.market,
            Self::Cancel(cancel) => cancel.market,
        }
    }
}

impl From<OrderRequest> for Instruction {
    fn from(order: OrderRequest) -> Self {
        Self::Order(order)
    }
}

impl From<CancelRequest> for Instruction {
    fn from(cancel: CancelRequest) -> Self {
        Self::Cancel(cancel)
    }
}

/// An order together with the agent that sent it, as events see it before the book does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncomingOrder {
    /// Who sent it. Events cannot change that.
    agent: AgentId,
    /// What was sent. Events may change it.
    pub request: OrderRequest,
}

impl IncomingOrder {
    /// An order sent by `agent`.
    #[must_use]
    pub fn new(agent: AgentId, request: OrderRequest) -> Self {
        Self { agent, request }
    }

    /// Who sent it.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        self.agent
    }
}

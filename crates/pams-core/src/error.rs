//! What can go wrong in the core.

use std::fmt;

use crate::fundamentals::FundamentalError;
use crate::ids::{AgentId, OrderId};
use crate::tick_size::PriceError;

/// An error of the core. It names the market, event or order; the agent is named by its id, since
/// names of agents are the business of whoever configured them.
///
/// Callers branch on [`Error::kind`]; the text is for people.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    place: String,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An instruction that the market refuses.
    #[error(transparent)]
    Instruction(#[from] InstructionError),
    /// An event failed.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The fundamental prices can't be made.
    #[error(transparent)]
    Fundamental(#[from] FundamentalError),
}

/// What an event may fail with.
pub type EventError = Box<dyn std::error::Error + Send + Sync>;

/// Why a market refuses an instruction.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionError {
    /// The market is not one of the agent's.
    #[error("it is not one of the agent's markets")]
    NotAccessible,
    /// An order for nothing.
    #[error("the volume of an order must be at least 1")]
    NoVolume,
    /// An order, or all orders of a market together, of more than can be counted.
    #[error("an order of {volume} units is too large, or too large on top of all orders before it")]
    TooMuchVolume {
        /// Units asked for.
        volume: u64,
    },
    /// A time to live of zero.
    #[error("the time to live of an order must be at least 1 step")]
    NoTimeToLive,
    /// A price that is none.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// A cancel of an order that was never placed.
    #[error("there is no order {0} to cancel")]
    UnknownOrder(OrderId),
    /// A cancel of an order that the history window no longer covers.
    #[error(
        "order {0} left the book so long ago that it is no longer kept \
         (make simulation.historyWindow larger)"
    )]
    ForgottenOrder(OrderId),
    /// A cancel of somebody else's order.
    #[error("order {order_id} can't be canceled: it belongs to another agent")]
    NotOwner {
        /// The order.
        order_id: OrderId,
        /// Its owner.
        owner: AgentId,
    },
}

impl Error {
    pub(crate) fn new(kind: impl Into<ErrorKind>, place: impl Into<String>) -> Self {
        Self { kind: kind.into(), place: place.into() }
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(formatter, "{}: ", self.place)?;
        }
        self.kind.fmt(formatter)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

impl From<FundamentalError> for Error {
    fn from(error: FundamentalError) -> Self {
        Self::new(error, "")
    }
}

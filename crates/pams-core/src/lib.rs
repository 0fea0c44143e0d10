//! Markets with order books, events, accounts and random numbers: the exact core of an artificial-market simulation.
#![forbid(unsafe_code)]

mod account;
mod book;
mod delta;
mod error;
mod event;
mod fundamentals;
mod ids;
mod market;
mod order;
mod quantity;
pub mod random;
mod record;
mod session;
mod simulator;
#[cfg(test)]
mod testing;
mod tick_size;
mod window;
mod world;

pub use account::Account;
pub use book::{Best, Book, BookOrder, Level, OrderState};
pub use delta::{MarketChange, StepDelta};
pub use error::{Error, ErrorKind, EventError, InstructionError};
pub use event::{
    Event, EventContext, EventResult, FundamentalPriceShock, Hook, HookPoint, HookTimes,
    OrderMistakeShock, PriceLimitRule, TradingHaltRule,
};
pub use fundamentals::{Correlation, FundamentalError, FundamentalSpec, Fundamentals};
pub use ids::{AgentId, MarketId, OrderId, SessionId};
pub use market::{Component, FieldValue, Fill, HistoryError, MarketSpec, MarketView, StepValues};
pub use order::{CancelRequest, IncomingOrder, Instruction, OrderKind, OrderRequest, Side};
pub use quantity::{Step, Tick, Volume};
pub use record::{ExecutionRecord, OrderRecord, Record, RecordSink, SessionRecord, StepRecord};
pub use session::{CurrentSession, SessionSpec, Switch};
pub use simulator::{Simulator, SimulatorSpec, Traders};
pub use tick_size::{Placement, PriceError, TickSize};

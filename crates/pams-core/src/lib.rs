//! Markets with order books, events, accounts and random numbers: the exact core of an artificial-market simulation.
#![forbid(unsafe_code)]

mod ids;
pub mod random;

pub use ids::{AgentId, MarketId, OrderId, SessionId};

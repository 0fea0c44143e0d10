//! The agent trait, the registry of classes and the built-in trading agents.
//!
//! A simulation is a population of [`Agent`]s that look at [`Markets`] and submit orders when it is
//! their turn. This crate says what an agent is and may see, which classes a config can name
//! ([`Registry`]), and brings the classes of PAMS. It does not run anything.
//!
//! # An agent of your own
//!
//! Implement [`Agent`] and register it under a name in one line; a config then names it as the
//! `class` of an agent group.
//!
//! ```
//! use pams_agent::{Agent, AgentError, AgentSetup, Markets, Registry, Turn};
//! use pams_config::config_block;
//! use pams_core::{OrderRequest, Side};
//! use serde::{Deserialize, Serialize};
//!
//! config_block! {
//!     /// Keys of a trader that always bids a little below the market.
//!     pub struct LowBidderSettings {
//!         /// How far below the market price, in price units.
//!         pub distance: f64 = "distance",
//!     }
//! }
//!
//! #[derive(Debug, Serialize, Deserialize)]
//! struct LowBidder {
//!     distance: f64,
//! }
//!
//! impl Agent for LowBidder {
//!     type Settings = LowBidderSettings;
//!     type State = ();
//!
//!     fn create(settings: &LowBidderSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
//!         Ok(Self { distance: settings.distance })
//!     }
//!
//!     fn submit_orders(
//!         &self,
//!         _: &(),
//!         markets: &Markets<'_>,
//!         turn: &mut Turn<'_>,
//!     ) -> Result<(), AgentError> {
//!         for &market in turn.markets() {
//!             let price = markets[market].market_price() - self.distance;
//!             turn.submit(OrderRequest::limit(market, Side::Buy, price, 1).with_time_to_live(10));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut registry = Registry::builtin();
//! registry.agent::<LowBidder>("LowBidder");
//! ```
//!
//! # Limits
//!
//! The simulator itself can't be replaced: users replace agents, markets and events. A market class
//! adds settings and fields; behaviour over time belongs into an event.
#![forbid(unsafe_code)]

mod agent;
mod boxed;
mod builtin;
mod event_class;
mod group;
mod market_class;
mod registry;
#[cfg(unix)]
mod sharing;

pub use agent::{Agent, AgentError, AgentSetup, Markets, Turn};
pub use boxed::{AgentState, BoxedAgent, SharedAgent};
pub use builtin::{
    ArbitrageAgent, ArbitrageSettings, ExtendedMarket, ExtendedMarketSettings, FcnAgent,
    FcnSettings, IndexMarket, MarginType, MarketMakerAgent, MarketMakerSettings,
    MarketShareFcnAgent, SpotMarket, TestAgent,
};
pub use event_class::{EventClass, EventSetup};
pub use group::GroupSetup;
pub use market_class::{MarketClass, MarketSetup};
pub use registry::{Frequency, NoSettings, Registry};
#[cfg(unix)]
pub use sharing::{SharedMemory, Sharing};

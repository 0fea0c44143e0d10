//! Agents of the artificial market that decide by neural networks in candle, under every runner.
//!
//! [`register`] adds the class [`CandleAgent`] to a registry, together with the way in which its
//! networks are shared with worker processes. The rest of the crate is what a neural agent of your
//! own needs: [`Networks`] for multi-layer perceptrons of a whole group, [`SharedModel`] for models of
//! any kind, [`log_returns`] for what it sees.
//!
//! ```
//! use pams_agent::Registry;
//!
//! let mut registry = Registry::builtin();
//! pams_candle::register(&mut registry);
//! ```
//!
//! and in a config:
//!
//! ```json
//! "Networks": {
//!     "class": "CandleAgent", "numAgents": 50, "markets": ["Market"],
//!     "cashAmount": 10000, "assetVolume": 50,
//!     "historyLength": 32, "hiddenSizes": [64, 64]
//! }
//! ```
//!
//! # A neural agent of your own
//!
//! Weights from elsewhere are loaded by [`Networks::load`], [`Networks::load_layers`] where layers
//! have names of their own, and [`SharedModel::load`].
//!
//! Hold a [`Network`], a [`SharedModel`] of any layers of candle-nn, or any tensors of
//! `tensor-share`, and make those of a group together, in
//! [`Agent::create_group`](pams_agent::Agent::create_group): one arena for all of them. An arena
//! for each agent would cost each process a mapping and a descriptor for each.
//!
//! ```
//! use pams_agent::{Agent, AgentError, AgentSetup, GroupSetup, Markets, NoSettings, Turn};
//! use pams_candle::{Network, Networks, log_returns};
//! use pams_core::{OrderRequest, Side};
//! use serde::{Deserialize, Serialize};
//!
//! /// Follows what its network says of the last four returns.
//! #[derive(Debug, Serialize, Deserialize)]
//! struct Follower {
//!     network: Network,
//! }
//!
//! impl Agent for Follower {
//!     type Settings = NoSettings;
//!     type State = ();
//!
//!     fn create(_: &NoSettings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
//!         let networks = Networks::draw(&[setup.generator().below(u64::MAX)], &[4, 8, 1])?;
//!         Ok(Self { network: networks.network(0) })
//!     }
//!
//!     fn create_group(
//!         _: &NoSettings,
//!         group: &mut GroupSetup<'_>,
//!     ) -> Result<Vec<Self>, AgentError> {
//!         let seeds = group.each(|setup| Ok(setup.generator().below(u64::MAX)))?;
//!         let networks = Networks::draw(&seeds, &[4, 8, 1])?;
//!         Ok((0..seeds.len()).map(|number| Self { network: networks.network(number) }).collect())
//!     }
//!
//!     fn submit_orders(
//!         &self,
//!         _: &(),
//!         markets: &Markets<'_>,
//!         turn: &mut Turn<'_>,
//!     ) -> Result<(), AgentError> {
//!         for &market in turn.markets() {
//!             let row = log_returns(&markets[market], 4, 100.0, turn.arithmetic())?;
//!             let side = if self.network.ask(&row)? > 0.0 { Side::Buy } else { Side::Sell };
//!             let price = markets[market].market_price();
//!             turn.submit(OrderRequest::limit(market, side, price, 1).with_time_to_live(10));
//!         }
//!         Ok(())
//!     }
//!
//!     fn look_back(&self) -> u64 {
//!         4
//!     }
//! }
//! ```
//!
//! # Concepts
//!
//! **One memory for a group.** Networks lie in an arena of `tensor-share`. An agent is sent to a
//! worker as a handle of a few dozen bytes, and workers read the same physical pages. A descriptor,
//! where the sharing strategy has one, travels once per group and worker ([`TensorSharing`]). For
//! that the program installs the allocator
//! [`ShareAlloc`](tensor_share::ShareAlloc); without it every process has one copy.
//!
//! **Reading only.** `submit_orders` must not change tensors in place. In a worker such a change is
//! found at the end of the run, and is its error.
//!
//! **Threads of candle.** candle reads `RAYON_NUM_THREADS` and `CANDLE_NUM_THREADS`, and where they
//! are not set it looks for CPUs again at every product, which takes longer than a small network.
//! Set both before the program starts, whatever the runner.
//!
//! # Features
//!
//! `cuda` and `metal` are passed through to candle. They need the toolkits of these devices and are
//! not built in our checks. Agents hold tensors in CPU memory in any case ([`check_location`]); a
//! network on a device is loaded once per worker, by a worker initializer.
//!
//! # Limits
//!
//! - 64 bit Linux, because of `tensor-share`.
//! - Networks are asked one row at a time: a product with eight rows has other bits than eight
//!   products with one.
//! - candle's products and its tanh in 32 bits are the same for any number of threads, but not on
//!   every machine: they use what the CPU and the C library have.
//! - What an agent's *state* holds of shared memory stays in the workers until the run ends.
#![forbid(unsafe_code)]

mod candle_agent;
mod device;
mod draw;
mod error;
mod features;
mod load;
mod model;
mod network;
mod sharing;

pub use candle_agent::{CandleAgent, CandleSettings};
pub use device::check_location;
pub use error::{Error, ErrorKind, Result};
pub use features::log_returns;
pub use model::{Model, SharedModel};
pub use network::{Network, Networks};
pub use sharing::TensorSharing;

use pams_agent::Registry;

/// Adds the class `CandleAgent`, and lets agents share tensors with worker processes.
pub fn register(registry: &mut Registry) {
    registry.agent::<CandleAgent>("CandleAgent").sharing(TensorSharing);
}

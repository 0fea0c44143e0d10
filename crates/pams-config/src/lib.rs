//! Reads PAMS configuration files into checked, typed settings and reports every mistake with its path.
#![forbid(unsafe_code)]

mod block;
mod catalog;
mod context;
mod error;
mod macros;
mod markets;
mod names;
mod nearest;
mod node;
mod parse;
mod place;
mod python;
mod random_value;
mod read;
mod reference;
mod schema;
mod settings;
mod value;

pub use pams_core::random::RandomValue;

pub use block::{Block, ConfigBlock};
pub use catalog::{ClassCatalog, ClassKind, ClassSettings, no_settings, read_settings};
pub use context::{Context, Strictness};
pub use error::{ConfigError, Problem, Warning};
#[doc(hidden)]
pub use macros::__private;
pub use markets::Markets;
pub use names::Names;
pub use node::{Members, Node, NodeValue};
pub use place::{Path, Place, Position};
pub use reference::{MarketReference, SpotMarketReference};
pub use schema::schema;
pub use settings::{
    AgentGroup, Correlation, EventSettings, MarketGroup, SessionSettings, Settings,
    SimulationSettings, StartMethod,
};
pub use value::{ConfigValue, Located, NonNegative, Positive};

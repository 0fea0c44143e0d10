//! Reads PAMS configuration files into checked, typed settings and reports every mistake with its path.
//!
//! A config is one JSON object. Its key `simulation` lists groups of markets, groups of agents and sessions; every other
//! key is a named block: a market group, an agent group, an event, or a template that others extend. [`Settings`] is what
//! a config means: names made, inheritance resolved, references turned into ids, defaults filled in.
//!
//! ```
//! use pams_config::{
//!     Block, ClassCatalog, ClassKind, ClassSettings, ConfigBlock, RandomValue, Settings, Strictness, config_block,
//!     no_settings, read_settings,
//! };
//!
//! config_block! {
//!     /// Settings of a trader that only looks at the last price.
//!     pub struct TraderSettings {
//!         /// How far from the last price it bids.
//!         pub distance: RandomValue = "distance",
//!         /// How many steps an order lives.
//!         pub patience: u64 = "patience" default 10,
//!     }
//! }
//!
//! struct Catalog;
//!
//! impl ClassCatalog for Catalog {
//!     fn class_names(&self, kind: ClassKind) -> Vec<String> {
//!         match kind {
//!             ClassKind::Market => vec!["Market".to_owned()],
//!             ClassKind::Agent => vec!["Trader".to_owned()],
//!             ClassKind::Event => vec![],
//!         }
//!     }
//!
//!     fn read(&self, _: ClassKind, class: &str, block: &mut Block<'_>) -> Option<ClassSettings> {
//!         match class {
//!             "Trader" => read_settings::<TraderSettings>(block),
//!             _ => Some(no_settings()),
//!         }
//!     }
//!
//!     fn schema(&self, _: ClassKind, class: &str) -> serde_json::Value {
//!         match class {
//!             "Trader" => TraderSettings::schema(),
//!             _ => serde_json::json!({"type": "object"}),
//!         }
//!     }
//! }
//!
//! let text = br#"{
//!   "simulation": {"markets": ["M"], "agents": ["Traders"], "sessions": []},
//!   "M": {"class": "Market", "tickSize": 0.1, "marketPrice": 300},
//!   "Traders": {"class": "Trader", "numAgents": 100, "markets": ["M"], "cashAmount": 1, "assetVolume": 1,
//!               "distnace": [0, 1]}
//! }"#;
//! let error = Settings::from_json(text, &Catalog, Strictness::Strict).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "Traders.distance: this key is required (line 4, column 14)\n\
//!      Traders.distnace: unknown key (line 5, column 15); did you mean `distance`?"
//! );
//!
//! let text = String::from_utf8_lossy(text).replace("distnace", "distance");
//! let settings = Settings::from_json(text.as_bytes(), &Catalog, Strictness::Strict)?;
//! let traders = &settings.agents[0];
//! assert_eq!(traders.names.name(99), "Traders-99");
//! assert_eq!(traders.class_settings.downcast_ref::<TraderSettings>().unwrap().patience, 10);
//! # Ok::<(), pams_config::ConfigError>(())
//! ```
//!
//! # Concepts
//!
//! - **Blocks.** Only what `simulation` lists is read, together with what it `extends`: a child's key wins, chains are
//!   followed, and the keys that make names from numbers (`from`, `to`) are not inherited.
//! - **Groups.** A block of markets or agents makes one or more of them. [`Names`] makes their names when they are asked
//!   for, so a million agents cost nothing. Ids count in the order of the lists, whatever the names are.
//! - **References.** An agent's `markets` take names of groups, all other keys take names of markets
//!   ([`MarketReference`], [`SpotMarketReference`]). They are ids once they are read.
//! - **Random values.** A [`RandomValue`] is kept as it was written and drawn later, by whoever owns the generator.
//!
//! # Classes
//!
//! This crate knows no class. It asks a [`ClassCatalog`] which there are and how their own keys are read. Those are
//! declared once with [`config_block!`], which makes the struct, its reader, its part of the JSON Schema and the list of
//! keys; [`config_choice!`] does it for keys with a few right strings. [`ConfigValue`] is what a key's type must be able
//! to do.
//!
//! # Mistakes
//!
//! Reading goes on after a mistake, so that a [`ConfigError`] has all of them, in the order of the text, each with its
//! path, line, column and, where there is one, a remedy. A mistake in a template is reported where it stands, once, however
//! many blocks extend it. Unknown keys are mistakes, or warnings with [`Strictness::Lenient`]; keys that start with `MEMO`,
//! `_`, `//` or `comment` are notes. Blocks that nothing uses are not looked at.
//!
//! # Limits
//!
//! Arrays and objects may be nested 100 levels deep; a config may have 2³² − 1 markets and as many agents. Whole numbers
//! have 64 bits. What only the market model can say, such as whether correlations fit together, is checked there.
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
pub use context::{Context, ReadOptions, Strictness};
pub use error::{ConfigError, Problem, Warning};
#[doc(hidden)]
pub use macros::__private;
pub use markets::Markets;
pub use names::Names;
pub use nearest::suggest;
pub use node::{Members, Node, NodeValue};
pub use place::{Path, Place, Position};
pub use reference::{FilePath, MarketReference, SpotMarketReference};
pub use schema::schema;
pub use settings::{
    AgentGroup, Correlation, EventSettings, MarketGroup, SessionSettings, Settings,
    SimulationSettings, StartMethod,
};
pub use value::{ConfigValue, Located, NonNegative, Positive};

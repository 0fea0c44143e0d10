//! The settings of a simulation: what a config means.

use pams_core::random::RandomValue;
use pams_core::{AgentId, MarketId};
use serde_json::Value as Json;

use crate::catalog::{ClassCatalog, ClassSettings};
use crate::context::{ReadOptions, problem_at};
use crate::error::{ConfigError, Warning};
use crate::names::Names;
use crate::node::Node;
use crate::parse::parse;
use crate::place::{Path, Place};
use crate::read;

/// A checked config.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How the simulation is run.
    pub simulation: SimulationSettings,
    /// The market groups in the order of their ids.
    pub markets: Vec<MarketGroup>,
    /// The agent groups in the order of their ids.
    pub agents: Vec<AgentGroup>,
    /// The sessions in the order in which they run.
    pub sessions: Vec<SessionSettings>,
    /// The correlations of fundamentals, each pair once.
    pub correlations: Vec<Correlation>,
    /// What works but is probably not meant.
    pub warnings: Vec<Warning>,
    /// The config as it was understood: `simulation` and the blocks it lists, with what they inherit, without notes.
    /// Paths of files are joined with the folder of [`ReadOptions`].
    pub resolved: Json,
}

/// How the simulation is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulationSettings {
    /// How many workers a parallel runner uses; at least 1.
    pub num_parallel: Option<usize>,
    /// How worker processes are started.
    pub start_method: Option<StartMethod>,
    /// How many threads each worker of the torch-style runner uses; at least 1.
    pub torch_num_threads: Option<usize>,
    /// How many steps back the series are kept; at least 1, all of them when it is not given.
    pub history_window: Option<u64>,
}

crate::config_choice! {
    /// How worker processes are started.
    pub enum StartMethod {
        /// A fresh copy of the program.
        Spawn = "spawn",
        /// A server process without threads forks the workers.
        ForkServer = "forkserver",
        /// The workers are forked before any thread starts.
        Fork = "fork",
    }
}

/// A group of markets that differ in name only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MarketGroup {
    /// The name of the block.
    pub block: String,
    /// The class.
    pub class: String,
    /// The names of the markets.
    pub names: Names,
    /// The id of the first market; the others follow.
    pub first_id: MarketId,
    /// The smallest difference of prices; above 0.
    pub tick_size: f64,
    /// The market price at time 0; above 0.
    pub market_price: f64,
    /// The fundamental price at time 0; above 0. An index computes its own.
    pub fundamental_price: f64,
    /// The mean of the fundamental's log return; 0 for an index.
    pub fundamental_drift: f64,
    /// The standard deviation of the fundamental's log return; 0 for an index.
    pub fundamental_volatility: f64,
    /// How many shares there are; every component of an index has some.
    pub outstanding_shares: Option<u64>,
    /// The components of an index, in its own order; empty for any other market.
    pub components: Vec<MarketId>,
    /// What the class read.
    pub class_settings: ClassSettings,
}

/// A group of agents that differ in name and in what they draw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentGroup {
    /// The name of the block.
    pub block: String,
    /// The class.
    pub class: String,
    /// The names of the agents.
    pub names: Names,
    /// The id of the first agent; the others follow.
    pub first_id: AgentId,
    /// The market groups the agents can trade in, as indices into [`Settings::markets`], in the order of their list.
    pub markets: Vec<usize>,
    /// The cash at the start.
    pub cash_amount: RandomValue,
    /// The shares of each market at the start.
    pub asset_volume: RandomValue,
    /// What the class read.
    pub class_settings: ClassSettings,
}

/// A session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionSettings {
    /// The name; a number in the config is written as Python writes it.
    pub name: String,
    /// How many steps it lasts.
    pub iteration_steps: u64,
    /// Whether agents are asked for orders.
    pub with_order_placement: bool,
    /// Whether orders are matched.
    pub with_order_execution: bool,
    /// Accepted and without effect: who wants the print of each step chooses the logger that prints.
    pub with_print: bool,
    /// How many normal agents may submit orders in a step; nobody when it is not above 0.
    pub max_normal_orders: i64,
    /// How many high-frequency agents may submit orders in a round; nobody when it is not above 0.
    pub max_high_frequency_orders: i64,
    /// The probability of a high-frequency round after each list of orders; any finite number.
    pub high_frequency_submit_rate: f64,
    /// The events, in the order of their list.
    pub events: Vec<EventSettings>,
}

/// An event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventSettings {
    /// The name of the block.
    pub block: String,
    /// The class.
    pub class: String,
    /// Whether it happens at all.
    pub enabled: bool,
    /// What the class read.
    pub class_settings: ClassSettings,
}

/// How the fundamentals of two markets move together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// One market.
    pub first: MarketId,
    /// The other.
    pub second: MarketId,
    /// The correlation, between −1 and 1, both excluded.
    pub value: f64,
}

impl Settings {
    /// Reads a config from its text, which is JSON in UTF-8.
    ///
    /// As in Python, a key may be repeated (the last wins), and `NaN` and `Infinity` are read (and then refused with the
    /// path of the key). The options may be a [`Strictness`](crate::Strictness) alone.
    ///
    /// # Errors
    ///
    /// All mistakes of the config; only the first one if the text is no JSON.
    pub fn from_json(
        text: &[u8],
        catalog: &dyn ClassCatalog,
        options: impl Into<ReadOptions>,
    ) -> Result<Self, ConfigError> {
        let root = parse(text).map_err(|problem| {
            let help = problem.help.map(str::to_owned);
            ConfigError::syntax(problem_at(&problem.place, problem.message, help, Some(text)))
        })?;
        read::settings(&root, Some(text), catalog, options.into())
    }

    /// Reads a config that is JSON already. Mistakes have no line and column.
    ///
    /// # Errors
    ///
    /// All mistakes of the config.
    pub fn from_value(
        value: &Json,
        catalog: &dyn ClassCatalog,
        options: impl Into<ReadOptions>,
    ) -> Result<Self, ConfigError> {
        let root = Node::from_json(value, &Path::default(), 0).map_err(|path| {
            let message = "arrays and objects are nested too deep".to_owned();
            ConfigError::syntax(problem_at(&Place::new(path, None), message, None, None))
        })?;
        read::settings(&root, None, catalog, options.into())
    }

    /// How many markets there are.
    #[must_use]
    pub fn market_count(&self) -> usize {
        self.markets.iter().map(|group| group.names.len()).sum()
    }

    /// How many agents there are.
    #[must_use]
    pub fn agent_count(&self) -> usize {
        self.agents.iter().map(|group| group.names.len()).sum()
    }

    /// The markets that the agents of a group can trade in, in the order of the group's list.
    pub fn accessible_markets(&self, agents: &AgentGroup) -> impl Iterator<Item = MarketId> {
        agents.markets.iter().flat_map(|group| self.markets[*group].ids())
    }
}

impl MarketGroup {
    /// The ids of the markets.
    pub fn ids(&self) -> impl Iterator<Item = MarketId> + use<> {
        let first = self.first_id.index();
        (first..first + self.names.len()).map(MarketId::from_index)
    }
}

impl AgentGroup {
    /// The ids of the agents.
    pub fn ids(&self) -> impl Iterator<Item = AgentId> + use<> {
        let first = self.first_id.index();
        (first..first + self.names.len()).map(AgentId::from_index)
    }
}

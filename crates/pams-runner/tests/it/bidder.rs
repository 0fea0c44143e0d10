//! An agent that a config makes silent, talkative or faulty, and configs around it.

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Registry, Turn};
use pams_config::config_block;
use pams_core::{OrderRecord, OrderRequest, Record, Side};
use pams_runner::{MemorySaver, NameTable, RunReport, RunnerBuilder, SequentialRunner};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

config_block! {
    /// Keys of the bidder.
    pub(crate) struct BidderSettings {
        /// How often it stays silent, from 0 to 1.
        pub silence: f64 = "silence" default 0.0,
        /// How many orders it submits at once.
        pub orders: u64 = "orders" default 1,
        /// The step at which it fails.
        pub fail_at: Option<i64> = "failAt",
        /// How many units it bids for.
        pub volume: u64 = "volume" default 1,
    }
}

/// Bids one more than the best bid, 100 at first; never sells, so nothing trades.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Bidder {
    silence: f64,
    orders: u64,
    fail_at: Option<i64>,
    volume: u64,
}

impl Agent for Bidder {
    type Settings = BidderSettings;
    type State = ();

    fn create(settings: &BidderSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        let BidderSettings { silence, orders, fail_at, volume } = *settings;
        Ok(Self { silence, orders, fail_at, volume })
    }

    fn submit_orders(
        &self,
        (): &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let market = &markets[turn.markets()[0]];
        if self.fail_at == Some(market.time().0) {
            return Err("no more ideas".into());
        }
        if turn.generator().random() < self.silence {
            return Ok(());
        }
        let price = market.best_bid().map_or(100.0, |bid| bid + 1.0);
        for _ in 0..self.orders {
            turn.submit(OrderRequest::limit(market.id(), Side::Buy, price, self.volume));
        }
        Ok(())
    }
}

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry.agent::<Bidder>("Bidder").high_frequency_agent::<Bidder>("FastBidder");
    registry
}

/// One session of so many steps; `changes` replace keys.
pub(crate) fn session(steps: u64, changes: &Json) -> Json {
    let mut session = json!({
        "sessionName": "day", "iterationSteps": steps, "withOrderPlacement": true,
        "withOrderExecution": true, "withPrint": false
    });
    for (key, value) in changes.as_object().unwrap() {
        session[key] = value.clone();
    }
    session
}

/// A market `M` and bidders: groups `Slow` and `Fast` with these keys on top of their class.
pub(crate) fn config(sessions: &[Json], slow: &Json, fast: &Json) -> Json {
    let mut config = json!({
        "simulation": {"markets": ["M"], "agents": ["Slow", "Fast"], "sessions": sessions},
        "M": {"class": "Market", "tickSize": 1, "marketPrice": 300},
        "Slow": {"class": "Bidder", "markets": ["M"], "cashAmount": 0, "assetVolume": 0},
        "Fast": {"class": "FastBidder", "markets": ["M"], "cashAmount": 0, "assetVolume": 0,
                 "numAgents": 0}
    });
    for (name, changes) in [("Slow", slow), ("Fast", fast)] {
        for (key, value) in changes.as_object().unwrap() {
            config[name][key] = value.clone();
        }
    }
    config
}

pub(crate) fn builder<'l>(config: &Json) -> RunnerBuilder<'l> {
    SequentialRunner::builder().registry(registry()).config_value(config.clone()).seed(7)
}

/// Runs a config and keeps everything.
#[track_caller]
pub(crate) fn run(config: &Json) -> (RunReport, MemorySaver) {
    let mut saver = MemorySaver::default();
    let outcome = builder(config).logger(&mut saver).build().unwrap().run();
    (outcome.unwrap_or_else(|error| panic!("{error}")), saver)
}

/// All accepted orders with the names of their agents.
pub(crate) fn orders(saver: &MemorySaver) -> Vec<(String, OrderRecord)> {
    let names: &NameTable = saver.names().unwrap();
    let orders = saver.records().iter().filter_map(|record| match record {
        Record::Order(order) => Some((names.agent(order.agent), *order)),
        _ => None,
    });
    orders.collect()
}

/// The names of the agents of each step's orders, runs of the same name once.
pub(crate) fn submitters(saver: &MemorySaver, n_steps: usize) -> Vec<Vec<String>> {
    let mut steps = vec![Vec::new(); n_steps];
    for (name, order) in orders(saver) {
        let step: &mut Vec<String> = &mut steps[usize::try_from(order.time.0).unwrap()];
        if step.last() != Some(&name) {
            step.push(name);
        }
    }
    steps
}

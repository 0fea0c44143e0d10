//! The block `simulation`: what there is and how it is run.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};

use serde_json::{Map, Value as Json};

use crate::block::{Block, ConfigBlock, Fields};
use crate::context::Context;
use crate::node::{Node, NodeValue};
use crate::read::group::BlockList;
use crate::read::session::Sessions;
use crate::read::{Source, agent, correlation, market};
use crate::settings::{
    AgentGroup, Correlation, MarketGroup, SessionSettings, SimulationSettings, StartMethod,
};

crate::config_block! {
    /// What there is and how it is run.
    pub(crate) struct SimulationKeys {
        /// How many workers a parallel runner uses; one less than there are CPUs when it is not given.
        pub(crate) num_parallel: Option<NonZeroUsize> = "numParallel",
        /// How worker processes are started.
        pub(crate) start_method: Option<StartMethod> = "startMethod",
        /// How many threads each worker of the torch-style runner uses; shared out when it is not given.
        pub(crate) torch_num_threads: Option<NonZeroUsize> = "torchNumThreads",
        /// How many steps back the series are kept; all of them when it is not given.
        pub(crate) history_window: Option<NonZeroU64> = "historyWindow",
    }
}

crate::config_block! {
    /// What there is.
    #[expect(dead_code, reason = "declared for its schema; read one by one, so that a wrong list does not hide others")]
    pub(crate) struct ListKeys {
        /// The market groups, in the order of their ids.
        pub(crate) markets: BlockList = "markets",
        /// The agent groups, in the order of their ids.
        pub(crate) agents: BlockList = "agents",
        /// The sessions, in the order in which they run.
        pub(crate) sessions: Vec<Node> = "sessions",
        /// How the fundamentals of markets move together.
        pub(crate) correlations: Option<Node> = "fundamentalCorrelations",
    }
}

/// What was read. A `None` stands for what could not be read, which was reported.
pub(crate) struct Simulation {
    pub(crate) settings: SimulationSettings,
    pub(crate) markets: Vec<Option<MarketGroup>>,
    pub(crate) agents: Vec<Option<AgentGroup>>,
    pub(crate) sessions: Vec<Option<SessionSettings>>,
    pub(crate) correlations: Vec<Correlation>,
}

/// Reads `simulation` and every block that it lists; their plain forms go to `resolved`.
pub(crate) fn read(
    source: Source<'_>,
    node: &Node,
    resolved: &mut Map<String, Json>,
    context: &mut Context,
) -> Option<Simulation> {
    let NodeValue::Object(members) = node.value() else {
        return context.expected(node, "an object");
    };
    let fields = Fields::of(members);
    let mut block = Block::new(node.place().clone(), &fields, context);
    let settings = SimulationKeys::read(&mut block).map(run_settings);
    let markets: Option<BlockList> = block.value("markets");
    let agents: Option<BlockList> = block.value("agents");
    let sessions: Option<Vec<Node>> = block.value("sessions");
    let correlations: Option<Option<Node>> = block.value("fundamentalCorrelations");
    block.report_unknown(&BTreeMap::new());
    let mut plain = block.resolved();

    if markets.is_none() {
        context.markets_mut().set_unlisted();
    }
    let markets = read_markets(source, markets.unwrap_or_default(), resolved, context);
    let agent_groups = agent::open(source, agents.unwrap_or_default(), context);
    let read_agent = |group: &Option<_>| agent::read(source, group.as_ref()?, resolved, context);
    let agents = agent_groups.iter().map(read_agent).collect();
    let correlations = correlations.flatten().and_then(|node| correlation::read(&node, context));
    let correlations = correlations.map(|(pairs, pairs_plain)| {
        plain.insert("fundamentalCorrelations".to_owned(), pairs_plain);
        pairs
    });
    let mut reader = Sessions::new(source);
    let mut plain_sessions = Vec::new();
    let read_session = |node| reader.read(node, &mut plain_sessions, resolved, context);
    let sessions = sessions.unwrap_or_default().iter().map(read_session).collect();
    plain.insert("sessions".to_owned(), plain_sessions.into());
    resolved.insert("simulation".to_owned(), plain.into());
    Some(Simulation {
        settings: settings?,
        markets,
        agents,
        sessions,
        correlations: correlations.unwrap_or_default(),
    })
}

fn read_markets(
    source: Source<'_>,
    listed: BlockList,
    resolved: &mut Map<String, Json>,
    context: &mut Context,
) -> Vec<Option<MarketGroup>> {
    let groups = market::open(source, listed, context);
    let mut opened = 0;
    let read_market = |group: &Option<_>| {
        let group = group.as_ref()?;
        opened += 1;
        market::read(source, group, opened - 1, resolved, context)
    };
    groups.iter().map(read_market).collect()
}

fn run_settings(keys: SimulationKeys) -> SimulationSettings {
    SimulationSettings {
        num_parallel: keys.num_parallel.map(NonZeroUsize::get),
        start_method: keys.start_method,
        torch_num_threads: keys.torch_num_threads.map(NonZeroUsize::get),
        history_window: keys.history_window.map(NonZeroU64::get),
    }
}

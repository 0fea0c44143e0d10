//! The names behind the ids of records.

use pams_config::{Names, Settings};
use pams_core::{AgentId, MarketId, SessionId};

/// The names of a simulation's markets, agents and sessions. Agents' names are made when they are
/// asked for, so a million agents cost nothing.
#[derive(Clone, Debug)]
pub struct NameTable {
    markets: Vec<String>,
    /// Groups that have agents, ascending by their first id.
    agents: Vec<(AgentId, Names)>,
    n_agents: usize,
    sessions: Vec<String>,
}

impl NameTable {
    pub(crate) fn new(settings: &Settings) -> Self {
        let agents = settings.agents.iter().filter(|group| !group.names.is_empty());
        Self {
            markets: settings.markets.iter().flat_map(|group| group.names.iter()).collect(),
            agents: agents.map(|group| (group.first_id, group.names.clone())).collect(),
            n_agents: settings.agent_count(),
            sessions: settings.sessions.iter().map(|session| session.name.clone()).collect(),
        }
    }

    /// The names of a run that is over, each list in the order of ids.
    #[must_use]
    pub fn from_lists(
        markets: Vec<String>,
        agents: impl IntoIterator<Item = String>,
        sessions: Vec<String>,
    ) -> Self {
        let agents: Vec<_> = agents
            .into_iter()
            .enumerate()
            .map(|(index, name)| (AgentId::from_index(index), Names::single(&name)))
            .collect();
        Self { markets, n_agents: agents.len(), agents, sessions }
    }

    /// The name of a market.
    ///
    /// # Panics
    ///
    /// If there is no such market.
    #[must_use]
    pub fn market(&self, market: MarketId) -> &str {
        &self.markets[market.index()]
    }

    /// The market with a name.
    #[must_use]
    pub fn market_id(&self, name: &str) -> Option<MarketId> {
        self.markets.iter().position(|market| market == name).map(MarketId::from_index)
    }

    /// The name of an agent.
    ///
    /// # Panics
    ///
    /// If there is no such agent.
    #[must_use]
    pub fn agent(&self, agent: AgentId) -> String {
        let group = self.agents.partition_point(|(first, _)| *first <= agent) - 1;
        let (first, names) = &self.agents[group];
        names.name(agent.index() - first.index())
    }

    /// The name of a session.
    ///
    /// # Panics
    ///
    /// If there is no such session.
    #[must_use]
    pub fn session(&self, session: SessionId) -> &str {
        &self.sessions[session.index()]
    }

    /// The number of markets.
    #[must_use]
    pub fn n_markets(&self) -> usize {
        self.markets.len()
    }

    /// The number of sessions.
    #[must_use]
    pub fn n_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The number of agents.
    #[must_use]
    pub fn n_agents(&self) -> usize {
        self.n_agents
    }
}

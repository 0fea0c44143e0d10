//! What an agent is, and what it sees when it is asked.

use std::fmt;
use std::ops::Index;

use pams_config::ConfigBlock;
use pams_core::random::{Arithmetic, Generator};
use pams_core::{
    Account, AgentId, ExecutionRecord, Instruction, MarketId, MarketView, OrderRecord,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::group::GroupSetup;

/// What an agent may fail with. It ends the run with the agent's name.
///
/// Any error type converts with `?`; a sentence becomes one with `"…".into()`.
pub type AgentError = Box<dyn std::error::Error + Send + Sync>;

/// A trader.
///
/// Asking is pure: [`submit_orders`](Self::submit_orders) reads the agent, its state, the markets
/// and its account, draws from its own generator, and submits instructions. It may run on any
/// thread or process, and may be asked again from the same state, so nothing else may change.
/// What an agent learns goes into its [`State`](Self::State), which changes in the callbacks only.
///
/// `Settings`, `State`, `create` and `submit_orders` are required; `State = ()` and
/// `Settings = `[`NoSettings`](crate::NoSettings) stand for none. An agent that reads the past
/// overrides [`look_back`](Self::look_back), or may be refused steps that are no longer kept.
///
/// An agent that would change itself when it is asked does not compile:
///
/// ```compile_fail,E0594
/// use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, Turn};
///
/// #[derive(Debug, serde::Serialize, serde::Deserialize)]
/// struct Forgetful {
///     turns: u64,
/// }
///
/// impl Agent for Forgetful {
///     type Settings = NoSettings;
///     type State = ();
///
///     fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
///         Ok(Self { turns: 0 })
///     }
///
///     fn submit_orders(&self, _: &(), _: &Markets<'_>, _: &mut Turn<'_>) -> Result<(), AgentError> {
///         self.turns += 1; // in a worker process this would be lost
///         Ok(())
///     }
/// }
/// ```
///
/// Without that line it does:
///
/// ```
/// use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, Turn};
///
/// #[derive(Debug, serde::Serialize, serde::Deserialize)]
/// struct Forgetful {
///     turns: u64,
/// }
///
/// impl Agent for Forgetful {
///     type Settings = NoSettings;
///     type State = ();
///
///     fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
///         Ok(Self { turns: 0 })
///     }
///
///     fn submit_orders(&self, _: &(), _: &Markets<'_>, _: &mut Turn<'_>) -> Result<(), AgentError> {
///         Ok(())
///     }
/// }
/// ```
pub trait Agent: Serialize + DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// The keys of the agent's class in a config.
    type Settings: ConfigBlock;

    /// What the agent's callbacks change. It begins as its default.
    type State: Serialize + DeserializeOwned + Default + Clone + fmt::Debug + Send + Sync + 'static;

    /// Makes an agent. Random settings are drawn here, from the agent's own generator.
    ///
    /// # Errors
    ///
    /// When the agent can't be made from what was drawn.
    fn create(settings: &Self::Settings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError>;

    /// Makes the agents of a group. By default each is [`create`](Self::create)d on its own; agents
    /// that share something, such as one memory for the weights of all their networks, make it
    /// here. The result has one agent for each of the group, in the order of ids.
    ///
    /// # Errors
    ///
    /// When an agent can't be made from what was drawn.
    fn create_group(
        settings: &Self::Settings,
        group: &mut GroupSetup<'_>,
    ) -> Result<Vec<Self>, AgentError> {
        group.each(|setup| Self::create(settings, setup))
    }

    /// Submits orders and cancels, or nothing, when it is this agent's turn.
    ///
    /// # Errors
    ///
    /// As the agent decides; the run ends with its name.
    fn submit_orders(
        &self,
        state: &Self::State,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError>;

    /// How many steps before the current one the agent reads. By default 0.
    fn look_back(&self) -> u64 {
        0
    }

    /// An order of this agent was accepted.
    fn accepted(&self, _state: &mut Self::State, _order: &OrderRecord) {}

    /// A cancel of this agent was accepted; the volume is what was left of the order.
    fn canceled(&self, _state: &mut Self::State, _cancel: &OrderRecord) {}

    /// An order of this agent traded. A trade with itself is told twice, as buyer and as seller.
    fn executed(&self, _state: &mut Self::State, _fill: &ExecutionRecord) {}
}

/// What an agent is made with, beside its settings.
#[derive(Debug)]
pub struct AgentSetup<'a> {
    id: AgentId,
    generator: &'a mut Generator,
    markets: &'a [MarketId],
}

impl<'a> AgentSetup<'a> {
    /// A setup for the agent `id` that may trade in `markets`, ascending by id.
    pub fn new(id: AgentId, generator: &'a mut Generator, markets: &'a [MarketId]) -> Self {
        Self { id, generator, markets }
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// The agent's own generator.
    pub fn generator(&mut self) -> &mut Generator {
        self.generator
    }

    /// The markets that the agent may trade in, ascending by id.
    #[must_use]
    pub fn markets(&self) -> &'a [MarketId] {
        self.markets
    }
}

/// All markets of the simulation as an agent sees them: read-only, indexed by id.
#[derive(Clone, Copy, Debug)]
pub struct Markets<'a>(&'a [MarketView]);

impl<'a> Markets<'a> {
    /// The given markets, which must be ordered by id.
    #[must_use]
    pub fn new(markets: &'a [MarketView]) -> Self {
        Self(markets)
    }

    /// All markets, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = &'a MarketView> + use<'a> {
        self.0.iter()
    }

    /// The market with a name. This searches: keep the id instead.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&'a MarketView> {
        self.0.iter().find(|market| market.name() == name)
    }
}

impl Index<MarketId> for Markets<'_> {
    type Output = MarketView;
    fn index(&self, market: MarketId) -> &MarketView {
        &self.0[market.index()]
    }
}

/// An agent's turn: who it is, what it owns, its random numbers, and where its instructions go.
#[derive(Debug)]
pub struct Turn<'a> {
    id: AgentId,
    account: &'a Account,
    generator: &'a mut Generator,
    instructions: &'a mut Vec<Instruction>,
}

impl<'a> Turn<'a> {
    /// A turn of the agent `id` whose instructions are added to `instructions`.
    pub fn new(
        id: AgentId,
        account: &'a Account,
        generator: &'a mut Generator,
        instructions: &'a mut Vec<Instruction>,
    ) -> Self {
        Self { id, account, generator, instructions }
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// The agent's cash and holdings.
    #[must_use]
    pub fn account(&self) -> &'a Account {
        self.account
    }

    /// The markets that the agent may trade in, ascending by id.
    #[must_use]
    pub fn markets(&self) -> &'a [MarketId] {
        self.account.markets()
    }

    /// The agent's own generator.
    pub fn generator(&mut self) -> &mut Generator {
        self.generator
    }

    /// The functions that the run computes with, so that its numbers are the same everywhere.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.generator.arithmetic()
    }

    /// Submits an order or a cancel. Instructions are processed in the order of submission.
    pub fn submit(&mut self, instruction: impl Into<Instruction>) {
        self.instructions.push(instruction.into());
    }
}

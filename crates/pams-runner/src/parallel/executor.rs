//! Where the questions of an agent-parallel run are answered.

use pams_agent::{AgentState, SharedAgent};
use pams_config::SimulationSettings;
use pams_core::random::Generator;
use pams_core::{Account, AgentId, Instruction, MarketView, StepDelta};

use crate::asking::{Purity, Subject, class_of};
use crate::population::Population;

/// Runs tasks somewhere: on threads, in processes, on other machines.
///
/// The runner calls [`prepare`](Self::prepare) before it makes the agents, [`start`](Self::start)
/// once, then [`update`](Self::update) and [`run`](Self::run) in any number and order,
/// [`finish`](Self::finish) if all went well, then [`stop`](Self::stop) once, also after an error.
/// `prepare` and `finish` may be left out. A question is pure, so an executor that loses a worker
/// may ask again elsewhere; the answer is the same. All answers must come from a replica that has
/// had every update before the call.
pub trait Executor: Send {
    /// Called when the config was read, before markets, agents and events are made: the place for
    /// what can only be done while the process has one thread. By default nothing happens.
    ///
    /// # Errors
    ///
    /// When the config can't be run here, or workers can't be started as it says.
    fn prepare(&mut self, _settings: &SimulationSettings) -> Result<(), ExecutorError> {
        Ok(())
    }

    /// Starts workers, each of which can read a copy of the plan's replica.
    ///
    /// # Errors
    ///
    /// When they can't be started.
    fn start(&mut self, plan: StartPlan) -> Result<(), ExecutorError>;

    /// Tells all workers what changed in the markets, before any later task.
    ///
    /// # Errors
    ///
    /// When it can't be told.
    fn update(&mut self, delta: StepDelta) -> Result<(), ExecutorError>;

    /// Runs tasks at the same time and answers in their order.
    ///
    /// # Errors
    ///
    /// When a task can't be answered at all. An agent that fails is an answer.
    fn run(&mut self, tasks: Vec<Task>) -> Result<Vec<Answer>, ExecutorError>;

    /// Called when all steps are over: looks whether workers did what they must not, such as
    /// changing memory that others read too. By default nothing is looked at.
    ///
    /// # Errors
    ///
    /// When one did; it is the run's error.
    fn finish(&mut self) -> Result<(), ExecutorError> {
        Ok(())
    }

    /// Ends all workers.
    fn stop(&mut self);
}

/// What an executor starts with.
#[derive(Clone, Debug)]
pub struct StartPlan {
    /// What the workers read.
    pub replica: Replica,
    /// How many workers are asked for; at least 1.
    pub workers: usize,
    /// The most agents that can be asked at the same time: the largest `maxNormalOrders`; at
    /// least 1.
    pub largest_batch: usize,
    /// What the config says about how the simulation is run.
    pub settings: SimulationSettings,
}

/// What an executor may fail with.
pub type ExecutorError = Box<dyn std::error::Error + Send + Sync>;

/// One question: an agent, whose turn it is, with everything that may have changed since the
/// workers started.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who is asked.
    pub agent: AgentId,
    /// What the agent owns now.
    pub account: Account,
    /// What the agent's callbacks have made of its state.
    pub state: AgentState,
    /// Whether the state may be another than the one that agents of this class begin with.
    pub state_changed: bool,
    /// The agent's generator.
    pub generator: Generator,
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The generator after whatever was drawn.
    pub generator: Generator,
    /// What the agent submitted, or the text of its error.
    pub outcome: Result<Vec<Instruction>, String>,
}

/// Questions that one worker answers one after the other.
pub type Task = Vec<Question>;

/// The answers to a task's questions, in their order.
pub type Answer = Vec<Reply>;

/// What a worker reads to answer: the markets and the constant parts of all agents.
#[derive(Clone, Debug)]
pub struct Replica {
    pub(crate) markets: Vec<MarketView>,
    pub(crate) agents: Vec<SharedAgent>,
    /// The classes of the agents, in the order of ids, each with its number of agents in a row.
    pub(crate) classes: Vec<(String, usize)>,
    pub(crate) purity: Purity,
}

impl Replica {
    pub(crate) fn new(markets: &[MarketView], population: &Population) -> Self {
        Self {
            markets: markets.to_vec(),
            agents: population.agents.iter().map(|agent| agent.constant().clone()).collect(),
            classes: population.classes.clone(),
            purity: population.purity,
        }
    }

    /// The constant parts of all agents, in the order of ids.
    #[must_use]
    pub fn agents(&self) -> &[SharedAgent] {
        &self.agents
    }

    /// The markets as the replica knows them.
    #[must_use]
    pub fn markets(&self) -> &[MarketView] {
        &self.markets
    }

    /// Brings the markets up to date.
    ///
    /// # Panics
    ///
    /// If an earlier update is missing.
    pub fn apply(&mut self, delta: &StepDelta) {
        delta.apply(&mut self.markets);
    }

    /// Answers a task.
    #[must_use]
    pub fn answer(&self, task: Task) -> Answer {
        task.into_iter().map(|question| self.reply(question)).collect()
    }

    pub(crate) fn reply(&self, question: Question) -> Reply {
        let Question { agent, account, state, mut generator, .. } = question;
        let mut instructions = Vec::new();
        let subject = Subject {
            agent,
            constant: &self.agents[agent.index()],
            state: &state,
            markets: &self.markets,
            account: &account,
        };
        let outcome = match self.purity {
            Purity::Trusted => subject.ask(&mut generator, &mut instructions),
            Purity::Checked => {
                let class = class_of(&self.classes, agent);
                subject.ask_twice(class, &mut generator, &mut instructions)
            }
        };
        let outcome = match outcome {
            Ok(()) => Ok(instructions),
            Err(error) => Err(error.to_string()),
        };
        Reply { generator, outcome }
    }
}

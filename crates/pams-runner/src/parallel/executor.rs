//! Where the questions of an agent-parallel run are answered.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pams_agent::{AgentError, AgentState, BoxedAgent, Markets, SharedAgent, Turn};
use pams_core::random::Generator;
use pams_core::{Account, AgentId, Instruction, MarketView, StepDelta};

/// Runs tasks somewhere: on threads, in processes, on other machines.
///
/// The runner calls [`start`](Self::start) once, then [`update`](Self::update) and
/// [`run`](Self::run) in any number and order, then [`stop`](Self::stop) once, also after an error.
/// A question is pure, so an executor that loses a worker may ask again elsewhere; the answer is
/// the same. All answers must come from a replica that has had every update before the call.
pub trait Executor: Send {
    /// Starts `workers` workers, each of which can read a copy of `replica`.
    ///
    /// # Errors
    ///
    /// When they can't be started.
    fn start(&mut self, replica: Replica, workers: usize) -> Result<(), ExecutorError>;

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

    /// Ends all workers.
    fn stop(&mut self);
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
    markets: Vec<MarketView>,
    agents: Vec<SharedAgent>,
}

impl Replica {
    pub(crate) fn new(markets: &[MarketView], agents: &[BoxedAgent]) -> Self {
        Self {
            markets: markets.to_vec(),
            agents: agents.iter().map(|agent| agent.constant().clone()).collect(),
        }
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

    fn reply(&self, question: Question) -> Reply {
        let Question { agent, account, state, mut generator } = question;
        let mut instructions = Vec::new();
        let mut turn = Turn::new(agent, &account, &mut generator, &mut instructions);
        let constant = &self.agents[agent.index()];
        let outcome = ask(|| constant.submit_orders(&state, &Markets::new(&self.markets), &mut turn));
        let outcome = match outcome {
            Ok(()) => Ok(instructions),
            Err(error) => Err(error.to_string()),
        };
        Reply { generator, outcome }
    }
}

/// Asks an agent; a panic becomes an error, so that it ends the run alike wherever it happens.
pub(crate) fn ask(question: impl FnOnce() -> Result<(), AgentError>) -> Result<(), AgentError> {
    // What the question has written to is dropped with the run that the error ends.
    catch_unwind(AssertUnwindSafe(question)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Err(format!("the agent panicked: {message}").into())
    })
}

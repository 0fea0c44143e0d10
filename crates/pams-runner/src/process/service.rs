//! What runs in a worker process.

use std::marker::PhantomData;
use std::sync::OnceLock;

use pams_agent::Registry;
use process_pool::{BoxError, Context, Entry, Service};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::memory::{self, Reporter};
use super::wire::{Crew, Update, WireQuestion, WireReply, WireTask, decode_state};
use crate::parallel::{Question, Replica};

/// The classes of this program, for workers to find.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// The classes that [`init`](super::init) was given.
pub(super) fn registry() -> Option<&'static Registry> {
    REGISTRY.get()
}

pub(super) fn set_registry(registry: &Registry) {
    // A second call has the classes of the first, as its workers do.
    let _ = REGISTRY.set(registry.clone());
}

/// Code that runs once in each worker process before it answers anything: loading a model,
/// choosing a device, setting a number of threads.
///
/// Give its arguments to [`ProcessExecutor::with_initializer`](super::ProcessExecutor::with_initializer),
/// and its [`worker_service`] to [`init_with`](super::init_with) at the top of `main`.
pub trait WorkerInitializer: Send + 'static {
    /// A name that no other initializer of the program has.
    const NAME: &'static str;

    /// What the initializer is given; the same in each worker.
    type Arguments: Serialize + DeserializeOwned + Clone + Send + 'static;

    /// Runs in a worker.
    ///
    /// # Errors
    ///
    /// The run ends with the error's text, after a bounded number of further starts.
    fn initialize(arguments: Self::Arguments) -> Result<(), BoxError>;
}

/// No initializer.
impl WorkerInitializer for () {
    const NAME: &'static str = "pams agents";
    type Arguments = ();

    fn initialize((): ()) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Answers questions to agents.
pub(super) struct AgentService<I> {
    /// Reports when it is dropped: before the replica, with which memory may go.
    _reporter: Option<Reporter>,
    registry: &'static Registry,
    replica: Replica,
    initializer: PhantomData<fn() -> I>,
}

/// The entry of the worker service with an initializer, for [`init_with`](super::init_with).
#[must_use]
pub fn worker_service<I: WorkerInitializer>() -> Entry {
    process_pool::service::<AgentService<I>>()
}

impl<I: WorkerInitializer> Service for AgentService<I> {
    const NAME: &'static str = I::NAME;
    type Args = (I::Arguments, Crew);
    type Request = WireTask;
    type Answer = Vec<WireReply>;
    type Update = Update;

    fn start((arguments, crew): Self::Args, context: &Context) -> Result<Self, BoxError> {
        I::initialize(arguments)?;
        let registry = registry().ok_or("invariant: `init` made this process a worker")?;
        memory::attach(&crew.memory, registry, context)?;
        let replica = crew.decode(registry)?;
        let reporter = Reporter::new(registry, context)?;
        Ok(Self { registry, replica, _reporter: reporter, initializer: PhantomData })
    }

    fn call(&mut self, task: WireTask, context: &Context) -> Result<Self::Answer, BoxError> {
        memory::attach(&task.memory, self.registry, context)?;
        task.questions.into_iter().map(|question| answer(&self.replica, question)).collect()
    }

    fn update(&mut self, update: Update, _: &Context) -> Result<(), BoxError> {
        update.apply(&mut self.replica);
        Ok(())
    }
}

/// Answers one question from a replica.
pub(super) fn answer(replica: &Replica, question: WireQuestion) -> Result<WireReply, BoxError> {
    let WireQuestion { agent, account, state, generator } = question;
    let constant = &replica.agents[agent.index()];
    let state_changed = state.is_some();
    let state = match state {
        Some(bytes) => decode_state(constant, &bytes)?,
        None => constant.initial_state(),
    };
    let before = generator.clone();
    let question = Question { agent, account, state, state_changed, generator };
    Ok(WireReply::new(replica.reply(question), &before))
}

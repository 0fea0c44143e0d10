//! Agents of all classes behind one pointer: what never changes, and the state that callbacks
//! change.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pams_core::{ExecutionRecord, OrderRecord};

use crate::agent::{Agent, AgentError, Markets, Turn};

/// An agent of any class together with its state.
#[derive(Debug)]
pub struct BoxedAgent {
    constant: SharedAgent,
    state: AgentState,
}

/// The part of an agent that never changes after it was made. Clones share it, so it can be held
/// by several threads.
#[derive(Clone, Debug)]
pub struct SharedAgent(Arc<dyn AnyAgent>);

/// The state of an agent of any class.
#[derive(Debug)]
pub struct AgentState(Box<dyn AnyState>);

impl BoxedAgent {
    /// An agent with its initial state.
    #[must_use]
    pub fn new<A: Agent>(agent: A) -> Self {
        let state = AgentState(Box::new(A::State::default()));
        Self { constant: SharedAgent(Arc::new(agent)), state }
    }

    /// What never changes.
    #[must_use]
    pub fn constant(&self) -> &SharedAgent {
        &self.constant
    }

    /// What callbacks change.
    #[must_use]
    pub fn state(&self) -> &AgentState {
        &self.state
    }

    /// See [`Agent::submit_orders`].
    ///
    /// # Errors
    ///
    /// As the agent decides.
    pub fn submit_orders(
        &self,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        self.constant.submit_orders(&self.state, markets, turn)
    }

    /// See [`Agent::look_back`].
    #[must_use]
    pub fn look_back(&self) -> u64 {
        self.constant.0.look_back()
    }

    /// See [`Agent::accepted`].
    pub fn accepted(&mut self, order: &OrderRecord) {
        self.constant.0.accepted(&mut *self.state.0, order);
    }

    /// See [`Agent::canceled`].
    pub fn canceled(&mut self, cancel: &OrderRecord) {
        self.constant.0.canceled(&mut *self.state.0, cancel);
    }

    /// See [`Agent::executed`].
    pub fn executed(&mut self, fill: &ExecutionRecord) {
        self.constant.0.executed(&mut *self.state.0, fill);
    }
}

impl SharedAgent {
    /// See [`Agent::submit_orders`].
    ///
    /// # Errors
    ///
    /// As the agent decides.
    ///
    /// # Panics
    ///
    /// If the state is that of another class.
    pub fn submit_orders(
        &self,
        state: &AgentState,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        self.0.submit_orders(&*state.0, markets, turn)
    }
}

impl Clone for AgentState {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

/// The methods of [`Agent`] that don't name its types. A state is always one of the agent's own
/// class, since both are made together.
trait AnyAgent: fmt::Debug + Send + Sync {
    fn submit_orders(
        &self,
        state: &dyn AnyState,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError>;
    fn look_back(&self) -> u64;
    fn accepted(&self, state: &mut dyn AnyState, order: &OrderRecord);
    fn canceled(&self, state: &mut dyn AnyState, cancel: &OrderRecord);
    fn executed(&self, state: &mut dyn AnyState, fill: &ExecutionRecord);
}

/// A state whose type was forgotten.
trait AnyState: Any + fmt::Debug + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn AnyState>;
}

impl<S: Any + Clone + fmt::Debug + Send + Sync> AnyState for S {
    fn boxed_clone(&self) -> Box<dyn AnyState> {
        Box::new(self.clone())
    }
}

impl<A: Agent> AnyAgent for A {
    fn submit_orders(
        &self,
        state: &dyn AnyState,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let state: &dyn Any = state;
        let state = state.downcast_ref().expect("invariant: the state of the agent's own class");
        Agent::submit_orders(self, state, markets, turn)
    }

    fn look_back(&self) -> u64 {
        Agent::look_back(self)
    }

    fn accepted(&self, state: &mut dyn AnyState, order: &OrderRecord) {
        Agent::accepted(self, own::<A>(state), order);
    }

    fn canceled(&self, state: &mut dyn AnyState, cancel: &OrderRecord) {
        Agent::canceled(self, own::<A>(state), cancel);
    }

    fn executed(&self, state: &mut dyn AnyState, fill: &ExecutionRecord) {
        Agent::executed(self, own::<A>(state), fill);
    }
}

fn own<A: Agent>(state: &mut dyn AnyState) -> &mut A::State {
    let state: &mut dyn Any = state;
    state.downcast_mut().expect("invariant: the state of the agent's own class")
}

//! Agents of all classes behind one pointer: what never changes, and the state that callbacks
//! change.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pams_core::{ExecutionRecord, OrderRecord};
use serde::{Deserializer, Serialize, Serializer};

use crate::agent::{Agent, AgentError, Markets, Turn};

/// An agent of any class together with its state.
#[derive(Debug)]
pub struct BoxedAgent {
    constant: SharedAgent,
    state: AgentState,
    /// Whether a callback may have changed the state since the agent was made.
    changed: bool,
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
        let constant = SharedAgent::new(agent);
        let state = constant.initial_state();
        Self { constant, state, changed: false }
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

    /// Whether a callback was called since the agent was made, so that its state may not be the
    /// initial one any more. Never for a state without content.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.changed && !self.state.is_empty()
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
        self.changed = true;
        self.constant.0.accepted(&mut *self.state.0, order);
    }

    /// See [`Agent::canceled`].
    pub fn canceled(&mut self, cancel: &OrderRecord) {
        self.changed = true;
        self.constant.0.canceled(&mut *self.state.0, cancel);
    }

    /// See [`Agent::executed`].
    pub fn executed(&mut self, fill: &ExecutionRecord) {
        self.changed = true;
        self.constant.0.executed(&mut *self.state.0, fill);
    }
}

impl SharedAgent {
    pub(crate) fn new<A: Agent>(agent: A) -> Self {
        Self(Arc::new(agent))
    }

    /// The state that an agent of this class begins with.
    #[must_use]
    pub fn initial_state(&self) -> AgentState {
        self.0.initial_state()
    }

    /// Reads a state of this agent's class from any serde format.
    ///
    /// # Errors
    ///
    /// When what is read is no such state.
    pub fn decode_state<'de, D: Deserializer<'de>>(
        &self,
        deserializer: D,
    ) -> Result<AgentState, erased_serde::Error> {
        self.0.decode_state(&mut <dyn erased_serde::Deserializer<'_>>::erase(deserializer))
    }

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

impl AgentState {
    /// Whether the state has no content, as `()` has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        size_of_val(&*self.0) == 0
    }
}

impl Serialize for SharedAgent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.0.as_serialize(), serializer)
    }
}

impl Serialize for AgentState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.0.as_serialize(), serializer)
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
    fn initial_state(&self) -> AgentState;
    fn decode_state(
        &self,
        deserializer: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<AgentState, erased_serde::Error>;
    fn as_serialize(&self) -> &dyn erased_serde::Serialize;
    fn accepted(&self, state: &mut dyn AnyState, order: &OrderRecord);
    fn canceled(&self, state: &mut dyn AnyState, cancel: &OrderRecord);
    fn executed(&self, state: &mut dyn AnyState, fill: &ExecutionRecord);
}

/// A state whose type was forgotten.
trait AnyState: Any + fmt::Debug + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn AnyState>;
    fn as_serialize(&self) -> &dyn erased_serde::Serialize;
}

impl<S: Any + Clone + Serialize + fmt::Debug + Send + Sync> AnyState for S {
    fn boxed_clone(&self) -> Box<dyn AnyState> {
        Box::new(self.clone())
    }

    fn as_serialize(&self) -> &dyn erased_serde::Serialize {
        self
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

    fn initial_state(&self) -> AgentState {
        AgentState(Box::new(A::State::default()))
    }

    fn decode_state(
        &self,
        deserializer: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<AgentState, erased_serde::Error> {
        let state: A::State = erased_serde::deserialize(deserializer)?;
        Ok(AgentState(Box::new(state)))
    }

    fn as_serialize(&self) -> &dyn erased_serde::Serialize {
        self
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

//! Agents of all classes behind one pointer, each with its state.

use std::fmt;

use pams_core::{ExecutionRecord, OrderRecord};

use crate::agent::{Agent, AgentError, Markets, Turn};

/// An agent of any class together with its state.
#[derive(Debug)]
pub struct BoxedAgent(Box<dyn AnyAgent>);

impl BoxedAgent {
    /// An agent with its initial state.
    #[must_use]
    pub fn new<A: Agent>(agent: A) -> Self {
        Self(Box::new(WithState { agent, state: A::State::default() }))
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
        self.0.submit_orders(markets, turn)
    }

    /// See [`Agent::look_back`].
    #[must_use]
    pub fn look_back(&self) -> u64 {
        self.0.look_back()
    }

    /// See [`Agent::accepted`].
    pub fn accepted(&mut self, order: &OrderRecord) {
        self.0.accepted(order);
    }

    /// See [`Agent::canceled`].
    pub fn canceled(&mut self, cancel: &OrderRecord) {
        self.0.canceled(cancel);
    }

    /// See [`Agent::executed`].
    pub fn executed(&mut self, fill: &ExecutionRecord) {
        self.0.executed(fill);
    }
}

/// The methods of [`Agent`] that don't name its types.
trait AnyAgent: fmt::Debug + Send + Sync {
    fn submit_orders(&self, markets: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError>;
    fn look_back(&self) -> u64;
    fn accepted(&mut self, order: &OrderRecord);
    fn canceled(&mut self, cancel: &OrderRecord);
    fn executed(&mut self, fill: &ExecutionRecord);
}

#[derive(Debug)]
struct WithState<A: Agent> {
    agent: A,
    state: A::State,
}

impl<A: Agent> AnyAgent for WithState<A> {
    fn submit_orders(&self, markets: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError> {
        self.agent.submit_orders(&self.state, markets, turn)
    }

    fn look_back(&self) -> u64 {
        self.agent.look_back()
    }

    fn accepted(&mut self, order: &OrderRecord) {
        self.agent.accepted(&mut self.state, order);
    }

    fn canceled(&mut self, cancel: &OrderRecord) {
        self.agent.canceled(&mut self.state, cancel);
    }

    fn executed(&mut self, fill: &ExecutionRecord) {
        self.agent.executed(&mut self.state, fill);
    }
}

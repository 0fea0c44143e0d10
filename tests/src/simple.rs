//! Agents without settings and without state, which differ in what they do when they are asked.

use std::fmt;

use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, Turn};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a [`Simple`] agent does.
pub trait Deed: Serialize + DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// How many steps back it looks.
    const LOOK_BACK: u64 = 0;

    /// Made for each agent.
    ///
    /// # Errors
    ///
    /// When it can't be made.
    fn make() -> Result<Self, AgentError>;

    /// See [`Agent::submit_orders`].
    ///
    /// # Errors
    ///
    /// As the agent decides.
    fn submit_orders(&self, markets: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError>;
}

/// An agent that only has something to do when it is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Simple<D: Deed>(D);

impl<D: Deed> Agent for Simple<D> {
    type Settings = NoSettings;
    type State = ();

    fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self(D::make()?))
    }

    fn submit_orders(
        &self,
        (): &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        self.0.submit_orders(markets, turn)
    }

    fn look_back(&self) -> u64 {
        D::LOOK_BACK
    }
}

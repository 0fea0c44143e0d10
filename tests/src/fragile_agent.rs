//! An agent whose process dies while it is asked.

use std::fs;
use std::path::Path;

use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, TestAgent, Turn};
use pams_config::config_block;
use serde::{Deserialize, Serialize};

config_block! {
    /// Keys of a fragile agent.
    pub struct FragileSettings {
        /// A directory. The agent ends its process when it finds a file there that is named after
        /// its id and the step, as in `3-17`, and removes the file first.
        pub fuses: String = "fuses",
    }
}

/// Does what a [`TestAgent`] does, after having ended its process once for each fuse.
#[derive(Debug, Serialize, Deserialize)]
pub struct FragileAgent {
    fuses: String,
    inner: TestAgent,
}

impl Agent for FragileAgent {
    type Settings = FragileSettings;
    type State = ();

    fn create(settings: &FragileSettings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        let inner = TestAgent::create(&NoSettings {}, setup)?;
        Ok(Self { fuses: settings.fuses.clone(), inner })
    }

    fn submit_orders(
        &self,
        state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        if let Some(market) = markets.iter().next() {
            let fuse = Path::new(&self.fuses).join(format!("{}-{}", turn.id(), market.time()));
            if fs::remove_file(fuse).is_ok() {
                std::process::abort();
            }
        }
        self.inner.submit_orders(state, markets, turn)
    }
}

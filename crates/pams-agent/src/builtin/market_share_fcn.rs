//! An FCN agent that chooses where to trade by how much is traded there.

use pams_core::Step;
use serde::{Deserialize, Serialize};

use super::fcn::{FcnAgent, FcnSettings};
use crate::agent::{Agent, AgentError, AgentSetup, Markets, Turn};

/// Added to every market's executed volume, in units, so that a market without any can be chosen.
const SMALLEST_WEIGHT: f64 = 1e-10;

/// Draws one of its markets, weighted by the executed volume of its time window, and does there
/// what an [`FcnAgent`] does. Class `MarketShareFCNAgent`, normal frequency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketShareFcnAgent(FcnAgent);

impl Agent for MarketShareFcnAgent {
    type Settings = FcnSettings;
    type State = ();

    fn create(settings: &FcnSettings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        FcnAgent::draw(settings, setup.generator()).map(Self)
    }

    fn submit_orders(
        &self,
        _state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let mut weights = Vec::with_capacity(turn.markets().len());
        for &market in turn.markets() {
            let market = &markets[market];
            let first = market.time().saturating_sub(self.0.window()).max(Step::ZERO);
            weights.push(market.executed_volume_since(first)?.to_f64() + SMALLEST_WEIGHT);
        }
        let chosen = turn.markets()[turn.generator().weighted_index(&weights)];
        self.0.submit_to(&markets[chosen], turn)
    }

    fn look_back(&self) -> u64 {
        self.0.window()
    }
}

//! An agent that trades at random.

use pams_core::{OrderRequest, Side};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentError, AgentSetup, Markets, Turn};
use crate::registry::NoSettings;

/// In each of its markets a buy (40 %), a sell (40 %) or nothing, at a price at most 10 price units
/// from the market price, with a volume and a time to live of 1 to 100. Class `TestAgent`, normal
/// frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestAgent {}

impl Agent for TestAgent {
    type Settings = NoSettings;
    type State = ();

    fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(
        &self,
        _state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &market in turn.markets() {
            let generator = turn.generator();
            let price = markets[market].market_price() + (generator.random() * 20.0 - 10.0);
            let volume = generator.integer(1, 100).unsigned_abs();
            let steps = generator.integer(1, 100).unsigned_abs();
            let choice = generator.random();
            let side = if choice < 0.4 {
                Side::Buy
            } else if choice < 0.8 {
                Side::Sell
            } else {
                continue;
            };
            turn.submit(OrderRequest::limit(market, side, price, volume).with_time_to_live(steps));
        }
        Ok(())
    }
}

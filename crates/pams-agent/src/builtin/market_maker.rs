//! An agent that quotes both sides.

use pams_config::{Block, MarketReference, config_block};
use pams_core::random::RandomValue;
use pams_core::{MarketId, OrderRequest, Side};
use serde::{Deserialize, Serialize};

use super::drawn::{describe, range, time_to_live};
use crate::agent::{Agent, AgentError, AgentSetup, Markets, Turn};

config_block! {
    /// Keys of the market makers.
    pub struct MarketMakerSettings {
        /// The market to quote in, one of the agent's.
        pub target_market: MarketReference = "targetMarket",
        /// The distance between the two quotes as a fraction of the fundamental price.
        pub net_interest_spread: RandomValue = "netInterestSpread",
        /// For how many steps the quotes live.
        pub order_time_length: RandomValue = "orderTimeLength" default RandomValue::Constant(2.0),
    }
    validate = check_target;
}

fn check_target(settings: &MarketMakerSettings, block: &mut Block<'_>) {
    let target = settings.target_market.0;
    if block.accessible_markets().is_some_and(|accessible| !accessible.contains(&target)) {
        let name = block.markets().name(target);
        let message = format!("`{name}` is not among the agent's `markets`");
        block.problem_with_help("targetMarket", message, "add its group there");
    }
    if let Some((lowest, highest)) = range(&settings.order_time_length)
        && highest < 1.0
    {
        let found = describe((lowest, highest));
        block.problem("orderTimeLength", format!("an order lives for at least 1 step, {found}"));
    }
}

/// Quotes one unit on each side of its target market around the middle of the best prices of all
/// its markets. Class `MarketMakerAgent`, high frequency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketMakerAgent {
    target: MarketId,
    net_interest_spread: f64,
    order_time_length: u64,
}

impl MarketMakerAgent {
    /// The middle between the highest best bid and the lowest best ask of the agent's markets, or
    /// the target's market price where one is missing, in price units.
    fn center(&self, markets: &Markets<'_>, turn: &Turn<'_>) -> f64 {
        let mine = || turn.markets().iter().map(|&market| &markets[market]);
        let bid = mine().filter_map(|market| market.best_bid()).reduce(f64::max);
        let ask = mine().filter_map(|market| market.best_ask()).reduce(f64::min);
        match (bid, ask) {
            (Some(bid), Some(ask)) => (bid + ask) / 2.0,
            _ => markets[self.target].market_price(),
        }
    }
}

impl Agent for MarketMakerAgent {
    type Settings = MarketMakerSettings;
    type State = ();

    fn create(
        settings: &MarketMakerSettings,
        setup: &mut AgentSetup<'_>,
    ) -> Result<Self, AgentError> {
        let generator = setup.generator();
        Ok(Self {
            target: settings.target_market.0,
            net_interest_spread: settings.net_interest_spread.draw(generator),
            order_time_length: time_to_live(
                "orderTimeLength",
                &settings.order_time_length,
                generator,
            )?,
        })
    }

    fn submit_orders(
        &self,
        _state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let center = self.center(markets, turn);
        let half = markets[self.target].fundamental_price() * self.net_interest_spread * 0.5;
        for (side, price) in [(Side::Buy, center - half), (Side::Sell, center + half)] {
            turn.submit(
                OrderRequest::limit(self.target, side, price, 1)
                    .with_time_to_live(self.order_time_length),
            );
        }
        Ok(())
    }
}

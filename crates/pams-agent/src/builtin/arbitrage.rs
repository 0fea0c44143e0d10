//! An agent that trades an index against its components.

use std::num::NonZeroU64;

use pams_config::{Block, config_block};
use pams_core::{MarketView, OrderRequest, Side};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentError, AgentSetup, Markets, Turn};

config_block! {
    /// Keys of the arbitrage agents.
    pub struct ArbitrageSettings {
        /// Units of each component in one arbitrage.
        pub order_volume: NonZeroU64 = "orderVolume",
        /// How far the index price has to be from its value, in price units.
        pub order_threshold_price: f64 = "orderThresholdPrice",
        /// For how many steps the orders live.
        pub order_time_length: NonZeroU64 = "orderTimeLength" default NonZeroU64::MIN,
    }
    validate = check_markets;
}

fn check_markets(_: &ArbitrageSettings, block: &mut Block<'_>) {
    let Some(accessible) = block.accessible_markets() else { return };
    let markets = block.markets();
    let mut problems = Vec::new();
    let indices: Vec<_> = accessible.iter().copied().filter(|&id| markets.is_index(id)).collect();
    if indices.is_empty() {
        let message = "an arbitrage agent needs an index among its markets";
        problems.push((message.to_owned(), "add an index's group, and those of its components"));
    }
    for index in indices {
        let missing: Vec<String> = markets
            .components(index)
            .iter()
            .filter(|component| !accessible.contains(component))
            .map(|&component| markets.name(component))
            .collect();
        if !missing.is_empty() {
            let message = format!(
                "an arbitrage agent of the index `{}` needs its components too: {} missing",
                markets.name(index),
                missing.join(", ")
            );
            problems.push((message, "add their groups"));
        }
    }
    for (message, help) in problems {
        block.problem_with_help("markets", message, help);
    }
}

/// Buys an index that is cheaper than its components and sells those, or the reverse. Class
/// `ArbitrageAgent`, high frequency.
///
/// An index is worth the share-weighted mean of its components' market prices; all shares must be
/// equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArbitrageAgent {
    order_volume: u64,
    order_threshold_price: f64,
    order_time_length: u64,
}

impl ArbitrageAgent {
    fn submit_to(
        &self,
        index: &MarketView,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let components = index.components();
        let all_run = index.is_running()
            && components.iter().all(|component| markets[component.market].is_running());
        if !all_run {
            return Ok(());
        }
        if components.iter().any(|component| component.shares != components[0].shares) {
            return Err(format!(
                "arbitrage needs components with equal outstandingShares, and those of the index {} \
                 differ: give them the same",
                index.name()
            )
            .into());
        }
        let (price, value) = (index.market_price(), value(index, markets));
        let side = if value > price && value - price > self.order_threshold_price {
            Side::Buy
        } else if value < price && price - value > self.order_threshold_price {
            Side::Sell
        } else {
            return Ok(());
        };
        let units = self
            .order_volume
            .checked_mul(components.len() as u64)
            .ok_or("orderVolume times the number of components is too large")?;
        let mut submit = |market, side, price, units| {
            turn.submit(
                OrderRequest::limit(market, side, price, units)
                    .with_time_to_live(self.order_time_length),
            );
        };
        submit(index.id(), side, price, units);
        for component in components {
            let price = markets[component.market].market_price();
            submit(component.market, side.opposite(), price, self.order_volume);
        }
        Ok(())
    }
}

/// The share-weighted mean of the components' market prices, in price units.
#[expect(clippy::cast_precision_loss, reason = "as Python divides a float by a whole number")]
fn value(index: &MarketView, markets: &Markets<'_>) -> f64 {
    let mut value = 0.0;
    let mut shares = 0_u128;
    for component in index.components() {
        value += markets[component.market].market_price() * component.shares as f64;
        shares += u128::from(component.shares);
    }
    value / shares as f64
}

impl Agent for ArbitrageAgent {
    type Settings = ArbitrageSettings;
    type State = ();

    fn create(settings: &ArbitrageSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self {
            order_volume: settings.order_volume.get(),
            order_threshold_price: settings.order_threshold_price,
            order_time_length: settings.order_time_length.get(),
        })
    }

    fn submit_orders(
        &self,
        _state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &market in turn.markets() {
            let market = &markets[market];
            if market.is_index() {
                self.submit_to(market, markets, turn)?;
            }
        }
        Ok(())
    }
}

//! An agent that takes its time: it plays many futures through before it decides.

use std::num::NonZeroU64;

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Turn};
use pams_config::config_block;
use pams_core::{MarketView, OrderRequest, Side};
use serde::{Deserialize, Serialize};

config_block! {
    /// Keys of a deliberator.
    pub struct DeliberatorSettings {
        /// How many futures it plays through for each order.
        pub paths: NonZeroU64 = "paths",
        /// How many steps each of them has, and how long its orders live.
        pub horizon: NonZeroU64 = "horizon",
    }
}

/// How many steps it looks back for the volatility.
const WINDOW: u64 = 20;

/// Bids or asks a price that a share of its futures stays below.
#[derive(Debug, Serialize, Deserialize)]
pub struct Deliberator {
    paths: u64,
    horizon: u64,
}

impl Agent for Deliberator {
    type Settings = DeliberatorSettings;
    type State = ();

    fn create(settings: &DeliberatorSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self { paths: settings.paths.get(), horizon: settings.horizon.get() })
    }

    fn submit_orders(
        &self,
        _: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let arithmetic = turn.arithmetic();
        for &market in turn.markets() {
            let price = markets[market].market_price();
            let volatility = volatility(&markets[market], turn)?;
            let mut ends: Vec<f64> = (0..self.paths)
                .map(|_| {
                    let moves = (0..self.horizon).map(|_| turn.generator().standard_normal());
                    price * arithmetic.exp(volatility * moves.sum::<f64>())
                })
                .collect();
            ends.sort_by(f64::total_cmp);
            let generator = turn.generator();
            let side = if generator.random() < 0.5 { Side::Buy } else { Side::Sell };
            let end = ends[usize::try_from(generator.below(self.paths))?];
            turn.submit(OrderRequest::limit(market, side, end, 1).with_time_to_live(self.horizon));
        }
        Ok(())
    }

    fn look_back(&self) -> u64 {
        WINDOW
    }
}

/// The root of the mean squared log return of the last steps, from 0.1 to 1 per cent: what it makes
/// of others' fear would frighten others.
fn volatility(market: &MarketView, turn: &Turn<'_>) -> Result<f64, AgentError> {
    let now = market.time();
    let mut sum = 0.0;
    let mut after = market.market_price();
    for age in 1..=WINDOW.min(now.since_start()) {
        let before = market.values_at(now.saturating_sub(age))?.market_price;
        sum += turn.arithmetic().ln(after / before).powi(2);
        after = before;
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of steps")]
    Ok((sum / WINDOW as f64).sqrt().clamp(0.001, 0.01))
}

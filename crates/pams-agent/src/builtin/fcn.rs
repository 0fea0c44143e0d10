//! The FCN agent: expectations from fundamentals, chart and noise (Chiarella and Iori, *A
//! simulation analysis of the microstructure of double auction markets*, Quantitative Finance 2,
//! 2002).

use pams_config::{Block, config_block, config_choice};
use pams_core::random::{Arithmetic, Generator, RandomValue};
use pams_core::{MarketView, OrderRequest, Side};
use serde::{Deserialize, Serialize};

use super::drawn::{describe, range, whole_number};
use crate::agent::{Agent, AgentError, AgentSetup, Markets, Turn};

config_choice! {
    /// How an order's price keeps its distance from the expected one.
    #[derive(Default, Serialize, Deserialize)]
    pub enum MarginType {
        /// The expected price times one minus (buy) or plus (sell) the margin.
        #[default]
        Fixed = "fixed",
        /// The expected price plus the margin times a standard normal number.
        Normal = "normal",
    }
}

config_block! {
    /// Keys of the FCN agents. Weights have no unit; prices are in price units, times in steps.
    pub struct FcnSettings {
        /// Weight of the fundamental price in the expected return; at least 0.
        pub fundamental_weight: RandomValue = "fundamentalWeight",
        /// Weight of the price's own trend; at least 0.
        pub chart_weight: RandomValue = "chartWeight",
        /// Weight of the noise; at least 0.
        pub noise_weight: RandomValue = "noiseWeight",
        /// Standard deviation of the noise, a log return per step.
        pub noise_scale: RandomValue = "noiseScale",
        /// How many steps the agent looks back and ahead; also its orders' time to live.
        pub time_window_size: RandomValue = "timeWindowSize",
        /// How far an order's price keeps from the expected one: a fraction from 0 to 1 with the
        /// fixed margin, price units with the normal one.
        pub order_margin: RandomValue = "orderMargin",
        /// In how many steps the price is expected to return to the fundamental one; the time
        /// window when it is not given.
        pub mean_reversion_time: Option<RandomValue> = "meanReversionTime",
        /// How the margin is applied.
        pub margin_type: MarginType = "marginType" default MarginType::Fixed,
    }
    validate = check_weights;
}

fn check_weights(settings: &FcnSettings, block: &mut Block<'_>) {
    let weights = [
        ("fundamentalWeight", settings.fundamental_weight),
        ("chartWeight", settings.chart_weight),
        ("noiseWeight", settings.noise_weight),
    ];
    for (key, weight) in weights {
        match range(&weight) {
            Some((lowest, highest)) if highest < 0.0 => {
                let found = describe((lowest, highest));
                block.problem(key, format!("a weight can't be negative, {found}"));
            }
            Some((lowest, _)) if lowest < 0.0 => {
                let message =
                    format!("a weight below 0 ends the run, and values from {lowest:?} are drawn");
                block.warn(key, message);
            }
            _ => {}
        }
    }
    if weights.iter().all(|(_, weight)| *weight == RandomValue::Constant(0.0)) {
        block.problem("fundamentalWeight", "the three weights can't all be 0");
    }
    if settings.margin_type == MarginType::Fixed
        && let Some((lowest, highest)) = range(&settings.order_margin)
        && (lowest > 1.0 || highest < 0.0)
    {
        let found = describe((lowest, highest));
        block.problem("orderMargin", format!("a fixed margin is a fraction from 0 to 1, {found}"));
    }
    if let Some((lowest, highest)) = range(&settings.time_window_size)
        && highest <= -1.0
    {
        let found = describe((lowest, highest));
        block.problem("timeWindowSize", format!("a window can't be negative, {found}"));
    }
}

/// Trades on what it expects from fundamentals, chart and noise. Class `FCNAgent`, normal frequency.
///
/// With the market price P, the fundamental price F, the window τ and τ' = min(t, τ), the expected
/// return per step is
///
/// ```text
/// r̂ = (w_F · (1/τ_r) · ln(F/P) + w_C · (1/τ') · ln(P/P[t−τ']) + w_N · σ · g) / (w_F + w_C + w_N)
/// ```
///
/// and the expected price P·exp(r̂·τ): the agent buys one unit when it is above P, sells one when it
/// is below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FcnAgent {
    fundamental_weight: f64,
    chart_weight: f64,
    noise_weight: f64,
    /// One over the sum of the weights.
    normalization: f64,
    noise_scale: f64,
    /// In steps; at least 0.
    window: u64,
    order_margin: f64,
    margin_type: MarginType,
    /// One over the mean reversion time in steps.
    reversion_rate: f64,
}

impl FcnAgent {
    /// Draws an agent's parameters.
    pub(super) fn draw(
        settings: &FcnSettings,
        generator: &mut Generator,
    ) -> Result<Self, AgentError> {
        let weight = |key: &str, value: &RandomValue, generator: &mut Generator| {
            let drawn = value.draw(generator);
            if drawn < 0.0 {
                return Err(format!("{key}: a weight can't be negative, and {drawn} was drawn"));
            }
            Ok(drawn)
        };
        let fundamental_weight =
            weight("fundamentalWeight", &settings.fundamental_weight, generator)?;
        let chart_weight = weight("chartWeight", &settings.chart_weight, generator)?;
        let noise_weight = weight("noiseWeight", &settings.noise_weight, generator)?;
        let noise_scale = settings.noise_scale.draw(generator);
        let window = whole_number("timeWindowSize", &settings.time_window_size, generator)?;
        let order_margin = settings.order_margin.draw(generator);
        let mean_reversion_time = match &settings.mean_reversion_time {
            Some(value) => whole_number("meanReversionTime", value, generator)?,
            None => window,
        };
        let sum = (fundamental_weight + chart_weight) + noise_weight;
        if sum == 0.0 {
            return Err("the three weights can't all be 0".into());
        }
        if settings.margin_type == MarginType::Fixed && !(0.0..=1.0).contains(&order_margin) {
            return Err(format!(
                "orderMargin: a fixed margin is a fraction from 0 to 1, and {order_margin} was drawn"
            )
            .into());
        }
        Ok(Self {
            fundamental_weight,
            chart_weight,
            noise_weight,
            normalization: 1.0 / sum,
            noise_scale,
            window: u64::try_from(window).map_err(|_| {
                format!("timeWindowSize: a window can't be negative, and {window} was drawn")
            })?,
            order_margin,
            margin_type: settings.margin_type,
            reversion_rate: per_step(mean_reversion_time),
        })
    }

    /// How many steps the agent looks back.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Submits the agent's order to one market, if it has one.
    pub(super) fn submit_to(
        &self,
        market: &MarketView,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let price = market.market_price();
        let expected = self.expected_price(market, turn)?;
        let margin_noise = match self.margin_type {
            MarginType::Fixed => None,
            MarginType::Normal => Some(turn.generator().standard_normal()),
        };
        let (buys, sells) = (expected > price, expected < price);
        if !(buys | sells) {
            return Ok(());
        }
        let side = if buys { Side::Buy } else { Side::Sell };
        let order_price = match margin_noise {
            Some(noise) => expected + noise * self.order_margin,
            // One sum for both sides, as nobody can foresee which it is.
            None => {
                let sign = f64::from(i8::from(side == Side::Sell) * 2 - 1);
                expected * (1.0 + sign * self.order_margin)
            }
        };
        if order_price < 0.0 {
            return Err(format!(
                "the order price {order_price} in market {} is negative",
                market.name()
            )
            .into());
        }
        turn.submit(
            OrderRequest::limit(market.id(), side, order_price, 1).with_time_to_live(self.window),
        );
        Ok(())
    }

    /// The price that the agent expects at the end of its window, in price units.
    fn expected_price(&self, market: &MarketView, turn: &mut Turn<'_>) -> Result<f64, AgentError> {
        let now = market.time();
        let price = market.market_price();
        let look_back = self.window.min(now.since_start());
        let past = market.values_at(now.saturating_sub(look_back))?.market_price;
        let arithmetic = turn.arithmetic();
        let no_log_return = |what: &str, ratio: f64| {
            format!("{what} in market {} is {ratio}: there is no log return", market.name())
        };
        let ratio = market.fundamental_price() / price;
        let fundamental = self.reversion_rate
            * log_return(arithmetic, ratio, self.fundamental_weight)
                .ok_or_else(|| no_log_return("fundamental over market price", ratio))?;
        let ratio = price / past;
        let chart = per_step(i64::try_from(look_back)?)
            * log_return(arithmetic, ratio, self.chart_weight)
                .ok_or_else(|| no_log_return("market price over past market price", ratio))?;
        let noise = self.noise_scale * turn.generator().standard_normal();
        let expected_return = self.normalization
            * ((self.fundamental_weight * fundamental + self.chart_weight * chart)
                + self.noise_weight * noise);
        #[expect(clippy::cast_precision_loss, reason = "as Python multiplies by a whole number")]
        let expected = price * arithmetic.exp(expected_return * self.window as f64);
        if expected.is_finite() {
            Ok(expected)
        } else {
            Err(format!(
                "the expected price in market {} is {expected}: noiseScale, timeWindowSize or the \
                 distance from the fundamental price is too large",
                market.name()
            )
            .into())
        }
    }
}

/// The logarithm of a ratio of prices, none when there is none. With weight zero it adds nothing to
/// the sum, not even a rounding, and is not computed.
#[inline]
fn log_return(arithmetic: Arithmetic, ratio: f64, weight: f64) -> Option<f64> {
    // The comparison is false for NaN too.
    let exists = ratio > 0.0 && ratio.is_finite();
    exists.then(|| if weight == 0.0 { 0.0 } else { arithmetic.ln(ratio) })
}

/// One over a number of steps, at least 1 of which are counted.
#[expect(clippy::cast_precision_loss, reason = "as Python divides by a whole number")]
fn per_step(steps: i64) -> f64 {
    1.0 / steps.max(1) as f64
}

impl Agent for FcnAgent {
    type Settings = FcnSettings;
    type State = ();

    fn create(settings: &FcnSettings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Self::draw(settings, setup.generator())
    }

    fn submit_orders(
        &self,
        _state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &market in turn.markets() {
            self.submit_to(&markets[market], turn)?;
        }
        Ok(())
    }

    fn look_back(&self) -> u64 {
        self.window
    }
}

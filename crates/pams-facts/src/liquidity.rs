//! What trading costs, and how much waits in the book.

use serde::Serialize;

use crate::returns::changes;
use crate::statistics::{Line, correlation, count, finite, line, mean};

/// The distance between the best buy and the best sell price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean of ask − bid, in price units.
    pub quoted: f64,
    /// Mean of (ask − bid) / ((ask + bid) / 2), in basis points (1/10 000).
    pub relative: f64,
    /// The part of the steps at whose end there were both prices and none could trade, from 0 to 1.
    pub two_sided: f64,
}

/// The quoted spread at the ends of the steps that have both prices, each step with the same weight.
///
/// Quoted and relative spread as in Hasbrouck, *Empirical Market Microstructure* (2007). A crossed book,
/// which a session without executions leaves, has no spread and is left out. NaN without a step that has
/// one.
#[must_use]
pub fn spread(best_bid: &[f64], best_ask: &[f64]) -> Spread {
    let quoted = quoted_spreads(best_bid, best_ask);
    let middles = best_bid.iter().zip(best_ask).map(|(bid, ask)| f64::midpoint(*bid, *ask));
    let relative: Vec<f64> =
        quoted.iter().zip(middles).map(|(spread, middle)| 10_000.0 * spread / middle).collect();
    Spread {
        quoted: mean(&quoted),
        relative: mean(&relative),
        two_sided: count(finite(&quoted).count()) / count(quoted.len()),
    }
}

/// ask − bid of each step; NaN where a price is missing or the book is crossed.
pub(crate) fn quoted_spreads(best_bid: &[f64], best_ask: &[f64]) -> Vec<f64> {
    let both = best_bid.iter().zip(best_ask);
    both.map(|(bid, ask)| if ask >= bid { ask - bid } else { f64::NAN }).collect()
}

/// How much more waits to buy than to sell at the best prices, at the end of each step.
///
/// ```text
/// I = (V_bid − V_ask) / (V_bid + V_ask)
/// ```
///
/// From −1 (only sellers) to 1 (only buyers): Gould and Bonart, *Queue imbalance as a one-tick-ahead
/// price predictor in a limit order book* (2016). NaN where nothing waits on either side.
#[must_use]
pub fn imbalance(bid_volume: &[f64], ask_volume: &[f64]) -> Vec<f64> {
    let both = bid_volume.iter().zip(ask_volume);
    both.map(|(bid, ask)| (bid - ask) / (bid + ask)).collect()
}

/// The correlation of the imbalance at the end of a step with the change of the mid price in the next.
///
/// Positive where imbalance foretells the price, as Gould and Bonart (2016) find. NaN if one of the two
/// never changes.
#[must_use]
pub fn imbalance_foretells(imbalance: &[f64], mid: &[f64]) -> f64 {
    correlation(imbalance, &changes(mid, 1))
}

/// What a unit bought moves the price: the slope of
///
/// ```text
/// mid[t] − mid[t − h] = a + λ · q[t] + e
/// ```
///
/// by least squares. q is the signed volume of the stretch: what was bought minus what was sold by those
/// who made the trades. λ, in price units per unit of the asset, is the one of Kyle, *Continuous auctions
/// and insider trading* (1985), estimated from total order flow as Hasbrouck does in *Trading costs and
/// returns for U.S. equities* (2009), but with differences of prices, as in Kyle's model, and the volume
/// itself instead of its root. [`Line::r_squared`] tells how much of the price changes order flow explains.
///
/// This is what happens in the same stretch, so it contains the part of the impact that later fades.
/// All NaN if signed volume never changes.
#[must_use]
pub fn price_impact(mid: &[f64], signed_volume: &[f64], horizon: usize) -> Line {
    line(&crate::returns::sums(signed_volume, horizon), &changes(mid, horizon))
}

/// The correlation of volume with the size of the return in the same stretch.
///
/// Positive in almost every market: Karpoff, *The relation between price changes and trading volume: a
/// survey* (1987). NaN if one of the two is constant.
#[must_use]
pub fn volume_volatility(prices: &[f64], volume: &[f64], horizon: usize) -> f64 {
    let returns = crate::returns::log_returns(prices, horizon);
    correlation(&crate::returns::sums(volume, horizon), &crate::returns::sizes(&returns))
}

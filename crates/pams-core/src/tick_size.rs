//! From prices to ticks and back.
//!
//! A price that lies on the grid up to the rounding of one division belongs to that level; any
//! other moves to the next level that is no better for the submitter's counterparty: down for a
//! buy, up for a sell. The stored price is always `tick size × level`, made once.

use serde::{Deserialize, Serialize};

use crate::order::Side;
use crate::quantity::Tick;

/// The distance between two price levels, in price units: finite and positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TickSize(f64);

/// Where a price falls on the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The level.
    pub tick: Tick,
    /// Whether the price was between two levels and had to move.
    pub moved: bool,
}

/// Why a number can't be a price or a tick size.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// A tick size that is zero, negative, infinite or not a number.
    #[error("the tick size must be a finite positive number, not {0}")]
    TickSize(f64),
    /// A price that is infinite or not a number.
    #[error("the price must be a finite number, not {0}")]
    NotFinite(f64),
    /// A price so many ticks away from zero that levels are no longer exact.
    #[error("the price {price} is more than 2^53 ticks of {tick_size} away from zero")]
    OutOfRange {
        /// The price that was asked for, in price units.
        price: f64,
        /// The market's tick size, in price units.
        tick_size: f64,
    },
}

/// The largest level, in ticks: the last whole number up to which every float is exact.
const LARGEST_LEVEL: f64 = 9_007_199_254_740_992.0;

impl TickSize {
    /// A tick size in price units.
    ///
    /// # Errors
    ///
    /// [`PriceError::TickSize`] unless the size is finite and positive.
    pub fn new(size: f64) -> Result<Self, PriceError> {
        if size.is_finite() && size > 0.0 { Ok(Self(size)) } else { Err(PriceError::TickSize(size)) }
    }

    /// The size in price units.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The price of a level, in price units.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "levels are at most 2^53, where floats are exact")]
    pub fn price(self, tick: Tick) -> f64 {
        self.0 * tick.0 as f64
    }

    /// The level of `price` for an order on `side`.
    ///
    /// With `r = price / size` and `n` the whole number nearest to `r` (ties to even), the level is
    /// `n` when `|r − n| ≤ min(4 ulp(max(1, |r|)), 0.25)`, else the floor of `r` for a buy and its
    /// ceiling for a sell.
    ///
    /// # Errors
    ///
    /// When the price is not finite or more than 2⁵³ ticks away from zero.
    ///
    /// ```
    /// use pams_core::{Side, Tick, TickSize};
    ///
    /// let tick_size = TickSize::new(0.1)?;
    /// assert_eq!(tick_size.place(300.05, Side::Buy)?.tick, Tick(3000));
    /// assert_eq!(tick_size.place(300.05, Side::Sell)?.tick, Tick(3001));
    /// assert_eq!(tick_size.price(tick_size.place(0.3, Side::Buy)?.tick), 0.30000000000000004);
    /// # Ok::<(), pams_core::PriceError>(())
    /// ```
    pub fn place(self, price: f64, side: Side) -> Result<Placement, PriceError> {
        if !price.is_finite() {
            return Err(PriceError::NotFinite(price));
        }
        let ratio = price / self.0;
        let magnitude = ratio.abs();
        if magnitude > LARGEST_LEVEL {
            return Err(PriceError::OutOfRange { price, tick_size: self.0 });
        }
        let nearest = ratio.round_ties_even();
        let unit = magnitude.max(1.0);
        let tolerance = (4.0 * (unit.next_up() - unit)).min(0.25);
        let moved = (ratio - nearest).abs() > tolerance;
        let level = match (moved, side) {
            (false, _) => nearest,
            (true, Side::Buy) => ratio.floor(),
            (true, Side::Sell) => ratio.ceil(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "a whole number within ±2^53")]
        Ok(Placement { tick: Tick(level as i64), moved })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(tick_size: f64, price: f64, side: Side) -> f64 {
        let tick_size = TickSize::new(tick_size).unwrap();
        tick_size.price(tick_size.place(price, side).unwrap().tick)
    }

    #[track_caller]
    fn check(tick_size: f64, price: f64, buy: f64, sell: f64) {
        assert_eq!(stored(tick_size, price, Side::Buy).to_bits(), buy.to_bits(), "buy {price}");
        assert_eq!(stored(tick_size, price, Side::Sell).to_bits(), sell.to_bits(), "sell {price}");
    }

    #[test]
    fn published_examples() {
        check(0.1, 0.3, 0.30000000000000004, 0.30000000000000004);
        check(0.1, 300.05, 300.0, 300.1);
        check(1e-5, 300.00001, 300.00001000000003, 300.00001000000003);
        check(1.0, 299.9999999999999, 300.0, 300.0);
        check(1.0, 300.00000000000006, 300.0, 300.0);
        check(0.3, 0.9, 0.8999999999999999, 0.8999999999999999);
        check(0.1, -1.05, -1.1, -1.0);
    }

    #[test]
    fn prices_on_the_grid_are_not_pushed_away_by_division() {
        let tenth = TickSize::new(0.1).unwrap();
        for level in 0..20_000_i32 {
            let price = f64::from(level) / 10.0;
            for side in [Side::Buy, Side::Sell] {
                let placement = tenth.place(price, side).unwrap();
                assert_eq!(placement, Placement { tick: Tick(level.into()), moved: false });
            }
        }
        let fine = TickSize::new(1e-5).unwrap();
        for level in (29_990_000..30_010_000_i32).step_by(1) {
            let price = f64::from(level) / 100_000.0;
            for side in [Side::Buy, Side::Sell] {
                assert_eq!(fine.place(price, side).unwrap().tick, Tick(level.into()));
            }
        }
    }

    #[test]
    fn numbers_that_are_no_price_are_errors() {
        let tick_size = TickSize::new(1e-5).unwrap();
        for price in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(tick_size.place(price, Side::Buy), Err(PriceError::NotFinite(_))));
        }
        for price in [1e300, -1e300, 1e12] {
            assert!(matches!(tick_size.place(price, Side::Sell), Err(PriceError::OutOfRange { .. })));
        }
        for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(TickSize::new(size), Err(PriceError::TickSize(_))));
        }
    }
}

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
    /// A price so many ticks away from zero that their number is not finite.
    #[error("the price {price:?} is too many ticks of {tick_size:?} away from zero")]
    OutOfRange {
        /// The price that was asked for, in price units.
        price: f64,
        /// The market's tick size, in price units.
        tick_size: f64,
    },
}

/// 2⁵³: up to here every whole number is a float, from here on every float is a whole number.
const EXACT: i64 = 1 << 53;

/// The bits of 2⁵³ as a float.
const EXACT_BITS: i64 = 0x4340_0000_0000_0000;

/// The number of ticks that a level stands for.
///
/// Up to 2⁵³ away from zero that is the tick's own number. Beyond it a tick's number counts the
/// floats instead of the whole numbers, which keeps the order and loses nothing.
#[expect(clippy::cast_precision_loss, reason = "numbers up to 2^53 are exact")]
fn n_ticks(tick: Tick) -> f64 {
    let distance = tick.0.unsigned_abs();
    if distance <= EXACT.unsigned_abs() {
        return tick.0 as f64;
    }
    let ticks = f64::from_bits(distance - EXACT.unsigned_abs() + EXACT_BITS.unsigned_abs());
    if tick.0 < 0 { -ticks } else { ticks }
}

/// The level that stands for a whole number of ticks; the inverse of [`n_ticks`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "a whole number within ±2^53, or the bits of a finite positive float"
)]
fn tick(n_ticks: f64) -> Tick {
    let distance = n_ticks.abs();
    if distance <= EXACT as f64 {
        return Tick(n_ticks as i64);
    }
    let level = distance.to_bits() as i64 - EXACT_BITS + EXACT;
    Tick(if n_ticks < 0.0 { -level } else { level })
}

/// The whole number nearest to `ratio`, ties to even.
///
/// Below 2⁵¹ the addition rounds to whole numbers, as a float of that size has no bits for more;
/// plain x86-64 has no instruction for it, and a call of the C library takes longer than the rest.
#[inline]
fn nearest_whole(ratio: f64) -> f64 {
    const LIMIT: f64 = 2_251_799_813_685_248.0;
    if ratio.abs() < LIMIT { (ratio + 3.0 * LIMIT) - 3.0 * LIMIT } else { ratio.round_ties_even() }
}

impl TickSize {
    /// A tick size in price units.
    ///
    /// # Errors
    ///
    /// [`PriceError::TickSize`] unless the size is finite and positive.
    pub fn new(size: f64) -> Result<Self, PriceError> {
        if size.is_finite() && size > 0.0 {
            Ok(Self(size))
        } else {
            Err(PriceError::TickSize(size))
        }
    }

    /// The size in price units.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The price of a level, in price units.
    #[must_use]
    pub fn price(self, tick: Tick) -> f64 {
        self.0 * n_ticks(tick)
    }

    /// The level of `price` for an order on `side`.
    ///
    /// With `r = price / size` and `n` the whole number nearest to `r` (ties to even), the level is
    /// `n` when `|r − n| ≤ min(4 ulp(max(1, |r|)), 0.25)`, else the floor of `r` for a buy and its
    /// ceiling for a sell.
    ///
    /// # Errors
    ///
    /// When the price or its number of ticks is not finite.
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
        if magnitude == f64::INFINITY {
            return Err(PriceError::OutOfRange { price, tick_size: self.0 });
        }
        let nearest = nearest_whole(ratio);
        let unit = magnitude.max(1.0);
        let tolerance = (4.0 * (unit.next_up() - unit)).min(0.25);
        let moved = (ratio - nearest).abs() > tolerance;
        // Numbers instead of branches: which side, and which neighbour is nearer, nobody can foresee.
        let down = moved & (side == Side::Buy) & (nearest > ratio);
        let up = moved & (side == Side::Sell) & (nearest < ratio);
        let level = nearest + f64::from(i8::from(up) - i8::from(down));
        Ok(Placement { tick: tick(level), moved })
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
    fn levels_keep_their_order_and_price_however_far_away() {
        let tick_size = TickSize::new(0.01).unwrap();
        let prices = [1.0, 9e13, 9.007_199_254_740_99e13, 9.1e13, 681_136_749_407_153_000.0, 1e300];
        let mut previous = Tick(0);
        for price in prices {
            let tick = tick_size.place(price, Side::Buy).unwrap().tick;
            assert!(tick > previous, "{price}");
            previous = tick;
            let on_the_grid = 0.01 * (price / 0.01).round_ties_even();
            assert_eq!(tick_size.price(tick).to_bits(), on_the_grid.to_bits(), "{price}");
            let mirrored = tick_size.place(-price, Side::Buy).unwrap().tick;
            assert_eq!(mirrored, Tick(-tick.0), "{price}");
        }
    }

    #[test]
    fn numbers_that_are_no_price_are_errors() {
        let tick_size = TickSize::new(1e-5).unwrap();
        for price in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(tick_size.place(price, Side::Buy), Err(PriceError::NotFinite(_))));
        }
        for price in [1e305, -1e305] {
            assert!(matches!(
                tick_size.place(price, Side::Sell),
                Err(PriceError::OutOfRange { .. })
            ));
        }
        for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(TickSize::new(size), Err(PriceError::TickSize(_))));
        }
    }
}

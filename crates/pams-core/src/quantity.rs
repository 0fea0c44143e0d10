//! Quantities as types: steps of time, ticks of price, volumes.
//!
//! Prices and cash are plain `f64` in the price units of the config: they take part in so much
//! arithmetic whose exact association is part of the contract that a wrapper would hide it.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A point in simulated time, in steps. The clock stands at −1 before the first session and at 0
/// when it begins.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Step(pub i64);

impl Step {
    /// Where every clock stands before the simulation begins.
    pub const BEFORE_START: Self = Self(-1);
    /// The first step.
    pub const ZERO: Self = Self(0);

    /// This step moved by `steps`, stopping at the ends of the number range.
    #[must_use]
    pub fn saturating_add(self, steps: u64) -> Self {
        Self(self.0.saturating_add_unsigned(steps))
    }

    /// This step moved back by `steps`, stopping at the ends of the number range.
    #[must_use]
    pub fn saturating_sub(self, steps: u64) -> Self {
        Self(self.0.saturating_sub_unsigned(steps))
    }

    /// How many steps lie between time 0 and this one; 0 before it.
    #[must_use]
    pub fn since_start(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// The next step. The last one that can be counted, which no run reaches, is its own next.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A price level as a whole number of tick sizes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tick(pub i64);

impl fmt::Display for Tick {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A number of units of an asset.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Volume(pub u64);

impl Volume {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Whether there is nothing left.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The volume as a factor of a price. Exact up to 2⁵³ units.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding beyond 2^53 is what Python's int-to-float conversion does as well"
    )]
    pub fn to_f64(self) -> f64 {
        self.0 as f64
    }

    /// The volume as a change of holdings.
    ///
    /// # Panics
    ///
    /// Never for an accepted order: the market refuses volumes beyond [`Volume::MAX_ORDER`].
    #[must_use]
    pub fn signed(self) -> i64 {
        i64::try_from(self.0).expect("invariant: accepted volumes are at most MAX_ORDER")
    }

    /// The largest volume of one order, in units: 2⁵³, up to which a volume is exact as a float.
    pub const MAX_ORDER: Self = Self(1 << 53);
}

impl From<u64> for Volume {
    fn from(units: u64) -> Self {
        Self(units)
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Add for Volume {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Volume {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Volume {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Volume {
    fn sum<I: Iterator<Item = Self>>(volumes: I) -> Self {
        Self(volumes.map(|volume| volume.0).sum())
    }
}

//! Random values of a config.

use serde::{Deserialize, Serialize};

/// A value that a config gives as a number or as a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RandomValue {
    /// Always the same number; nothing is drawn.
    Constant(f64),
    /// `u·(high − low) + low`; the ends may stand in any order and may be equal.
    Uniform {
        /// The value at `u = 0`.
        low: f64,
        /// The value at `u = 1`.
        high: f64,
    },
    /// A normal value; a negative deviation is legal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// `−mean·ln u`; a negative or zero mean is legal.
    Exponential {
        /// The mean.
        mean: f64,
    },
}

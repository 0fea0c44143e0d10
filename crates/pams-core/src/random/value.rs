//! Values that a config gives as a distribution.

use serde::{Deserialize, Serialize};

use super::Generator;

/// A configured value: a number, or a distribution from which each owner draws one.
///
/// ```
/// use pams_core::random::{Generator, GeneratorKind, RandomValue};
///
/// let mut generator = Generator::new(GeneratorKind::default(), 1);
/// let cash = RandomValue::Uniform { low: 9_000.0, high: 11_000.0 };
/// assert!((9_000.0..11_000.0).contains(&cash.draw(&mut generator)));
/// assert_eq!(RandomValue::Constant(10.0).draw(&mut generator), 10.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RandomValue {
    /// Always this number.
    Constant(f64),
    /// Equally likely anywhere between two bounds, as [`Generator::uniform`] draws it.
    Uniform {
        /// The value for a draw of 0; it may lie above `high`.
        low: f64,
        /// The value that a draw of 1 would give.
        high: f64,
    },
    /// Normal, as [`Generator::normal`] draws it.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Exponential, as [`Generator::exponential`] draws it.
    Exponential {
        /// The mean; it may be negative or 0.
        mean: f64,
    },
}

impl RandomValue {
    /// Draws a value. A constant draws nothing, so the generator stays as it is.
    pub fn draw(&self, generator: &mut Generator) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform { low, high } => generator.uniform(low, high),
            Self::Normal { mean, deviation } => generator.normal(mean, deviation),
            Self::Exponential { mean } => generator.exponential(mean),
        }
    }
}

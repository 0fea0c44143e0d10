//! How far prices are from the fundamental value.

use serde::Serialize;

use crate::statistics::mean;

/// The distance of prices P from the fundamental prices F, over the steps that have both.
///
/// All are NaN without such a step. The relative ones are the *relative absolute deviation* and *relative
/// deviation* of Stöckl, Huber and Kirchler, *Bubble measures in experimental asset markets* (2010), but
/// each step is divided by its own F: their formula divides by the mean of F, which is the same where F
/// is constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// Mean of |P − F|, in price units.
    pub mean_absolute: f64,
    /// √ of the mean of (P − F)², in price units.
    pub root_mean_square: f64,
    /// Mean of |P − F| / F.
    pub relative_absolute: f64,
    /// Mean of (P − F) / F: positive where the market is too dear.
    pub relative: f64,
}

/// Measures the distance of `prices` from `fundamental`.
///
/// ```
/// let deviation = pams_facts::deviation(&[110.0, 80.0], &[100.0, 100.0]);
/// assert_eq!(deviation.mean_absolute, 15.0);
/// assert_eq!(deviation.relative, -0.05);
/// ```
#[must_use]
pub fn deviation(prices: &[f64], fundamental: &[f64]) -> Deviation {
    let over = |measure: &dyn Fn(f64, f64) -> f64| {
        let values: Vec<f64> =
            prices.iter().zip(fundamental).map(|(p, f)| measure(*p, *f)).collect();
        mean(&values)
    };
    Deviation {
        mean_absolute: over(&|p, f| (p - f).abs()),
        root_mean_square: over(&|p, f| (p - f) * (p - f)).sqrt(),
        relative_absolute: over(&|p, f| (p - f).abs() / f),
        relative: over(&|p, f| (p - f) / f),
    }
}

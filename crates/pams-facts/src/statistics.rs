//! Means, moments, correlations, lines: what several facts are made of.
//!
//! Entries that are not finite are left out everywhere, in pairs where two series are compared.

use serde::Serialize;

/// The moments of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moments {
    /// How many finite values there are.
    pub count: usize,
    /// m̄ = Σ x / n. NaN without a value.
    pub mean: f64,
    /// s = √(Σ (x − m̄)² / (n − 1)). NaN with fewer than two values.
    pub standard_deviation: f64,
    /// g₁ = m₃ / m₂^1.5 with mₖ = Σ (x − m̄)ᵏ / n. NaN where all values are the same.
    pub skewness: f64,
    /// g₂ = m₄ / m₂² − 3; 0 for a normal distribution. NaN where all values are the same.
    pub excess_kurtosis: f64,
}

impl Moments {
    /// Whether there are two values that differ.
    pub(crate) fn varies(&self) -> bool {
        self.standard_deviation > 0.0
    }
}

/// The moments of the finite values of `values`.
///
/// Skewness and kurtosis are the plain ones, g₁ and g₂ of Joanes and Gill, *Comparing measures of
/// sample skewness and kurtosis* (1998): what `scipy.stats.skew` and `kurtosis` give. pandas gives
/// the adjusted G₁ and G₂.
///
/// ```
/// let moments = pams_facts::moments(&[1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(moments.mean, 2.5);
/// assert!((moments.excess_kurtosis - -1.36).abs() < 1e-12);
/// ```
#[must_use]
pub fn moments(values: &[f64]) -> Moments {
    let values: Vec<f64> = finite(values).collect();
    let n = count(values.len());
    // A sum of equal numbers rounds, and what is left would look like a very small spread.
    let same = values.iter().all(|value| value.to_bits() == values[0].to_bits());
    let mean = values.first().copied().filter(|_| same).unwrap_or_else(|| mean(&values));
    let (mut second, mut third, mut fourth) = (0.0, 0.0, 0.0);
    if !same {
        for value in &values {
            let deviation = value - mean;
            let square = deviation * deviation;
            second += square;
            third += square * deviation;
            fourth += square * square;
        }
    }
    let variance = second / n;
    Moments {
        count: values.len(),
        mean,
        standard_deviation: if values.len() < 2 { f64::NAN } else { (second / (n - 1.0)).sqrt() },
        skewness: (third / n) / variance.powf(1.5),
        excess_kurtosis: (fourth / n) / (variance * variance) - 3.0,
    }
}

/// The mean of the finite values; NaN if there is none.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    let (mut sum, mut n) = (0.0, 0_usize);
    for value in finite(values) {
        sum += value;
        n += 1;
    }
    sum / count(n)
}

/// A straight line y = intercept + slope · x, fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// How many pairs were fitted.
    pub count: usize,
    /// The change of y when x grows by 1.
    pub slope: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// The part of the variance of y that the line explains, from 0 to 1. NaN where y is constant.
    pub r_squared: f64,
    /// The standard error of the slope if errors are independent with one variance.
    pub slope_standard_error: f64,
}

/// Fits a line to the pairs of which both are finite, by ordinary least squares.
///
/// Slope and intercept are NaN if there are fewer than two different x, the standard error if there
/// are fewer than three pairs.
#[must_use]
pub fn line(x: &[f64], y: &[f64]) -> Line {
    let pairs = pairs(x, y);
    let n = count(pairs.len());
    let sums = Sums::of(&pairs);
    let slope = sums.xy / sums.xx;
    let intercept = sums.mean_y - slope * sums.mean_x;
    let residual: f64 = pairs.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    Line {
        count: pairs.len(),
        slope,
        intercept,
        r_squared: if sums.yy > 0.0 { 1.0 - residual / sums.yy } else { f64::NAN },
        slope_standard_error: if pairs.len() < 3 {
            f64::NAN
        } else {
            (residual / (n - 2.0) / sums.xx).sqrt()
        },
    }
}

/// The correlation of Pearson over the pairs of which both are finite, from −1 to 1.
///
/// NaN if one of the two is constant.
#[must_use]
pub fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let sums = Sums::of(&pairs(x, y));
    (sums.xy / (sums.xx.sqrt() * sums.yy.sqrt())).clamp(-1.0, 1.0)
}

/// A number of things as a float.
#[expect(clippy::cast_precision_loss, reason = "no series has more than 2^53 entries")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

pub(crate) fn finite(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().copied().filter(|value| value.is_finite())
}

fn pairs(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    x.iter()
        .copied()
        .zip(y.iter().copied())
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect()
}

/// Means, and sums of squares and products around them.
struct Sums {
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn of(pairs: &[(f64, f64)]) -> Self {
        let n = count(pairs.len());
        let centre = |values: &dyn Fn(&(f64, f64)) -> f64| {
            // As above: the mean of equal numbers is that number.
            let same =
                pairs.iter().all(|pair| values(pair).to_bits() == values(&pairs[0]).to_bits());
            match pairs.first() {
                Some(first) if same => values(first),
                _ => pairs.iter().map(values).sum::<f64>() / n,
            }
        };
        let (mean_x, mean_y) = (centre(&|pair| pair.0), centre(&|pair| pair.1));
        let mut sums = Self { mean_x, mean_y, xx: 0.0, xy: 0.0, yy: 0.0 };
        for (x, y) in pairs {
            let (x, y) = (x - mean_x, y - mean_y);
            sums.xx += x * x;
            sums.xy += x * y;
            sums.yy += y * y;
        }
        sums
    }
}

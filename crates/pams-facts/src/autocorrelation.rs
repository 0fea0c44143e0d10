//! How a series depends on its own past.

use serde::Serialize;

use crate::statistics::{self, Line, count, finite};

/// Autocorrelations ρ(0) … ρ(`max_lag`) of `values`.
///
/// ```text
/// ρ(k) = Σₜ (xₜ − m̄)(xₜ₊ₖ − m̄) / Σₜ (xₜ − m̄)²
/// ```
///
/// The mean and the denominator are those of the whole series, as in Box and Jenkins, *Time Series
/// Analysis* (1970), which keeps all ρ between −1 and 1. Values that are not finite count as the mean
/// (`missing="conservative"` in statsmodels). A lag without a pair is 0. All are NaN if all values
/// are the same or there is none.
#[must_use]
pub fn autocorrelation(values: &[f64], max_lag: usize) -> Vec<f64> {
    let mean = statistics::mean(values);
    let mut present = finite(values);
    let first = present.next().unwrap_or(f64::NAN);
    let same = !present.any(|value| value.to_bits() != first.to_bits());
    let deviations: Vec<f64> = values
        .iter()
        .map(|value| if value.is_finite() && !same { value - mean } else { 0.0 })
        .collect();
    let products = |lag: usize| -> f64 {
        let later = deviations.get(lag..).unwrap_or_default();
        deviations.iter().zip(later).map(|(a, b)| a * b).sum()
    };
    let whole = products(0);
    (0..=max_lag).map(|lag| products(lag) / whole).collect()
}

/// Half the width of the band around 0 in which 95 % of the autocorrelations of `n` independent values
/// lie: 1.96 / √n (Bartlett 1946).
///
/// Heavy tails widen the real band, so a value just outside proves little.
#[must_use]
pub fn independence_band(n: usize) -> f64 {
    1.959_963_984_540_054 / count(n).sqrt()
}

/// The test of Ljung and Box whether a series depends on its past.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LjungBox {
    /// Q = n (n + 2) Σₖ ρ(k)² / (n − k) over the lags 1 to [`LjungBox::LAGS`].
    pub statistic: f64,
    /// The probability of a Q at least as large if values are independent: the tail of a χ²
    /// distribution with as many degrees of freedom as lags.
    pub p_value: f64,
}

impl LjungBox {
    /// How many lags are tested.
    pub const LAGS: u32 = 10;
}

/// The test of Ljung and Box, *On a measure of lack of fit in time series models* (1978), over ten lags.
///
/// NaN if all values are the same, or if there are not more than ten.
///
/// ```
/// let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
/// assert!(pams_facts::ljung_box(&alternating).p_value < 1e-9);
/// ```
#[must_use]
pub fn ljung_box(values: &[f64]) -> LjungBox {
    let lags = LjungBox::LAGS as usize;
    let n = finite(values).count();
    if n <= lags {
        return LjungBox { statistic: f64::NAN, p_value: f64::NAN };
    }
    let n = count(n);
    let correlations = autocorrelation(values, lags);
    let terms = (1..=LjungBox::LAGS).zip(&correlations[1..]);
    let sum: f64 = terms.map(|(lag, rho)| rho * rho / (n - f64::from(lag))).sum();
    let statistic = n * (n + 2.0) * sum;
    LjungBox { statistic, p_value: chi_squared_tail(statistic, LjungBox::LAGS / 2) }
}

/// P(χ² > x) with 2 `half` degrees of freedom: e^(−x/2) Σⱼ (x/2)ʲ / j! for j < `half`.
fn chi_squared_tail(x: f64, half: u32) -> f64 {
    let (mut term, mut sum) = (1.0, 0.0);
    for j in 1..=half {
        sum += term;
        term *= x / 2.0 / f64::from(j);
    }
    sum * (-x / 2.0).exp()
}

/// How slowly clusters of volatility die out: β in ρ(k) ~ k^−β.
///
/// A line is fitted by least squares to ln ρ(k) over ln k, for the lags from 1 on up to the first whose
/// autocorrelation is not positive; `correlations` begins with lag 0. The slope is −β, and
/// [`Line::r_squared`] tells how well a power law fits. For absolute returns of stocks β is 0.2 to 0.4
/// (Cont 2001; Liu et al., *Statistical properties of the volatility of price fluctuations*, 1999).
///
/// `None` if fewer than three lags remain.
#[must_use]
pub fn decay(correlations: &[f64]) -> Option<Line> {
    let positive = correlations.iter().skip(1).take_while(|rho| **rho > 0.0);
    let (lags, values): (Vec<f64>, Vec<f64>) =
        (1..).zip(positive).map(|(lag, rho): (u32, _)| (f64::from(lag).ln(), rho.ln())).unzip();
    (lags.len() >= 3).then(|| statistics::line(&lags, &values))
}

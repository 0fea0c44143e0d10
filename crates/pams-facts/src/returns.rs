//! Returns, and what belongs to the same stretches of time.

/// Log returns `r = ln(p[t + h] / p[t])` over stretches of `horizon` steps that do not overlap.
///
/// The first price is where the first stretch begins; steps at the end that fill no stretch are left
/// out. A return is NaN where one of its two prices is not a positive number. There is none if there
/// are not more prices than `horizon`. A horizon of 0 counts as 1.
///
/// Log returns are those of Cont, *Empirical properties of asset returns: stylized facts and
/// statistical issues* (2001). They have no unit: 0.01 is about one percent.
///
/// ```
/// let returns = pams_facts::log_returns(&[1.0, 2.0, 4.0], 2);
/// assert!((returns[0] - 4_f64.ln()).abs() < 1e-15);
/// ```
#[must_use]
pub fn log_returns(prices: &[f64], horizon: usize) -> Vec<f64> {
    let usable = |price: f64| price.is_finite() && price > 0.0;
    ends(prices, horizon)
        .map(
            |(before, after)| {
                if usable(before) && usable(after) { (after / before).ln() } else { f64::NAN }
            },
        )
        .collect()
}

/// Differences `x[t + h] − x[t]` over the stretches of [`log_returns`]; NaN where one is missing.
#[must_use]
pub fn changes(values: &[f64], horizon: usize) -> Vec<f64> {
    ends(values, horizon).map(|(before, after)| after - before).collect()
}

/// Sums of the entries after the beginning of each stretch of [`log_returns`], up to its end.
#[must_use]
pub fn sums(values: &[f64], horizon: usize) -> Vec<f64> {
    let after_first = values.get(1..).unwrap_or_default();
    after_first.chunks_exact(horizon.max(1)).map(|stretch| stretch.iter().sum()).collect()
}

/// The sizes of `values`.
pub(crate) fn sizes(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.abs()).collect()
}

fn ends(values: &[f64], horizon: usize) -> impl Iterator<Item = (f64, f64)> {
    let horizon = horizon.max(1);
    let begins = values.iter().step_by(horizon);
    begins
        .zip(values.iter().skip(horizon).step_by(horizon))
        .map(|(before, after)| (*before, *after))
}

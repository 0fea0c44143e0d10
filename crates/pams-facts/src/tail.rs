//! How heavy tails are.

/// The side of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Large sizes of either sign.
    Both,
    /// Large losses.
    Lower,
    /// Large gains.
    Upper,
}

/// The tail index α of Hill, from the part `fraction` of the values that is furthest out.
///
/// With X₁ ≥ X₂ ≥ … the positive values of the tail (|x|, −x or x) and k = ⌊fraction · m⌋ of their
/// number m:
///
/// ```text
/// α = k / Σᵢ₌₁ᵏ ln(Xᵢ / Xₖ₊₁)
/// ```
///
/// Hill, *A simple general approach to inference about the tail of a distribution* (1975). P(X > x)
/// falls like x^−α; returns of stocks have 2 to 5 (Cont 2001), a normal distribution has no finite
/// index. Its standard error is about α / √k, larger where values depend on each other. The result
/// depends on the fraction, so tell it with the index.
///
/// NaN if k is less than 2, or if the k + 1 largest values are all the same.
///
/// ```
/// // Quantiles of a Pareto distribution with α = 3.
/// let values: Vec<f64> = (1..=10_000).map(|i| (f64::from(i) / 10_001.0).powf(-1.0 / 3.0)).collect();
/// let index = pams_facts::tail_index(&values, pams_facts::Tail::Upper, 0.05);
/// assert!((index - 3.0).abs() < 0.03);
/// ```
#[must_use]
pub fn tail_index(values: &[f64], tail: Tail, fraction: f64) -> f64 {
    let sized = values.iter().map(|value| match tail {
        Tail::Both => value.abs(),
        Tail::Lower => -value,
        Tail::Upper => *value,
    });
    let mut sizes: Vec<f64> = sized.filter(|size| size.is_finite() && *size > 0.0).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    let k = tail_count(sizes.len(), fraction);
    let Some(&threshold) = sizes.get(k).filter(|_| k >= 2) else { return f64::NAN };
    let sum: f64 = sizes[..k].iter().map(|size| (size / threshold).ln()).sum();
    if sum > 0.0 { crate::statistics::count(k) / sum } else { f64::NAN }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part from 0 to 1 of a number of values"
)]
fn tail_count(n: usize, fraction: f64) -> usize {
    (crate::statistics::count(n) * fraction.clamp(0.0, 1.0)).floor() as usize
}

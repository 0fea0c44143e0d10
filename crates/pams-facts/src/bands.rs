//! What is known about a fact from several runs.

use serde::Serialize;

use crate::facts::{Fact, Facts, Unit};
use crate::statistics::{count, moments};

/// One fact over several runs that differ in their seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// The fact's key.
    pub key: String,
    /// The unit of all values but `count`.
    pub unit: Unit,
    /// In how many runs it has a value; the others are left out.
    pub count: usize,
    /// The mean over runs. NaN without one.
    pub mean: f64,
    /// The standard deviation between runs. NaN with fewer than two.
    pub standard_deviation: f64,
    /// The standard error of the mean, s / √n.
    pub standard_error: f64,
    /// The lower end of the confidence interval of the mean.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The smallest value of a run.
    pub minimum: f64,
    /// The largest value of a run.
    pub maximum: f64,
}

/// The bands of all facts that `runs` have, in the order in which they come up.
///
/// The confidence interval with probability `level` is Student's t: mean ± t · s / √n with n − 1 degrees
/// of freedom. Runs with different seeds are independent, and that is all that the interval for a mean
/// needs beyond runs that are many or values near a normal distribution. The percentile bootstrap, which
/// is often taken instead, is too narrow with few runs (Hesterberg, *What teachers should know about the
/// bootstrap*, 2015), and would need random numbers for what has a formula.
///
/// It is a band for the *mean*. A single run lies between `minimum` and `maximum` as the others did.
#[must_use]
pub fn bands<'a>(runs: impl IntoIterator<Item = &'a Facts>, level: f64) -> Vec<Band> {
    let mut columns: Vec<(&Fact, Vec<f64>)> = Vec::new();
    for fact in runs.into_iter().flat_map(|facts| &facts.facts) {
        match columns.iter_mut().find(|(first, _)| first.key == fact.key) {
            Some((_, values)) => values.push(fact.value),
            None => columns.push((fact, vec![fact.value])),
        }
    }
    columns.into_iter().map(|(fact, values)| band(fact, &values, level)).collect()
}

fn band(fact: &Fact, values: &[f64], level: f64) -> Band {
    let moments = moments(values);
    let standard_error = moments.standard_deviation / count(moments.count).sqrt();
    let half = student_quantile(f64::midpoint(1.0, level), moments.count.saturating_sub(1))
        * standard_error;
    let extreme = |pick: fn(f64, f64) -> f64| {
        crate::statistics::finite(values).reduce(pick).unwrap_or(f64::NAN)
    };
    Band {
        key: fact.key.clone(),
        unit: fact.unit,
        count: moments.count,
        mean: moments.mean,
        standard_deviation: moments.standard_deviation,
        standard_error,
        low: moments.mean - half,
        high: moments.mean + half,
        minimum: extreme(f64::min),
        maximum: extreme(f64::max),
    }
}

/// The quantile of Student's t distribution at `probability`, which is at least 0.5.
///
/// NaN without a degree of freedom. The distribution function has a closed form for a whole number of
/// degrees, and is inverted by halving in the angle θ = arctan(t / √degrees).
#[must_use]
pub fn student_quantile(probability: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return f64::NAN;
    }
    let inside = 2.0 * probability - 1.0;
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    // Each round halves an interval of floats; 64 leave neighbours.
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if student_inside(middle, degrees) < inside {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).tan() * count(degrees).sqrt()
}

/// P(|t| < √degrees · tan θ): Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn student_inside(angle: f64, degrees: usize) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut j = if odd { 1 } else { 0 };
    while j + 2 <= degrees {
        sum += term;
        j += 2;
        term *= cosine * cosine * count(j - 1) / count(j);
    }
    if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

//! Columns as points of a chart: no more of them than a picture can show.

use crate::statistics::count;

/// How many stretches of time a line distinguishes: about one a pixel.
const STRETCHES: usize = 800;

/// Points of a column over time, in pieces between missing values.
///
/// With more points than pixels, the smallest and the largest value of each stretch stay, so that no peak
/// is lost.
pub(super) fn pieces(steps: &[i64], values: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let points: Vec<(f64, f64)> =
        steps.iter().zip(values).map(|(step, value)| (time(*step), *value)).collect();
    points
        .split(|(_, value)| !value.is_finite())
        .filter(|piece| !piece.is_empty())
        .map(|piece| thin(piece, points.len().div_ceil(STRETCHES)))
        .collect()
}

fn thin(points: &[(f64, f64)], stretch: usize) -> Vec<(f64, f64)> {
    if stretch <= 2 {
        return points.to_vec();
    }
    points
        .chunks(stretch)
        .flat_map(|chunk| {
            let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let low = chunk.iter().min_by(by_value).copied();
            let high = chunk.iter().max_by(by_value).copied();
            let mut both: Vec<(f64, f64)> = low.into_iter().chain(high).collect();
            both.sort_by(|a, b| a.0.total_cmp(&b.0));
            both.dedup();
            both
        })
        .collect()
}

/// Means over stretches: (begin, end, mean), at most `most` of them, and the steps of one stretch.
pub(super) fn means(steps: &[i64], values: &[f64], most: usize) -> (Vec<(f64, f64, f64)>, usize) {
    let stretch = values.len().div_ceil(most.max(1)).max(1);
    let bars = steps
        .chunks(stretch)
        .zip(values.chunks(stretch))
        .map(|(steps, values)| {
            let sum: f64 = crate::statistics::finite(values).sum();
            let begin = time(steps[0]);
            (begin, begin + count(steps.len()), sum / count(values.len()))
        })
        .collect();
    (bars, stretch)
}

/// A step as a place on an axis.
#[expect(clippy::cast_precision_loss, reason = "places on an axis")]
pub(super) fn time(step: i64) -> f64 {
    step as f64
}

/// The range of the axis of time.
pub(super) fn times(steps: &[i64]) -> std::ops::Range<f64> {
    match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => time(*first)..time((*last).max(first + 1)),
        _ => 0.0..1.0,
    }
}

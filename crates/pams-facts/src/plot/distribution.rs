//! The distribution of returns beside the normal one.

use plotters::prelude::*;

use super::Chart;
use super::canvas::{self, BLUE, Frame, GREY, Sample};
use crate::error::Error;
use crate::statistics::{count, finite, moments};

/// Densities of standardised returns on a logarithmic scale.
pub(super) fn histogram(market: &str, returns: &[f64]) -> Result<Option<Chart>, Error> {
    let moments = moments(returns);
    // A price that never moves has no distribution to show.
    if !moments.varies() {
        return Ok(None);
    }
    let scaled: Vec<f64> =
        finite(returns).map(|value| (value - moments.mean) / moments.standard_deviation).collect();
    let reach = scaled.iter().fold(4.0_f64, |reach, value| reach.max(value.abs())).ceil();
    let width = (2.0 * reach / 80.0).max(0.25);
    let bins = densities(&scaled, reach, width);
    let title = format!("{market}: distribution of returns");
    let frame = Frame {
        title: &title,
        x: "(return \u{2212} mean) / standard deviation",
        y: "probability density",
        legend: &[(Sample::Circle(BLUE), "returns"), (Sample::Dashes(GREY), "normal distribution")],
    };
    let svg = canvas::picture(&title, |area| {
        let lowest = 0.4 / (count(scaled.len()) * width);
        let highest = bins.iter().map(|bin| bin.1).fold(0.4, f64::max) * 2.0;
        let mut plot = canvas::plot(area, &frame, -reach..reach, (lowest..highest).log_scale())?;
        let places = (-400..=400).map(|i| f64::from(i) * reach / 400.0);
        let normal: Vec<(f64, f64)> = places
            .map(|x| (x, (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()))
            .filter(|(_, density)| *density >= lowest)
            .collect();
        plot.draw_series(DashedLineSeries::new(normal, 8, 5, GREY.stroke_width(2)))
            .map_err(|error| Error::drawing(&error))?;
        plot.draw_series(LineSeries::new(bins.iter().copied(), BLUE.stroke_width(1)))
            .map_err(|error| Error::drawing(&error))?;
        plot.draw_series(bins.iter().map(|bin| Circle::new(*bin, 4, BLUE.filled())))
            .map_err(|error| Error::drawing(&error))?;
        Ok(())
    })?;
    let caption = format!(
        "Density of {} returns in bins of {width:.2} standard deviations, on a logarithmic scale. Points \
         above the dashed line far from the middle are heavy tails. Empty bins are not shown.",
        moments.count
    );
    Ok(Some(Chart { name: "distribution", market: market.to_owned(), title, caption, svg }))
}

/// Middle and density of each bin that has values.
fn densities(values: &[f64], reach: f64, width: f64) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut bins = Vec::new();
    // A bin lies around 0, so that prices that do not move fall into its middle.
    let mut middle = -(reach / width).round() * width;
    let mut rest = sorted.as_slice();
    while !rest.is_empty() {
        let inside = rest.partition_point(|value| *value < middle + width / 2.0);
        if inside > 0 {
            bins.push((middle, count(inside) / (count(values.len()) * width)));
        }
        rest = &rest[inside..];
        middle += width;
    }
    bins
}

//! Autocorrelations with the band of independence.

use plotters::prelude::*;

use super::Chart;
use super::canvas::{self, BLUE, Frame, GREY, Sample, VERMILION};
use crate::autocorrelation::independence_band;
use crate::error::Error;
use crate::facts::{Correlograms, Options};
use crate::statistics::{count, moments};

/// Autocorrelations of returns, of their sizes and of their squares.
pub(super) fn correlogram(
    market: &str,
    returns: &[f64],
    options: &Options,
) -> Result<Option<Chart>, Error> {
    let moments = moments(returns);
    let lags = options.max_lag.min(moments.count.saturating_sub(1));
    if !moments.varies() || lags == 0 {
        return Ok(None);
    }
    let all = Correlograms::of(returns, lags);
    let band = independence_band(moments.count);
    let title = format!("{market}: autocorrelations");
    let frame = Frame {
        title: &title,
        x: "lag (returns)",
        y: "autocorrelation",
        legend: &[
            (Sample::Circle(BLACK), "returns"),
            (Sample::Cross(BLUE), "absolute returns"),
            (Sample::Triangle(VERMILION), "squared returns"),
            (Sample::Dashes(GREY), "95 % of independent values"),
        ],
    };
    let svg = canvas::picture(&title, |area| {
        let shown = [&all.returns, &all.absolute, &all.squared].map(|values| &values[1..]);
        let y = canvas::range(shown.into_iter().chain([[band, -band].as_slice()]));
        let mut plot = canvas::plot(area, &frame, 0.0..count(lags) + 1.0, y)?;
        let end = count(lags) + 1.0;
        for (height, style) in [(band, GREY.stroke_width(2)), (-band, GREY.stroke_width(2))] {
            let line = DashedLineSeries::new([(0.0, height), (end, height)], 8, 5, style);
            plot.draw_series(line).map_err(|error| Error::drawing(&error))?;
        }
        let zero = LineSeries::new([(0.0, 0.0), (end, 0.0)], GREY.stroke_width(1));
        plot.draw_series(zero).map_err(|error| Error::drawing(&error))?;
        for (values, color) in shown.into_iter().zip([BLACK, BLUE, VERMILION]) {
            let points = points(values);
            plot.draw_series(LineSeries::new(points, color.stroke_width(1)))
                .map_err(|error| Error::drawing(&error))?;
        }
        let circles = points(shown[0]).into_iter().map(|at| Circle::new(at, 4, BLACK.filled()));
        plot.draw_series(circles).map_err(|error| Error::drawing(&error))?;
        let crosses =
            points(shown[1]).into_iter().map(|at| Cross::new(at, 4, BLUE.stroke_width(2)));
        plot.draw_series(crosses).map_err(|error| Error::drawing(&error))?;
        let triangles =
            points(shown[2]).into_iter().map(|at| TriangleMarker::new(at, 5, VERMILION.filled()));
        plot.draw_series(triangles).map_err(|error| Error::drawing(&error))?;
        Ok(())
    })?;
    let caption = format!(
        "Autocorrelations of {} returns, of their sizes and of their squares. Between the dashed lines, \
         at \u{b1}1.96/\u{221a}n = \u{b1}{band:.3}, lie 95 % of those of independent values.",
        moments.count
    );
    Ok(Some(Chart { name: "autocorrelation", market: market.to_owned(), title, caption, svg }))
}

fn points(values: &[f64]) -> Vec<(f64, f64)> {
    let lags = (1_u32..).map(f64::from);
    lags.zip(values.iter().copied()).filter(|(_, value)| value.is_finite()).collect()
}

//! Charts over time: prices, volume, spread, returns.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor;

use super::canvas::{self, BLUE, Frame, GREY, Plot, Sample, TEXT, VERMILION};
use super::points::{means, pieces, time, times};
use super::{Chart, MarketReport};
use crate::error::Error;
use crate::facts::Options;
use crate::liquidity::quoted_spreads;
use crate::statistics::finite;

const TIME: &str = "time (steps)";

/// Market price and fundamental price, with what happened.
pub(super) fn prices(market: &MarketReport) -> Result<Option<Chart>, Error> {
    let series = &market.series;
    if finite(&series.price).next().is_none() {
        return Ok(None);
    }
    let title = format!("{}: price and fundamental price", series.name);
    let mut legend = vec![(Sample::Line(BLUE), "market price")];
    if !series.fundamental.is_empty() {
        legend.push((Sample::Dashes(VERMILION), "fundamental price"));
    }
    if !market.marks.is_empty() {
        legend.push((Sample::Dots(GREY), "events and sessions"));
    }
    let frame = Frame { title: &title, x: TIME, y: "price (price units)", legend: &legend };
    let svg = canvas::picture(&title, |area| {
        let y = canvas::range([series.price.as_slice(), series.fundamental.as_slice()]);
        // Labels of marks stand above the lines.
        let room = if market.marks.is_empty() { 0.0 } else { 0.22 * (y.end - y.start) };
        let mut plot = canvas::plot(area, &frame, times(&series.step), y.start..y.end + room)?;
        draw_marks(&mut plot, market, y.start..y.end + room)?;
        draw_line(&mut plot, &series.step, &series.price, Sample::Line(BLUE))?;
        draw_line(&mut plot, &series.step, &series.fundamental, Sample::Dashes(VERMILION))
    })?;
    let caption =
        "Market price at the end of each step, and the value that fundamentalists trade towards.";
    Ok(Some(chart("prices", market, title, caption.to_owned(), svg)))
}

/// Traded volume.
pub(super) fn volume(market: &MarketReport) -> Result<Option<Chart>, Error> {
    let series = &market.series;
    if finite(&series.volume).next().is_none() {
        return Ok(None);
    }
    let (bars, stretch) = means(&series.step, &series.volume, 240);
    let title = format!("{}: traded volume", series.name);
    let frame = Frame {
        title: &title,
        x: TIME,
        y: "volume (units per step)",
        legend: &[(Sample::Bar(BLUE), "traded volume")],
    };
    let svg = canvas::picture(&title, |area| {
        let top = bars.iter().map(|bar| bar.2).fold(0.0, f64::max);
        let top = if top > 0.0 { 1.05 * top } else { 1.0 };
        let mut plot = canvas::plot(area, &frame, times(&series.step), 0.0..top)?;
        let bars = bars.iter().filter(|bar| bar.2 > 0.0).map(|(begin, end, height)| {
            Rectangle::new([(*begin, 0.0), (*end, *height)], BLUE.filled())
        });
        plot.draw_series(bars).map_err(|error| Error::drawing(&error))?;
        Ok(())
    })?;
    let caption = match stretch {
        1 => "Units traded in each step.".to_owned(),
        n => format!("Units traded in a step, as means over {n} steps."),
    };
    Ok(Some(chart("volume", market, title, caption, svg)))
}

/// The quoted spread.
pub(super) fn spread(market: &MarketReport) -> Result<Option<Chart>, Error> {
    let series = &market.series;
    let spread = quoted_spreads(&series.best_bid, &series.best_ask);
    if finite(&spread).next().is_none() {
        return Ok(None);
    }
    let title = format!("{}: quoted spread", series.name);
    let frame = Frame {
        title: &title,
        x: TIME,
        y: "ask \u{2212} bid (price units)",
        legend: &[(Sample::Line(VERMILION), "best sell price \u{2212} best buy price")],
    };
    let svg = canvas::picture(&title, |area| {
        let range = 0.0..canvas::range([spread.as_slice(), &[0.0]]).end;
        let mut plot = canvas::plot(area, &frame, times(&series.step), range)?;
        draw_line(&mut plot, &series.step, &spread, Sample::Line(VERMILION))
    })?;
    let caption = "At the end of each step. Gaps are steps in which one side of the book was empty or had a \
        market order at its top, or the book was crossed, as in a session without executions.";
    Ok(Some(chart("spread", market, title, caption.to_owned(), svg)))
}

/// Returns over time, whose clusters are easy to see.
pub(super) fn returns(
    market: &MarketReport,
    returns: &[f64],
    options: &Options,
) -> Result<Option<Chart>, Error> {
    let series = &market.series;
    if finite(returns).next().is_none() {
        return Ok(None);
    }
    let horizon = options.horizon.max(1);
    let ends: Vec<i64> = series.step.iter().skip(horizon).step_by(horizon).copied().collect();
    let title = format!("{}: returns", series.name);
    let label = match horizon {
        1 => "log return of one step".to_owned(),
        n => format!("log return of {n} steps"),
    };
    let legend = [(Sample::Line(GREY), label.as_str())];
    let frame = Frame { title: &title, x: TIME, y: "log return", legend: &legend };
    let svg = canvas::picture(&title, |area| {
        let y = canvas::range([returns, &[0.0]]);
        let mut plot = canvas::plot(area, &frame, times(&series.step), y)?;
        draw_line(&mut plot, &ends, returns, Sample::Line(GREY))
    })?;
    let caption =
        "Log returns of the price. Large ones that stand together are clusters of volatility.";
    Ok(Some(chart("returns", market, title, caption.to_owned(), svg)))
}

pub(super) fn chart(
    name: &'static str,
    market: &MarketReport,
    title: String,
    caption: String,
    svg: String,
) -> Chart {
    Chart { name, market: market.series.name.clone(), title, caption, svg }
}

pub(super) fn draw_line(
    plot: &mut Plot<'_, '_, RangedCoordf64, RangedCoordf64>,
    steps: &[i64],
    values: &[f64],
    sample: Sample,
) -> Result<(), Error> {
    for piece in pieces(steps, values) {
        let drawn = match sample {
            Sample::Line(color) | Sample::Circle(color) if piece.len() == 1 => {
                plot.draw_series([Circle::new(piece[0], 1, color.filled())]).map(drop)
            }
            Sample::Dashes(color) => {
                let style = color.stroke_width(2);
                plot.draw_series(DashedLineSeries::new(piece, 8, 5, style)).map(drop)
            }
            Sample::Line(color)
            | Sample::Dots(color)
            | Sample::Bar(color)
            | Sample::Circle(color)
            | Sample::Cross(color)
            | Sample::Triangle(color) => {
                plot.draw_series(LineSeries::new(piece, color.stroke_width(1))).map(drop)
            }
        };
        drawn.map_err(|error| Error::drawing(&error))?;
    }
    Ok(())
}

/// Dotted lines where something happened, with words at the top in rows, so that neighbours do not hide
/// each other.
fn draw_marks(
    plot: &mut Plot<'_, '_, RangedCoordf64, RangedCoordf64>,
    market: &MarketReport,
    y: std::ops::Range<f64>,
) -> Result<(), Error> {
    const ROWS: u32 = 3;
    let row_height = 0.065 * (y.end - y.start);
    let end = times(&market.series.step).end;
    let shown = market
        .marks
        .iter()
        .filter(|mark| times(&market.series.step).contains(&time(mark.step)) || mark.step == 0);
    for (mark, row) in shown.zip((0..ROWS).cycle()) {
        let x = time(mark.step);
        let top = y.end - f64::from(row) * row_height;
        let line = DashedLineSeries::new([(x, y.start), (x, top)], 2, 4, GREY.stroke_width(1));
        plot.draw_series(line).map_err(|error| Error::drawing(&error))?;
        // Words near the right end stand left of their line.
        let at_end = x > 0.8 * end + 0.2 * times(&market.series.step).start;
        let side = if at_end { text_anchor::HPos::Right } else { text_anchor::HPos::Left };
        let style = TextStyle::from(("sans-serif", TEXT - 1).into_font())
            .color(&BLACK)
            .pos(text_anchor::Pos::new(side, text_anchor::VPos::Top));
        let offset = if at_end { -4 } else { 4 };
        let words = EmptyElement::at((x, top)) + Text::new(mark.label.clone(), (offset, 2), style);
        plot.draw_series([words]).map_err(|error| Error::drawing(&error))?;
    }
    Ok(())
}

//! What waits in the book, as a map of time and price.

use std::ops::Range;

use plotters::prelude::*;

use super::canvas::{self, Frame, Sample};
use super::lines::{chart, draw_line};
use super::points::{time, times};
use super::{Chart, DepthLevel, MarketReport, Side};
use crate::error::Error;
use crate::statistics::{count, finite};

/// At most; there are not more columns than looks at the book.
const COLUMNS: usize = 220;
const ROWS: usize = 64;
/// Shades of a colour: what an eye tells apart.
const SHADES: usize = 8;

/// The map, if depth was recorded.
pub(super) fn map(market: &MarketReport) -> Result<Option<Chart>, Error> {
    let series = &market.series;
    if market.depth.is_empty() || finite(&series.price).next().is_none() {
        return Ok(None);
    }
    let grid = Grid::of(market);
    let title = format!("{}: depth of the book", series.name);
    let many = format!("{} units", canvas::number(grid.most.round().max(1.0)));
    let labels =
        ["buyers: few", &format!("buyers: {many}"), "sellers: few", &format!("sellers: {many}")];
    let legend = [
        (Sample::Bar(shade(Side::Bid, 0)), labels[0]),
        (Sample::Bar(shade(Side::Bid, SHADES - 1)), labels[1]),
        (Sample::Bar(shade(Side::Ask, 0)), labels[2]),
        (Sample::Bar(shade(Side::Ask, SHADES - 1)), labels[3]),
        (Sample::Line(BLACK), "market price"),
    ];
    let frame =
        Frame { title: &title, x: "time (steps)", y: "price (price units)", legend: &legend };
    let svg = canvas::picture(&title, |area| {
        let mut plot = canvas::plot(area, &frame, grid.times.clone(), grid.prices.clone())?;
        plot.draw_series(grid.stretches().map(|(from, to, row, side, level)| {
            let corners =
                [(grid.time(from), grid.price(row)), (grid.time(to), grid.price(row + 1))];
            Rectangle::new(corners, shade(side, level).filled())
        }))
        .map_err(|error| Error::drawing(&error))?;
        draw_line(&mut plot, &series.step, &series.price, Sample::Line(BLACK))
    })?;
    let caption = "Volume that waits at each price at the end of a step; the darker, the more, on a \
        logarithmic scale. Prices further away than the price ever moved are not shown.";
    Ok(Some(chart("depth", market, title, caption.to_owned(), svg)))
}

/// Mean volumes in cells of time and price.
struct Grid {
    times: Range<f64>,
    prices: Range<f64>,
    columns: usize,
    /// Row by row: the side with more volume, and its mean volume.
    cells: Vec<Option<(Side, f64)>>,
    most: f64,
}

impl Grid {
    fn of(market: &MarketReport) -> Self {
        let prices = canvas::range([market.series.price.as_slice()]);
        let reach = 0.5 * (prices.end - prices.start);
        let columns = market.depth.chunk_by(|a, b| a.step == b.step).count().min(COLUMNS);
        let mut grid = Self {
            columns,
            times: times(&market.series.step),
            prices: prices.start - reach..prices.end + reach,
            cells: vec![None; columns * ROWS],
            most: 0.0,
        };
        let mut volumes = vec![[0.0, 0.0]; columns * ROWS];
        let mut snapshots = vec![0_usize; columns];
        let mut latest = None;
        for level in &market.depth {
            let Some(column) = cell(time(level.step), &grid.times, columns) else { continue };
            if latest != Some(level.step) {
                latest = Some(level.step);
                snapshots[column] += 1;
            }
            if let Some(row) = cell(level.price, &grid.prices, ROWS) {
                volumes[row * columns + column][side_index(level)] += level.volume;
            }
        }
        for (place, [bid, ask]) in volumes.into_iter().enumerate() {
            let (side, sum) = if bid >= ask { (Side::Bid, bid) } else { (Side::Ask, ask) };
            if sum > 0.0 {
                let mean = sum / count(snapshots[place % columns]);
                grid.cells[place] = Some((side, mean));
                grid.most = grid.most.max(mean);
            }
        }
        grid
    }

    /// Neighbours of a row that look the same: (from column, to column, row, side, shade).
    fn stretches(&self) -> impl Iterator<Item = (usize, usize, usize, Side, usize)> {
        let looks = |cell: &Option<(Side, f64)>| cell.map(|(side, mean)| (side, self.level(mean)));
        self.cells.chunks(self.columns).enumerate().flat_map(move |(row, cells)| {
            let mut column = 0;
            cells
                .chunk_by(move |a, b| looks(a) == looks(b))
                .filter_map(move |same| {
                    let from = column;
                    column += same.len();
                    looks(&same[0]).map(|(side, level)| (from, column, row, side, level))
                })
                .collect::<Vec<_>>()
        })
    }

    /// The shade of a mean volume.
    fn level(&self, mean: f64) -> usize {
        let part = mean.ln_1p() / self.most.ln_1p();
        cell(part, &(0.0..1.0), SHADES).unwrap_or(SHADES - 1)
    }

    fn time(&self, column: usize) -> f64 {
        self.times.start + count(column) / count(self.columns) * (self.times.end - self.times.start)
    }

    fn price(&self, row: usize) -> f64 {
        self.prices.start + count(row) / count(ROWS) * (self.prices.end - self.prices.start)
    }
}

fn side_index(level: &DepthLevel) -> usize {
    usize::from(level.side == Side::Ask)
}

/// In which of `n` equal parts of a range a value lies; its end belongs to the last part.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part from 0 to 1, checked, of a small number"
)]
fn cell(value: f64, range: &Range<f64>, n: usize) -> Option<usize> {
    let part = (value - range.start) / (range.end - range.start);
    (0.0..=1.0).contains(&part).then(|| ((part * count(n)) as usize).min(n - 1))
}

/// A shade between light and dark of a side's colour.
fn shade(side: Side, level: usize) -> RGBColor {
    let (light, dark) = match side {
        Side::Bid => ([0xd0, 0xe4, 0xf2], [0x00, 0x33, 0x55]),
        Side::Ask => ([0xfb, 0xe3, 0xc8], [0x6e, 0x2f, 0x00]),
    };
    let mix = |channel: usize| {
        let (light, dark): (usize, usize) = (light[channel], dark[channel]);
        let mixed = (light * (SHADES - 1 - level) + dark * level) / (SHADES - 1);
        u8::try_from(mixed).unwrap_or(u8::MAX)
    };
    RGBColor(mix(0), mix(1), mix(2))
}

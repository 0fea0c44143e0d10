//! What a sweep came to.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::grid::Grid;
use crate::journal::Line;
use crate::outcome::{MarketOutcome, Moments};

/// What a sweep came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SweepReport {
    /// Runs of all points and seeds.
    pub runs: u64,
    /// How many of them an earlier start had finished.
    pub found: u64,
    /// How many failed.
    pub failed: u64,
    /// The first failures, at most [`SweepReport::MOST_FAILURES`], by point and then by seed.
    pub failures: Vec<RunFailure>,
    /// Each point, in the order of the grid.
    pub points: Vec<PointReport>,
    /// The table of all runs.
    pub table: PathBuf,
}

impl SweepReport {
    /// How many failures are listed. The table has all.
    pub const MOST_FAILURES: usize = 100;
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunFailure {
    /// The number of its point.
    pub point: usize,
    /// What the point is called: `PATH=VALUE` for each parameter.
    pub parameters: String,
    /// Its seed.
    pub seed: u64,
    /// Why.
    pub error: String,
}

/// What the runs of one point came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PointReport {
    /// Each parameter's path and value.
    pub parameters: Vec<(String, Json)>,
    /// Runs that did not fail.
    pub runs: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Each market of these runs.
    pub markets: Vec<MarketStatistics>,
}

/// Mean and spread of what the runs of one point came to in one market.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MarketStatistics {
    /// The market's name.
    pub name: String,
    /// Of the market price at the end, in price units.
    pub market_price: Statistics,
    /// Of the standard deviation of logarithmic returns from step to step.
    pub return_std: Statistics,
    /// Of the units traded.
    pub executed_volume: Statistics,
    /// Of the number of orders.
    pub orders: Statistics,
    /// Of the number of fills.
    pub executions: Statistics,
}

/// Mean and spread over seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The mean of the runs that have a value; none when there is none.
    pub mean: Option<f64>,
    /// The sample standard deviation; none with fewer than two values.
    pub std: Option<f64>,
}

impl From<Moments> for Statistics {
    fn from(moments: Moments) -> Self {
        Self { mean: moments.mean(), std: moments.std() }
    }
}

/// Gathers a report from the runs in order.
#[derive(Debug)]
pub(crate) struct Gatherer<'a> {
    grid: &'a Grid,
    points: Vec<Point>,
    /// All markets, in the order in which they occur.
    markets: Vec<String>,
    failed: u64,
    failures: Vec<RunFailure>,
}

#[derive(Clone, Debug, Default)]
struct Point {
    runs: u64,
    failed: u64,
    markets: Vec<(String, [Moments; 5])>,
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run are far below 2^53")]
fn values(market: &MarketOutcome) -> [Option<f64>; 5] {
    [
        market.market_price,
        market.return_std,
        Some(market.executed_volume as f64),
        Some(market.orders as f64),
        Some(market.executions as f64),
    ]
}

impl<'a> Gatherer<'a> {
    pub(crate) fn new(grid: &'a Grid, n_points: usize) -> Self {
        Self {
            grid,
            points: vec![Point::default(); n_points],
            markets: Vec::new(),
            failed: 0,
            failures: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, line: Line) {
        let point = &mut self.points[line.point];
        let Some(outcome) = line.outcome else {
            point.failed += 1;
            self.failed += 1;
            if self.failures.len() < SweepReport::MOST_FAILURES {
                self.failures.push(RunFailure {
                    point: line.point,
                    parameters: self.grid.describe(line.point),
                    seed: line.seed,
                    error: line.error.unwrap_or_default(),
                });
            }
            return;
        };
        point.runs += 1;
        for market in outcome.markets {
            if !self.markets.contains(&market.name) {
                self.markets.push(market.name.clone());
            }
            let place = point.markets.iter().position(|(name, _)| *name == market.name);
            let place = place.unwrap_or_else(|| {
                point.markets.push((market.name.clone(), Default::default()));
                point.markets.len() - 1
            });
            for (moments, value) in point.markets[place].1.iter_mut().zip(values(&market)) {
                if let Some(value) = value {
                    moments.add(value);
                }
            }
        }
    }

    pub(crate) fn markets(&self) -> &[String] {
        &self.markets
    }

    pub(crate) fn report(self, runs: u64, found: u64, table: PathBuf) -> SweepReport {
        let Self { grid, points, failed, failures, .. } = self;
        let points = points.into_iter().enumerate().map(|(number, point)| {
            let named = grid.axes().iter().zip(grid.values(number));
            let markets = point.markets.into_iter().map(|(name, moments)| {
                let [market_price, return_std, executed_volume, orders, executions] =
                    moments.map(Statistics::from);
                MarketStatistics {
                    name,
                    market_price,
                    return_std,
                    executed_volume,
                    orders,
                    executions,
                }
            });
            PointReport {
                parameters: named
                    .map(|(axis, value)| (axis.path().to_owned(), value.clone()))
                    .collect(),
                runs: point.runs,
                failed: point.failed,
                markets: markets.collect(),
            }
        });
        SweepReport { runs, found, failed, failures, points: points.collect(), table }
    }
}

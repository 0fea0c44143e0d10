//! Fundamental prices: correlated geometric Brownian motion, drawn in chunks.
//!
//! With P the price at the start g of a chunk and c the running sum of the log returns since then,
//! the price is P·exp(c). The log returns of a step are L·z + drift, where z are independent
//! standard normals, one for each market with a volatility, and L is the lower Cholesky factor of
//! the covariance matrix σᵢσⱼρᵢⱼ (Glasserman, *Monte Carlo Methods in Financial Engineering*,
//! §2.3.3). When the clock reaches the end of a chunk the next 100 steps of all markets are drawn
//! at once. A shock ends the chunk where it happens: what was drawn beyond it is dropped.

use serde::{Deserialize, Serialize};

use crate::ids::MarketId;
use crate::quantity::Step;
use crate::random::{Arithmetic, GeneratorKind, NormalStream};

/// Steps drawn at once.
const CHUNK: usize = 100;

/// How one spot market's fundamental price moves. Prices are in price units; drift and volatility
/// are the mean and the standard deviation of the log return of one step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FundamentalSpec {
    /// The market.
    pub market: MarketId,
    /// The price at time 0.
    pub price: f64,
    /// Mean of the log return.
    pub drift: f64,
    /// Standard deviation of the log return; at least 0.
    pub volatility: f64,
}

/// The correlation of the log returns of two markets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// One market; it needs a volatility.
    pub first: MarketId,
    /// Another market; it needs a volatility.
    pub second: MarketId,
    /// Between −1 and 1, both excluded.
    pub value: f64,
}

/// Why fundamentals can't be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FundamentalError {
    /// A correlation of a market that has no volatility or takes no part.
    #[error("market {0} has no volatility, so it can't be correlated with another")]
    NoVolatility(MarketId),
    /// A volatility whose square is no longer a number to compute with.
    #[error(
        "the volatility {volatility:?} of market {market} has no square that can be computed with"
    )]
    VolatilityOutOfRange {
        /// The market.
        market: MarketId,
        /// Its volatility.
        volatility: f64,
    },
    /// There are no random variables with such correlations.
    #[error(
        "the correlations contradict each other: their matrix is not positive \
         definite (bring some of them nearer to 0)"
    )]
    NotPositiveDefinite,
}

/// The fundamental prices of all spot markets: correlated geometric Brownian motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Fundamentals {
    processes: Vec<Process>,
    /// Positions in `processes` of those with a volatility, ascending.
    volatile: Vec<usize>,
    /// Lower Cholesky factor over `volatile`, row by row.
    factor: Vec<f64>,
    normals: NormalStream,
    arithmetic: Arithmetic,
    /// The step at which every process stands at its `level`.
    chunk_start: Step,
    /// Prices are drawn up to this step.
    frontier: Step,
    now: Step,
}

#[derive(Clone, Debug, PartialEq)]
struct Process {
    spec: FundamentalSpec,
    level: f64,
    /// Prices of the steps after `chunk_start`; empty for a process that never moves.
    chunk: Vec<f64>,
}

impl Process {
    fn moves(&self) -> bool {
        self.spec.volatility > 0.0 || self.spec.drift != 0.0
    }
}

impl Fundamentals {
    /// Makes the prices of all spot markets, in the order of their ids. `seed` is that of the
    /// normals.
    ///
    /// # Errors
    ///
    /// When the correlations can't be, or involve a market without volatility.
    pub fn new(
        specs: &[FundamentalSpec],
        correlations: &[Correlation],
        kind: GeneratorKind,
        seed: u64,
    ) -> Result<Self, FundamentalError> {
        let processes: Vec<Process> = specs
            .iter()
            .map(|&spec| Process { spec, level: spec.price, chunk: Vec::new() })
            .collect();
        let volatile: Vec<usize> =
            (0..specs.len()).filter(|&i| specs[i].volatility > 0.0).collect();
        let factor = cholesky(&covariance(specs, &volatile, correlations)?, volatile.len())?;
        Ok(Self {
            processes,
            volatile,
            factor,
            normals: NormalStream::new(kind, seed),
            arithmetic: kind.arithmetic(),
            chunk_start: Step::ZERO,
            frontier: Step::ZERO,
            now: Step::ZERO,
        })
    }

    /// Moves to `time`, which is the step after the current one, or 0 at the start.
    pub(crate) fn advance(&mut self, time: Step) {
        self.now = time;
        while self.now >= self.frontier {
            self.rebase(self.frontier);
            self.draw_chunk();
        }
    }

    /// The price of a spot market now, in price units; none for a market that takes no part.
    #[must_use]
    pub fn price(&self, market: MarketId) -> Option<f64> {
        let process = &self.processes[self.position(market)?];
        Some(self.price_at(process, self.now))
    }

    /// Sets the price of a spot market now; all markets' future prices are drawn anew. False for a
    /// market that takes no part.
    pub(crate) fn set_price(&mut self, market: MarketId, price: f64) -> bool {
        let Some(position) = self.position(market) else { return false };
        self.rebase(self.now);
        self.processes[position].level = price;
        true
    }

    fn position(&self, market: MarketId) -> Option<usize> {
        self.processes.binary_search_by_key(&market, |process| process.spec.market).ok()
    }

    fn price_at(&self, process: &Process, time: Step) -> f64 {
        let steps = usize::try_from(time.0 - self.chunk_start.0)
            .expect("invariant: the clock does not run before a chunk's start");
        match steps.checked_sub(1) {
            Some(drawn) if process.moves() => process.chunk[drawn],
            _ => process.level,
        }
    }

    /// Makes `time` the start of a chunk that is not drawn yet.
    fn rebase(&mut self, time: Step) {
        for position in 0..self.processes.len() {
            let level = self.price_at(&self.processes[position], time);
            self.processes[position].level = level;
        }
        self.chunk_start = time;
        self.frontier = time;
    }

    fn draw_chunk(&mut self) {
        let mut normals = vec![0.0; self.volatile.len() * CHUNK];
        self.normals.fill(&mut normals);
        let arithmetic = self.arithmetic;
        let mut row = 0;
        for process in &mut self.processes {
            if !process.moves() {
                continue;
            }
            let weights = if process.spec.volatility > 0.0 {
                row += 1;
                &self.factor[triangle(row - 1)..triangle(row)]
            } else {
                &[]
            };
            let mut sum = 0.0;
            process.chunk.clear();
            process.chunk.extend((0..CHUNK).map(|step| {
                let noise: f64 =
                    weights.iter().enumerate().map(|(i, w)| w * normals[i * CHUNK + step]).sum();
                sum += noise + process.spec.drift;
                process.level * arithmetic.exp(sum)
            }));
        }
        self.frontier = self.frontier.saturating_add(CHUNK as u64);
    }
}

/// The number of entries before `row` in a triangle written row by row.
fn triangle(row: usize) -> usize {
    row * (row + 1) / 2
}

/// The lower triangle of the covariance matrix, row by row.
fn covariance(
    specs: &[FundamentalSpec],
    volatile: &[usize],
    correlations: &[Correlation],
) -> Result<Vec<f64>, FundamentalError> {
    let volatility = |row: usize| specs[volatile[row]].volatility;
    let mut matrix = vec![0.0; triangle(volatile.len())];
    for row in 0..volatile.len() {
        let variance = volatility(row) * volatility(row);
        if !variance.is_normal() {
            let FundamentalSpec { market, volatility, .. } = specs[volatile[row]];
            return Err(FundamentalError::VolatilityOutOfRange { market, volatility });
        }
        matrix[triangle(row) + row] = variance;
    }
    for correlation in correlations {
        let row_of = |market: MarketId| {
            volatile
                .iter()
                .position(|&i| specs[i].market == market)
                .ok_or(FundamentalError::NoVolatility(market))
        };
        let (first, second) = (row_of(correlation.first)?, row_of(correlation.second)?);
        let (row, column) = (first.max(second), first.min(second));
        matrix[triangle(row) + column] = correlation.value * volatility(first) * volatility(second);
    }
    Ok(matrix)
}

/// The lower Cholesky factor of a symmetric matrix given and returned as its lower triangle, by
/// the Cholesky–Banachiewicz recurrence.
fn cholesky(matrix: &[f64], size: usize) -> Result<Vec<f64>, FundamentalError> {
    let mut factor = vec![0.0; matrix.len()];
    for row in 0..size {
        for column in 0..=row {
            let dot: f64 =
                (0..column).map(|k| factor[triangle(row) + k] * factor[triangle(column) + k]).sum();
            let rest = matrix[triangle(row) + column] - dot;
            factor[triangle(row) + column] = if row == column {
                // Rounding leaves a matrix on the border a little above or below zero.
                if rest <= matrix[triangle(row) + row] * 1e-12 {
                    return Err(FundamentalError::NotPositiveDefinite);
                }
                rest.sqrt()
            } else {
                rest / factor[triangle(column) + column]
            };
        }
    }
    Ok(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(market: u32, drift: f64, volatility: f64) -> FundamentalSpec {
        FundamentalSpec { market: MarketId(market), price: 300.0, drift, volatility }
    }

    fn correlation(first: u32, second: u32, value: f64) -> Correlation {
        Correlation { first: MarketId(first), second: MarketId(second), value }
    }

    fn path(fundamentals: &mut Fundamentals, market: u32, steps: i64) -> Vec<f64> {
        (0..=steps)
            .map(|time| {
                fundamentals.advance(Step(time));
                fundamentals.price(MarketId(market)).unwrap()
            })
            .collect()
    }

    #[test]
    fn a_volatility_without_a_square_is_not_taken_for_a_contradiction() {
        for volatility in [1e-200, 1e300] {
            let made =
                Fundamentals::new(&[spec(0, 0.0, volatility)], &[], GeneratorKind::default(), 1);
            let market = MarketId(0);
            assert_eq!(made, Err(FundamentalError::VolatilityOutOfRange { market, volatility }));
        }
    }

    #[test]
    fn correlations_that_contradict_each_other_are_an_error() {
        let specs = [spec(0, 0.0, 0.1), spec(1, 0.0, 0.1), spec(2, 0.0, 0.1)];
        let contradiction =
            [correlation(0, 1, 0.9), correlation(0, 2, 0.9), correlation(1, 2, -0.9)];
        for kind in [GeneratorKind::Mt19937, GeneratorKind::Xoshiro256PlusPlus] {
            assert_eq!(
                Fundamentals::new(&specs, &contradiction, kind, 1),
                Err(FundamentalError::NotPositiveDefinite)
            );
        }
    }

    #[test]
    fn a_market_without_volatility_keeps_its_price_exactly() {
        let mut fundamentals =
            Fundamentals::new(&[spec(0, 0.0, 0.0)], &[], GeneratorKind::Mt19937, 1).unwrap();
        assert!(
            path(&mut fundamentals, 0, 250).iter().all(|price| price.total_cmp(&300.0).is_eq())
        );
    }

    #[test]
    fn the_volatility_is_the_standard_deviation_of_log_returns() {
        for kind in [GeneratorKind::Mt19937, GeneratorKind::Xoshiro256PlusPlus] {
            let specs = [spec(0, 0.0, 0.02), spec(1, 0.0, 0.05)];
            let mut fundamentals =
                Fundamentals::new(&specs, &[correlation(0, 1, 0.6)], kind, 7).unwrap();
            let mut returns = [Vec::new(), Vec::new()];
            let mut previous = [300.0, 300.0];
            for time in 0..=20_000 {
                fundamentals.advance(Step(time));
                for market in 0..2 {
                    let price = fundamentals.price(MarketId::from_index(market)).unwrap();
                    if time > 0 {
                        returns[market].push((price / previous[market]).ln());
                    }
                    previous[market] = price;
                }
            }
            let n = returns[0].len() as f64;
            let deviation =
                |values: &[f64]| (values.iter().map(|value| value * value).sum::<f64>() / n).sqrt();
            let (first, second) = (deviation(&returns[0]), deviation(&returns[1]));
            assert!((first / 0.02 - 1.0).abs() < 0.02, "{first}");
            assert!((second / 0.05 - 1.0).abs() < 0.02, "{second}");
            let product: f64 = returns[0].iter().zip(&returns[1]).map(|(a, b)| a * b).sum();
            let correlation = product / n / first / second;
            assert!((correlation - 0.6).abs() < 0.03, "{correlation}");
        }
    }

    #[test]
    fn a_shock_drops_what_was_drawn_beyond_it_and_costs_one_chunk() {
        let specs = [spec(0, 0.0, 0.1), spec(1, 0.0, 0.1)];
        let make = || Fundamentals::new(&specs, &[], GeneratorKind::Mt19937, 3).unwrap();
        let (mut once, mut twice) = (make(), make());
        path(&mut once, 0, 50);
        path(&mut twice, 0, 50);
        let other = once.price(MarketId(1)).unwrap();
        assert!(once.set_price(MarketId(0), 270.0));
        assert!(twice.set_price(MarketId(0), 250.0));
        assert!(twice.set_price(MarketId(0), 270.0));
        assert_eq!(once.price(MarketId(0)), Some(270.0));
        assert_eq!(once.price(MarketId(1)), Some(other), "other markets keep their level");
        for time in 51..=300 {
            once.advance(Step(time));
            twice.advance(Step(time));
            assert_eq!(once.price(MarketId(0)), twice.price(MarketId(0)));
        }
        assert!(!once.set_price(MarketId(9), 1.0));
    }
}

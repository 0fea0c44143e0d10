//! What is kept of one run.

use std::io;

use pams_core::{MarketId, Record};
use pams_runner::{Logger, NameTable, RunReport};
use serde::{Deserialize, Serialize};

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunOutcome {
    /// Steps of all sessions together.
    pub steps: u64,
    /// Orders accepted.
    pub orders: u64,
    /// Fills.
    pub executions: u64,
    /// Cancels accepted.
    pub cancels: u64,
    /// Orders whose time was over.
    pub expirations: u64,
    /// The hash of all records and accounts.
    pub records_hash: String,
    /// Each market, ordered by id.
    pub markets: Vec<MarketOutcome>,
}

/// What one run came to in one market. Prices are in price units; a price that is not finite is
/// none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MarketOutcome {
    /// The market's name.
    pub name: String,
    /// Its market price at the end.
    pub market_price: Option<f64>,
    /// Its fundamental price at the end.
    pub fundamental_price: Option<f64>,
    /// The price of its last fill; none when nothing traded.
    pub last_executed_price: Option<f64>,
    /// The volume-weighted average price of all fills; none when nothing traded.
    pub vwap: Option<f64>,
    /// The sample standard deviation of the logarithmic returns of the market price from step to
    /// step; none with fewer than two returns, or when a price was not positive.
    pub return_std: Option<f64>,
    /// Units traded.
    pub executed_volume: u64,
    /// Orders accepted.
    pub orders: u64,
    /// Fills.
    pub executions: u64,
    /// Cancels accepted.
    pub cancels: u64,
    /// Orders whose time was over.
    pub expirations: u64,
}

/// Mean and spread of values that come one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(crate) fn add(&mut self, value: f64) {
        self.n += 1.0;
        let from_old = value - self.mean;
        self.mean += from_old / self.n;
        self.squares += from_old * (value - self.mean);
    }

    /// None without values.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.n > 0.0).then_some(self.mean)
    }

    /// The sample standard deviation; none with fewer than two values.
    pub(crate) fn std(&self) -> Option<f64> {
        (self.n > 1.0).then(|| (self.squares / (self.n - 1.0)).sqrt())
    }
}

/// Counts what the report of a run does not have.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    markets: Vec<Counts>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    orders: u64,
    executions: u64,
    cancels: u64,
    expirations: u64,
    /// The price of the step before, as a logarithm.
    last: Option<f64>,
    returns: Moments,
}

impl Collector {
    fn market(&mut self, market: MarketId) -> &mut Counts {
        let index = market.index();
        if index >= self.markets.len() {
            self.markets.resize(index + 1, Counts::default());
        }
        &mut self.markets[index]
    }

    /// The outcome of the run that was seen.
    pub(crate) fn outcome(mut self, report: &RunReport) -> RunOutcome {
        self.markets.resize(report.markets.len(), Counts::default());
        let finite = |value: f64| value.is_finite().then_some(value);
        let markets =
            report.markets.iter().zip(self.markets).map(|(market, counts)| MarketOutcome {
                name: market.name.clone(),
                market_price: finite(market.market_price),
                fundamental_price: finite(market.fundamental_price),
                last_executed_price: market.last_executed_price.and_then(finite),
                vwap: market.vwap.and_then(finite),
                return_std: counts.returns.std().and_then(finite),
                executed_volume: market.executed_volume.0,
                orders: counts.orders,
                executions: counts.executions,
                cancels: counts.cancels,
                expirations: counts.expirations,
            });
        RunOutcome {
            steps: report.steps,
            orders: report.orders,
            executions: report.executions,
            cancels: report.cancels,
            expirations: report.expirations,
            records_hash: report.records_hash.map(|hash| hash.to_string()).unwrap_or_default(),
            markets: markets.collect(),
        }
    }
}

impl Logger for Collector {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        match record {
            Record::Order(order) => self.market(order.market).orders += 1,
            Record::Cancel(order) => self.market(order.market).cancels += 1,
            Record::Expiration(order) => self.market(order.market).expirations += 1,
            Record::Execution(fill) => self.market(fill.market).executions += 1,
            Record::Step(step) => {
                // The same bits on every machine, unlike the platform's logarithm.
                let price = libm::log(step.market_price);
                let counts = self.market(step.market);
                if let Some(last) = counts.last.replace(price) {
                    counts.returns.add(price - last);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_textbook() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.std()), (None, None));
        moments.add(2.0);
        assert_eq!((moments.mean(), moments.std()), (Some(2.0), None));
        for value in [4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(value);
        }
        let std = moments.std().unwrap();
        assert!((moments.mean().unwrap() - 5.0).abs() < 1e-12);
        assert!((std - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12, "{std}");
    }
}

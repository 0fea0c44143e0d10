//! What a run ends with.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write};
use std::time::Duration;

use pams_runner::{MarketReport, RunReport};
use serde::Serialize;

use crate::arguments::{RunArguments, SummaryForm, Verbosity};
use crate::output::{Failure, tell};

/// How long a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) setup: Duration,
    pub(crate) run: Duration,
}

/// The facts of a run. The names are the keys of the JSON summary.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    config: String,
    seed: u64,
    prng: String,
    runner: &'static str,
    steps: u64,
    orders: u64,
    executions: u64,
    cancels: u64,
    expirations: u64,
    setup_seconds: f64,
    run_seconds: f64,
    orders_per_second: f64,
    steps_per_second: f64,
    /// None where the system does not tell.
    peak_memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records_hash: Option<String>,
    markets: Vec<MarketSummary>,
}

#[derive(Debug, Serialize)]
struct MarketSummary {
    name: String,
    market_price: f64,
    fundamental_price: f64,
    last_executed_price: Option<f64>,
    executed_volume: u64,
    vwap: Option<f64>,
}

impl From<&MarketReport> for MarketSummary {
    fn from(market: &MarketReport) -> Self {
        Self {
            name: market.name.clone(),
            market_price: market.market_price,
            fundamental_price: market.fundamental_price,
            last_executed_price: market.last_executed_price,
            executed_volume: market.executed_volume.0,
            vwap: market.vwap,
        }
    }
}

impl Summary {
    pub(crate) fn new(arguments: &RunArguments, report: &RunReport, timing: Timing) -> Self {
        let run_seconds = timing.run.as_secs_f64();
        Self {
            config: crate::run::show(&arguments.config),
            seed: report.seed,
            prng: report.generator.to_string(),
            runner: "sequential",
            steps: report.steps,
            orders: report.orders,
            executions: report.executions,
            cancels: report.cancels,
            expirations: report.expirations,
            setup_seconds: timing.setup.as_secs_f64(),
            run_seconds,
            orders_per_second: per_second(report.orders, run_seconds),
            steps_per_second: per_second(report.steps, run_seconds),
            peak_memory_bytes: peak_memory(),
            records_hash: report.records_hash.map(|hash| hash.to_string()),
            markets: report.markets.iter().map(MarketSummary::from).collect(),
        }
    }

    /// Prints the summary to standard output, or to standard error where standard output carries
    /// the steps already.
    pub(crate) fn print(
        &self,
        arguments: &RunArguments,
        verbosity: Verbosity,
    ) -> Result<(), Failure> {
        let text = match arguments.summary {
            Some(SummaryForm::Json) => {
                serde_json::to_string(self).expect("invariant: a summary is plain data")
            }
            None if verbosity == Verbosity::Quiet => return Ok(()),
            Some(SummaryForm::Text) | None if arguments.print.is_some() => {
                tell(format_args!("{}", self.text()));
                return Ok(());
            }
            Some(SummaryForm::Text) | None => self.text(),
        };
        writeln!(io::stdout().lock(), "{text}")
            .map_err(|error| Failure::file("standard output", error))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        self.write_text(&mut text).expect("invariant: writing to a string does not fail");
        text
    }

    fn write_text(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "{} with seed {} ({}, {})", self.config, self.seed, self.prng, self.runner)?;
        writeln!(text, "  steps        {}", self.steps)?;
        writeln!(text, "  orders       {}", self.orders)?;
        writeln!(text, "  executions   {}", self.executions)?;
        writeln!(text, "  cancels      {}", self.cancels)?;
        writeln!(text, "  expirations  {}", self.expirations)?;
        /// More markets than these would hide the rest of the summary.
        const SHOWN: usize = 20;
        for market in self.markets.iter().take(SHOWN) {
            let MarketSummary { name, market_price, executed_volume, .. } = market;
            let last = match market.last_executed_price {
                Some(price) => format!("last executed price {price}"),
                None => "nothing executed".to_owned(),
            };
            writeln!(
                text,
                "  market {name}: price {market_price}, {last}, volume {executed_volume}"
            )?;
        }
        if self.markets.len() > SHOWN {
            writeln!(text, "  and {} more markets", self.markets.len() - SHOWN)?;
        }
        writeln!(text, "  setup        {:.6} s", self.setup_seconds)?;
        writeln!(
            text,
            "  run          {:.6} s, {:.0} steps/s, {:.0} orders/s",
            self.run_seconds, self.steps_per_second, self.orders_per_second
        )?;
        if let Some(bytes) = self.peak_memory_bytes {
            writeln!(text, "  peak memory  {:.1} MiB", mebibytes(bytes))?;
        }
        match &self.records_hash {
            Some(hash) => write!(text, "  records      {hash}"),
            None => write!(text, "  records      not hashed"),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "a size for people")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The most memory that this process has held, in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

//! What a run ends with.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write};
use std::time::Duration;

use pams_results::MarketSummary;
use serde::{Serialize, Serializer};

use crate::arguments::{RunArguments, RunnerKind, SummaryForm};
use crate::output::{Failure, Output};
use crate::run::Finished;

/// How long a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) setup: Duration,
    pub(crate) run: Duration,
}

/// Who asked the agents beside the main thread.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Workers {
    /// Threads or processes.
    #[serde(rename = "workers")]
    pub(crate) count: usize,
    /// The threads of candle in each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) torch_threads: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sharing_strategy: Option<String>,
    /// What `auto` chose.
    #[serde(flatten)]
    pub(crate) chosen: Option<Chosen>,
}

impl Workers {
    /// The same after a choice: of a runner that has no workers of its own, nothing is said.
    pub(crate) fn chosen(mut self, chosen: Chosen) -> Self {
        if chosen.runner == RunnerKind::Sequential {
            self.count = 0;
        }
        if chosen.runner != RunnerKind::Torch {
            (self.torch_threads, self.sharing_strategy) = (None, None);
        }
        self.chosen = Some(chosen);
        self
    }
}

/// What the runner `auto` chose, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Chosen {
    #[serde(rename = "chosen", serialize_with = "name_of")]
    pub(crate) runner: RunnerKind,
    #[serde(rename = "reason")]
    pub(crate) reason: String,
}

fn name_of<S: Serializer>(kind: &RunnerKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

impl fmt::Display for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count| if count == 1 { "" } else { "s" };
        if let Some(Chosen { runner, .. }) = &self.chosen {
            write!(formatter, ": {}", runner.name())?;
        }
        if self.count > 0 {
            write!(formatter, " with {} worker{}", self.count, plural(self.count))?;
        }
        if let Some(threads) = self.torch_threads {
            write!(formatter, " of {threads} thread{}", plural(threads))?;
        }
        match &self.sharing_strategy {
            Some(strategy) => write!(formatter, ", {strategy}"),
            None => Ok(()),
        }
    }
}

/// The facts of a run. The names are the keys of the JSON summary.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    #[serde(skip)]
    timing: Timing,
    config: String,
    seed: u64,
    prng: String,
    runner: &'static str,
    #[serde(flatten)]
    workers: Workers,
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
    /// Where the run is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_folder: Option<String>,
    markets: Vec<MarketSummary>,
}

impl Summary {
    pub(crate) fn new(arguments: &RunArguments, finished: Finished) -> Self {
        let Finished { report, timing, workers, folder } = finished;
        let run_seconds = timing.run.as_secs_f64();
        Self {
            timing,
            config: crate::run::show_config(&arguments.config),
            seed: report.seed,
            prng: report.generator.to_string(),
            runner: arguments.runner.name(),
            workers,
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
            run_folder: folder.map(|folder| folder.display().to_string()),
            markets: report.markets.iter().map(MarketSummary::from).collect(),
        }
    }

    /// Prints the summary to standard output, or to standard error where standard output carries
    /// something else.
    pub(crate) fn print(&self, arguments: &RunArguments, output: &Output) -> Result<(), Failure> {
        let text = match arguments.summary {
            Some(SummaryForm::Json) => {
                serde_json::to_string(self).expect("invariant: a summary is plain data")
            }
            Some(SummaryForm::Text) | None => self.text(),
        };
        if arguments.fills_standard_output() {
            output.tell(format_args!("{text}"));
            return Ok(());
        }
        writeln!(io::stdout().lock(), "{text}")
            .map_err(|error| Failure::write("standard output", &error))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        self.write_text(&mut text).expect("invariant: writing to a string does not fail");
        text
    }

    fn write_text(&self, text: &mut String) -> fmt::Result {
        let Self { config, seed, prng, runner, workers, .. } = self;
        writeln!(text, "{config} with seed {seed} ({prng}, {runner}{workers})")?;
        let counts = [
            ("steps", self.steps),
            ("orders", self.orders),
            ("executions", self.executions),
            ("cancels", self.cancels),
            ("expirations", self.expirations),
        ]
        .map(|(name, count)| (name, grouped(count)));
        let width = counts.iter().map(|(_, count)| count.len()).max().unwrap_or(0);
        for (name, count) in &counts {
            writeln!(text, "  {name:<11}  {count:>width$}")?;
        }
        self.write_markets(text)?;
        writeln!(text, "  setup        {:.1?}", self.timing.setup)?;
        writeln!(
            text,
            "  run          {:.1?}, {} steps/s, {} orders/s",
            self.timing.run,
            grouped_rate(self.steps_per_second),
            grouped_rate(self.orders_per_second)
        )?;
        if let Some(bytes) = self.peak_memory_bytes {
            writeln!(text, "  peak memory  {:.1} MiB", mebibytes(bytes))?;
        }
        match &self.records_hash {
            Some(hash) => write!(text, "  records      {hash}")?,
            None => write!(text, "  records      not hashed")?,
        }
        match &self.run_folder {
            Some(folder) => write!(text, "\n  kept in      {folder}"),
            None => Ok(()),
        }
    }

    /// One line a market, in columns.
    fn write_markets(&self, text: &mut String) -> fmt::Result {
        /// More markets than these would hide the rest of the summary.
        const SHOWN: usize = 20;
        let head = ["market", "price", "fundamental", "last trade", "volume"].map(str::to_owned);
        let rows = self.markets.iter().take(SHOWN).map(|market| {
            [
                market.name.clone(),
                rounded(market.market_price),
                rounded(market.fundamental_price),
                market.last_executed_price.map_or_else(|| "none".to_owned(), rounded),
                grouped(market.executed_volume),
            ]
        });
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        let mut widths = [0; 5];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        text.push('\n');
        for [name, numbers @ ..] in &rows {
            write!(text, "  {name:<width$}", width = widths[0])?;
            for (number, width) in numbers.iter().zip(&widths[1..]) {
                write!(text, "  {number:>width$}")?;
            }
            text.push('\n');
        }
        if self.markets.len() > SHOWN {
            writeln!(text, "  and {} more markets", self.markets.len() - SHOWN)?;
        }
        text.push('\n');
        Ok(())
    }
}

/// A count with its thousands apart.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for people")]
fn grouped_rate(rate: f64) -> String {
    grouped(rate.round() as u64)
}

/// A price without the digits that are only a float's; the JSON summary and the log have them all.
fn rounded(price: f64) -> String {
    format!("{price:.9e}").parse::<f64>().unwrap_or(price).to_string()
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
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

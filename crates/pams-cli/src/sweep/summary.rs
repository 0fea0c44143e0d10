//! What a sweep ends with.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use pams_sweep::{PointReport, Statistics, SweepReport};
use serde::Serialize;
use serde_json::Value as Json;

use crate::arguments::{SummaryForm, SweepArguments};
use crate::output::Failure;
use crate::summary::grouped;

/// More lines than these would hide the rest.
const SHOWN: usize = 40;

/// Prints the summary to standard output.
pub(super) fn print(report: &SweepReport, arguments: &SweepArguments) -> Result<(), Failure> {
    let text = match arguments.format {
        Some(SummaryForm::Json) => serde_json::to_string(&Summary::new(report, arguments))
            .expect("invariant: a summary is plain data"),
        Some(SummaryForm::Text) | None => text(report, arguments),
    };
    writeln!(io::stdout().lock(), "{text}")
        .map_err(|error| Failure::write("standard output", &error))
}

/// The facts of a sweep. The names are the keys of the JSON summary.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    config: String,
    seeds: String,
    prng: String,
    runs: u64,
    found: u64,
    failed: u64,
    table: String,
    points: Vec<PointSummary<'a>>,
    failures: Vec<FailureSummary<'a>>,
}

#[derive(Debug, Serialize)]
struct PointSummary<'a> {
    parameters: BTreeMap<&'a str, &'a Json>,
    runs: u64,
    failed: u64,
    markets: Vec<MarketSummary<'a>>,
}

#[derive(Debug, Serialize)]
struct MarketSummary<'a> {
    name: &'a str,
    market_price: Spread,
    return_std: Spread,
    executed_volume: Spread,
    orders: Spread,
    executions: Spread,
}

#[derive(Debug, Serialize)]
struct Spread {
    mean: Option<f64>,
    std: Option<f64>,
}

impl From<Statistics> for Spread {
    fn from(Statistics { mean, std, .. }: Statistics) -> Self {
        Self { mean, std }
    }
}

#[derive(Debug, Serialize)]
struct FailureSummary<'a> {
    point: usize,
    seed: u64,
    error: &'a str,
}

impl<'a> Summary<'a> {
    fn new(report: &'a SweepReport, arguments: &SweepArguments) -> Self {
        let failures = report.failures.iter().map(|failure| FailureSummary {
            point: failure.point,
            seed: failure.seed,
            error: &failure.error,
        });
        Self {
            config: crate::run::show_config(&arguments.config),
            seeds: arguments.seeds.to_string(),
            prng: arguments.prng.to_string(),
            runs: report.runs,
            found: report.found,
            failed: report.failed,
            table: report.table.display().to_string(),
            points: report.points.iter().map(PointSummary::from).collect(),
            failures: failures.collect(),
        }
    }
}

impl<'a> From<&'a PointReport> for PointSummary<'a> {
    fn from(point: &'a PointReport) -> Self {
        let markets = point.markets.iter().map(|market| MarketSummary {
            name: &market.name,
            market_price: market.market_price.into(),
            return_std: market.return_std.into(),
            executed_volume: market.executed_volume.into(),
            orders: market.orders.into(),
            executions: market.executions.into(),
        });
        Self {
            parameters: point.parameters.iter().map(|(path, value)| (&**path, value)).collect(),
            runs: point.runs,
            failed: point.failed,
            markets: markets.collect(),
        }
    }
}

fn text(report: &SweepReport, arguments: &SweepArguments) -> String {
    let config = crate::run::show_config(&arguments.config);
    let (n_points, n_seeds) = (report.points.len() as u64, arguments.seeds.count());
    let found = match report.found {
        0 => String::new(),
        found => format!(", {} of them before this start", grouped(found)),
    };
    let lines = [
        format!(
            "{config} at {} with {} each ({})",
            counted(n_points, "point"),
            counted(n_seeds, "seed"),
            arguments.prng
        ),
        format!("  runs      {}{found}", grouped(report.runs)),
        format!("  failed    {}", grouped(report.failed)),
        format!("  table     {}", report.table.display()),
        String::new(),
    ];
    let mut text = lines.join("\n");
    let rows = rows(report);
    let hidden = rows.len().saturating_sub(SHOWN + 1);
    text += &columns(&rows[..rows.len() - hidden]);
    if hidden > 0 {
        text += &format!("\n  and {} more lines", grouped(hidden as u64));
    }
    text + "\n  means over seeds, each with its standard deviation"
}

/// The head, then a row for each market of each point. The parameters and the market come first.
fn rows(report: &SweepReport) -> Vec<Vec<String>> {
    let parameters = report.points.first().map(|point| point.parameters.as_slice());
    let paths = parameters.unwrap_or_default().iter().map(|(path, _)| path.clone());
    let names = ["market", "runs", "price", "±", "return std", "±", "volume", "±", "trades", "±"];
    let mut rows: Vec<Vec<String>> = vec![paths.chain(names.map(str::to_owned)).collect()];
    for point in &report.points {
        let values = point.parameters.iter().map(|(_, value)| match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        });
        let values: Vec<String> = values.collect();
        if point.markets.is_empty() {
            let none = std::iter::repeat_n("none".to_owned(), 9);
            rows.push(values.iter().cloned().chain(none).collect());
        }
        for market in &point.markets {
            let mut row = values.clone();
            row.extend([market.name.clone(), grouped(point.runs)]);
            for Statistics { mean, std, .. } in
                [market.market_price, market.return_std, market.executed_volume, market.executions]
            {
                row.extend([mean, std].map(rounded));
            }
            rows.push(row);
        }
    }
    rows
}

/// Rows below each other: the first columns to the left, numbers to the right.
fn columns(rows: &[Vec<String>]) -> String {
    let n_left = rows[0].len() - 9;
    let mut widths = vec![0; rows[0].len()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < n_left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let cells: Vec<String> = cells.collect();
        text += &format!("\n  {}", cells.join("  "));
    }
    text
}

fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A number for people; the table has all digits.
fn rounded(value: Option<f64>) -> String {
    match value {
        Some(value) => format!("{value:.4e}").parse::<f64>().unwrap_or(value).to_string(),
        None => "none".to_owned(),
    }
}

//! Facts as a table for people and as JSON.

use std::fmt::Write as _;

use pams_facts::{Band, Facts, show};
use serde_json::{Map, Value as Json, json};

use super::{Real, RunFacts};

/// One table for each market.
pub(super) fn text(
    runs: &[RunFacts],
    over_runs: &[(String, Vec<Band>)],
    real: Option<&Real>,
) -> String {
    let mut text = String::new();
    for (market, bands) in over_runs {
        let n = runs.iter().filter(|run| run.markets.iter().any(|it| it.market == *market)).count();
        let about = match n {
            1 => "1 run".to_owned(),
            n => format!("{n} runs, mean with 95 % confidence interval"),
        };
        let _ = writeln!(text, "{}{market}: {about}", if text.is_empty() { "" } else { "\n" });
        if let Some(real) = real {
            let _ = writeln!(text, "real: column {} of {}", real.column, real.path.display());
        }
        text.push('\n');
        let rows: Vec<Vec<String>> = bands.iter().map(|band| row(band, n, real)).collect();
        let mut head = vec!["fact", if n == 1 { "value" } else { "mean" }];
        if n > 1 {
            head.extend(["low", "high", "smallest", "largest"]);
        }
        if real.is_some() {
            head.push("real");
        }
        head.push("unit");
        push_rows(&mut text, &head, &rows);
    }
    text
}

fn row(band: &Band, n: usize, real: Option<&Real>) -> Vec<String> {
    let mut row = vec![band.key.clone(), show(band.mean)];
    if n > 1 {
        row.extend([band.low, band.high, band.minimum, band.maximum].map(show));
    }
    if let Some(real) = real {
        row.push(show(real.facts.value(&band.key).unwrap_or(f64::NAN)));
    }
    row.push(band.unit.to_string());
    row
}

/// Names left, numbers right, units left.
fn push_rows(text: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    for row in [&head].into_iter().chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let is_text = column == 0 || column + 1 == row.len();
            let _ = if is_text {
                write!(line, "  {cell:<width$}")
            } else {
                write!(line, "  {cell:>width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Everything. What has no value is null.
pub(super) fn json(
    runs: &[RunFacts],
    over_runs: &[(String, Vec<Band>)],
    real: Option<&Real>,
) -> String {
    let runs: Vec<Json> = runs
        .iter()
        .map(|run| {
            let markets: Map<String, Json> =
                run.markets.iter().map(|facts| (facts.market.clone(), of_market(facts))).collect();
            json!({"run": run.path.display().to_string(), "seed": run.seed, "markets": markets})
        })
        .collect();
    let bands: Map<String, Json> =
        over_runs.iter().map(|(market, bands)| (market.clone(), json!(bands))).collect();
    let against = real.map(|real| {
        let mut against = of_market(&real.facts);
        against["file"] = json!(real.path.display().to_string());
        against["column"] = json!(real.column);
        against
    });
    let document = json!({"runs": runs, "bands": bands, "level": super::LEVEL, "against": against});
    format!("{document:#}\n")
}

fn of_market(facts: &Facts) -> Json {
    let values: Map<String, Json> =
        facts.facts.iter().map(|fact| (fact.key.clone(), json!(fact.value))).collect();
    json!({"facts": values, "correlograms": facts.correlograms})
}

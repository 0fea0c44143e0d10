//! `pams plot`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use pams_facts::{Chart, Report};
use pams_results::RunFolder;

use crate::facts::{self, How, RunFacts, Wants};
use crate::output::Failure;

const EXAMPLES: &str = "\
Examples:
  pams plot results/CI2002-42
      Draw a run into results/CI2002-42/report, and open report.html there
  pams plot results/CI2002-42 --out figures --first-step 100
      Without the first 100 steps, into another folder
  pams plot results/CI2002-*
      Draw the first run, and tell what all of them have in common

The folder gets report.html, a page that needs nothing else; report.svg and report.png with the
charts of a market; and every chart by itself as SVG, for a paper. With several markets, their names
stand in front.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlotArguments {
    /// The run folder (`pams run --out`); of more than one, the first is drawn, and the page's table has the
    /// means of all
    #[arg(value_name = "RUN_DIR", required = true)]
    runs: Vec<PathBuf>,

    /// The folder for the pictures; by default `report` inside of the first run folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    how: How,
}

pub(crate) fn plot(arguments: &PlotArguments) -> Result<(), Failure> {
    let (first, others) = arguments.runs.split_first().expect("invariant: clap asks for one");
    let folder = RunFolder::open(first)?;
    let report = Report {
        title: title(&folder),
        about: about(&folder),
        markets: facts::markets(&folder, &arguments.how, Wants::Levels)?,
    };
    let charts = report.charts(&arguments.how.options())?;
    let own = facts::of_markets(&report.markets, &arguments.how)?;
    let mut runs =
        vec![RunFacts { path: first.clone(), seed: folder.info().seed, markets: own.clone() }];
    for other in others {
        runs.push(facts::of_run(other, &arguments.how)?);
    }
    let bands = if runs.len() > 1 { facts::over_runs(&runs) } else { Vec::new() };
    let out = arguments.out.clone().unwrap_or_else(|| first.join("report"));
    let page = write(&out, &report, &charts, &report.page(&charts, &own, &bands))?;
    writeln!(io::stdout().lock(), "{}", page.display())
        .map_err(|error| Failure::write("standard output", &error))
}

/// Writes all files; answers with the path of the page.
fn write(out: &Path, report: &Report, charts: &[Chart], page: &str) -> Result<PathBuf, Failure> {
    fs::create_dir_all(out).map_err(|error| Failure::write(&out.display().to_string(), &error))?;
    let put = |name: &str, content: &[u8]| {
        let path = out.join(name);
        fs::write(&path, content)
            .map(|()| path.clone())
            .map_err(|error| Failure::write(&path.display().to_string(), &error))
    };
    for charts in charts.chunk_by(|a, b| a.market == b.market) {
        for chart in charts {
            put(&file_name(report, &chart.market, chart.name, "svg"), chart.svg.as_bytes())?;
        }
        let market = &charts[0].market;
        let sheet = report.sheet(charts);
        put(&file_name(report, market, "report", "svg"), sheet.as_bytes())?;
        #[cfg(feature = "png")]
        put(&file_name(report, market, "report", "png"), &pams_facts::png(&sheet, PNG_SCALE)?)?;
    }
    put("report.html", page.as_bytes())
}

/// Pixels of a PNG for each unit of an SVG: sharp on a screen and on paper.
#[cfg(feature = "png")]
const PNG_SCALE: f32 = 2.0;

/// `prices.svg`, with the market's name in front if there are several. A name that is no good for a file gets
/// the market's number.
fn file_name(report: &Report, market: &str, what: &str, ending: &str) -> String {
    if report.markets.len() == 1 {
        return format!("{what}.{ending}");
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if market.chars().all(is_plain) {
        return format!("{market}-{what}.{ending}");
    }
    let place = report.markets.iter().position(|it| it.series.name == market);
    format!("market{}-{what}.{ending}", place.unwrap_or_default())
}

fn title(folder: &RunFolder) -> String {
    let info = folder.info();
    let name = Path::new(&info.config.name).file_stem().unwrap_or_default().to_string_lossy();
    format!("{name}, seed {}", info.seed)
}

fn about(folder: &RunFolder) -> Vec<(String, String)> {
    let info = folder.info();
    let counts = &info.summary;
    let mut about = vec![
        ("config", info.config.name.clone()),
        ("seed", info.seed.to_string()),
        ("generator", info.generator.clone()),
        ("steps", counts.steps.to_string()),
        ("orders", counts.orders.to_string()),
        ("executions", counts.executions.to_string()),
        ("pams-rs", info.pams_rs.clone()),
        ("config hash", info.config.hash.clone()),
    ];
    about.extend(info.records_hash.clone().map(|hash| ("records hash", hash)));
    about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

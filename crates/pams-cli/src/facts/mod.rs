//! `pams facts`, and what `pams plot` shares with it.

mod read;
mod table;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pams_facts::{Band, Facts, MarketReport, MarketSeries, Options, Price, Prices, bands};
use pams_results::RunFolder;

use crate::arguments::SummaryForm;
use crate::output::Failure;

pub(crate) use read::Wants;

const EXAMPLES: &str = "\
Examples:
  pams facts results/CI2002-42
      What one run looks like
  pams facts results/CI2002-* --first-step 100
      Means and 95 % confidence intervals over many seeds, without the first 100 steps
  pams facts results/CI2002-* --against prices.csv --column Close
      The same beside real prices
  pams facts results/CI2002-* --format json > facts.json
      Everything, for other programs

A dash stands where a fact has no value: what it is made from was not recorded (`pams run --depth`
records the book), or its formula has none.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FactsArguments {
    /// The run folders of one config with several seeds (`pams run --out`)
    #[arg(value_name = "RUN_DIR", required = true)]
    runs: Vec<PathBuf>,

    /// Real prices to stand beside: a CSV table
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    /// The column of `--against` that has the prices, by name or by number from 1; by default the only
    /// one, or one that is called `Adj Close`, `Close` or `Price`
    #[arg(long, value_name = "NAME", requires = "against")]
    column: Option<String>,

    #[command(flatten)]
    how: How,

    /// The form of the answer
    #[arg(long, value_name = "FORM", value_enum, default_value = "text")]
    format: SummaryForm,
}

/// How facts are computed.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Leave out the steps before this one, such as those of a warm-up
    #[arg(long, value_name = "STEP", default_value_t = 0)]
    first_step: i64,

    /// How many steps one return spans; real prices are not resampled
    #[arg(long, value_name = "STEPS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    horizon: u32,

    /// Which prices returns are made from
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = PriceKind::Market)]
    price: PriceKind,

    /// The largest lag of autocorrelations
    #[arg(long, value_name = "LAG", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    max_lag: u32,

    /// The part of the returns that is the tail
    #[arg(long, value_name = "PART", default_value_t = 0.05, value_parser = part)]
    tail: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PriceKind {
    /// The price of the latest fill
    Market,
    /// The middle between the best prices
    Mid,
}

fn part(text: &str) -> Result<f64, String> {
    let part: f64 = text.parse().map_err(|_| "a part is a number from 0 to 1".to_owned())?;
    if part > 0.0 && part < 1.0 { Ok(part) } else { Err("a part is between 0 and 1".to_owned()) }
}

impl How {
    pub(crate) fn options(&self) -> Options {
        Options {
            price: match self.price {
                PriceKind::Market => Price::Market,
                PriceKind::Mid => Price::Mid,
            },
            horizon: size(self.horizon),
            max_lag: size(self.max_lag),
            tail_fraction: self.tail,
            ..Options::default()
        }
    }
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The facts of one run, in the order of its markets.
#[derive(Debug)]
pub(crate) struct RunFacts {
    pub(crate) path: PathBuf,
    pub(crate) seed: u64,
    pub(crate) markets: Vec<Facts>,
}

/// The facts of a real price series.
struct Real {
    path: PathBuf,
    column: String,
    facts: Facts,
}

pub(crate) fn facts(arguments: &FactsArguments) -> Result<(), Failure> {
    let runs = arguments
        .runs
        .iter()
        .map(|path| of_run(path, &arguments.how))
        .collect::<Result<Vec<_>, _>>()?;
    let real = arguments.against.as_deref().map(|path| real(path, arguments)).transpose()?;
    let over_runs = over_runs(&runs);
    let text = match arguments.format {
        SummaryForm::Text => table::text(&runs, &over_runs, real.as_ref()),
        SummaryForm::Json => table::json(&runs, &over_runs, real.as_ref()),
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::write("standard output", &error))
}

/// Reads a run folder and computes the facts of its markets.
pub(crate) fn of_run(path: &Path, how: &How) -> Result<RunFacts, Failure> {
    let folder = RunFolder::open(path)?;
    let markets = markets(&folder, how, Wants::Best)?;
    Ok(RunFacts {
        path: path.to_owned(),
        seed: folder.info().seed,
        markets: of_markets(&markets, how)?,
    })
}

pub(crate) fn of_markets(markets: &[MarketReport], how: &How) -> Result<Vec<Facts>, Failure> {
    let options = how.options();
    markets.iter().map(|market| Ok(Facts::of(&market.series, &options)?)).collect()
}

/// The markets of a run from the first step that counts.
pub(crate) fn markets(
    folder: &RunFolder,
    how: &How,
    wants: Wants,
) -> Result<Vec<MarketReport>, Failure> {
    let mut markets = read::markets(folder, wants)?;
    for market in &mut markets {
        market.series = market.series.from_step(how.first_step);
        market.depth.retain(|level| level.step >= how.first_step);
    }
    Ok(markets)
}

/// The bands of each market over the runs that have it, in the order of the first run that has it.
pub(crate) fn over_runs(runs: &[RunFacts]) -> Vec<(String, Vec<Band>)> {
    let mut names: Vec<&str> = Vec::new();
    for facts in runs.iter().flat_map(|run| &run.markets) {
        if !names.contains(&facts.market.as_str()) {
            names.push(&facts.market);
        }
    }
    let of = |name: &str| {
        let facts = runs.iter().flat_map(|run| &run.markets).filter(|facts| facts.market == name);
        (name.to_owned(), bands(facts, LEVEL))
    };
    names.into_iter().map(of).collect()
}

/// The probability of confidence intervals.
const LEVEL: f64 = 0.95;

fn real(path: &Path, arguments: &FactsArguments) -> Result<Real, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    let prices = Prices::from_csv(&text, arguments.column.as_deref())
        .map_err(|error| Failure::Told(format!("{}: {error}", path.display())))?;
    let series = MarketSeries::from_prices(&prices.column, prices.values);
    // Real prices are what they are: each is one step, and there is no mid price.
    let options = Options { horizon: 1, price: Price::Market, ..arguments.how.options() };
    let facts = Facts::of(&series, &options)?;
    Ok(Real { path: path.to_owned(), column: prices.column, facts })
}

impl From<pams_facts::Error> for Failure {
    fn from(error: pams_facts::Error) -> Self {
        Self::Told(error.to_string())
    }
}

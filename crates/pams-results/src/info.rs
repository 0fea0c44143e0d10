//! `run.json`: what a run was.

use std::collections::BTreeMap;

use pams_runner::{MarketReport, RunReport};
use serde::{Deserialize, Deserializer, Serialize};

use crate::format::TableFormat;
use crate::machine::Machine;

/// The name of the file.
pub(crate) const FILE: &str = "run.json";

/// The number of the form of run folders.
pub(crate) const FORMAT: u32 = 1;

/// What a run was: the content of `run.json`.
///
/// Two runs that are equal differ in `timing` only, if they are made on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunInfo {
    /// The number of the form of run folders, 1.
    pub format: u32,
    /// The version of pams-rs that made it.
    pub pams_rs: String,
    /// The config.
    pub config: ConfigInfo,
    /// The seed.
    pub seed: u64,
    /// The name of the generator.
    pub generator: String,
    /// Who asked the agents.
    pub runner: RunnerInfo,
    /// The hash of all records and accounts; none if it was not made.
    pub records_hash: Option<String>,
    /// What the run came to.
    pub summary: RunSummary,
    /// The names of the markets by id.
    pub markets: Vec<String>,
    /// The names of the sessions by id.
    pub sessions: Vec<String>,
    /// The tables.
    pub tables: TablesInfo,
    /// The machine.
    pub machine: Machine,
    /// How long it took: all that depends on a clock.
    pub timing: RunTiming,
}

/// The config of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigInfo {
    /// What the config was called.
    pub name: String,
    /// The BLAKE3 hash of `config.json`, as `blake3:` and 64 hexadecimal digits.
    pub hash: String,
    /// Whether unknown keys were only warnings.
    pub lenient: bool,
}

/// Who asked the agents of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerInfo {
    /// The name of the runner.
    pub kind: String,
    /// How many threads or processes asked agents beside the main thread.
    pub workers: usize,
    /// The threads of candle in each worker of the torch-style runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch_threads: Option<usize>,
    /// How the workers of the torch-style runner got at tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing_strategy: Option<String>,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunSummary {
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
    /// Each market at the end, ordered by id.
    pub markets: Vec<MarketSummary>,
}

/// A market at the end of a run. Prices are in price units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MarketSummary {
    /// Its name.
    pub name: String,
    /// Its market price.
    #[serde(deserialize_with = "float")]
    pub market_price: f64,
    /// Its fundamental price.
    #[serde(deserialize_with = "float")]
    pub fundamental_price: f64,
    /// The price of its last fill; none when nothing traded.
    pub last_executed_price: Option<f64>,
    /// Units traded.
    pub executed_volume: u64,
    /// The volume-weighted average price of all fills; none when nothing traded.
    pub vwap: Option<f64>,
}

/// The tables of a run folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TablesInfo {
    /// How they are written, which is also the ending of their files.
    pub format: TableFormat,
    /// How many rows each has.
    pub rows: BTreeMap<String, u64>,
    /// How much of the books there is; none for nothing.
    pub depth: Option<Depth>,
}

/// How much of the order books is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depth {
    /// How many price levels of each side, from the best one on.
    pub levels: u32,
    /// At the end of every how many steps; of step 0 first. Zero counts as one.
    pub every: u64,
}

/// How long a run took. Durations are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTiming {
    /// Making everything from the config.
    pub setup_seconds: f64,
    /// The run itself, with writing its tables.
    pub run_seconds: f64,
    /// The most memory that the process held, in bytes, where the system tells.
    pub peak_memory_bytes: Option<u64>,
}

impl From<&RunReport> for RunSummary {
    fn from(report: &RunReport) -> Self {
        Self {
            steps: report.steps,
            orders: report.orders,
            executions: report.executions,
            cancels: report.cancels,
            expirations: report.expirations,
            markets: report.markets.iter().map(MarketSummary::from).collect(),
        }
    }
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

/// A float, which JSON writes as null when it is not finite.
fn float<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

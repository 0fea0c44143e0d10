//! What a run came to.

use pams_core::random::GeneratorKind;
use pams_core::{MarketView, Volume};

use crate::hash::RecordHash;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunReport {
    /// The seed.
    pub seed: u64,
    /// The generator.
    pub generator: GeneratorKind,
    /// Steps of all sessions together.
    pub steps: u64,
    /// Orders accepted.
    pub orders: u64,
    /// Cancels accepted.
    pub cancels: u64,
    /// Orders whose time was over.
    pub expirations: u64,
    /// Fills.
    pub executions: u64,
    /// Each market at the end, ordered by id.
    pub markets: Vec<MarketReport>,
    /// The hash of all records and accounts, unless it was switched off.
    pub records_hash: Option<RecordHash>,
}

/// A market at the end of a run. Prices are in price units.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MarketReport {
    /// The market's name.
    pub name: String,
    /// Its market price.
    pub market_price: f64,
    /// Its fundamental price.
    pub fundamental_price: f64,
    /// The price of its last fill; none when nothing traded.
    pub last_executed_price: Option<f64>,
    /// Units traded.
    pub executed_volume: Volume,
    /// The volume-weighted average price of all fills; none when nothing traded.
    pub vwap: Option<f64>,
}

impl MarketReport {
    pub(crate) fn new(market: &MarketView) -> Self {
        let values = market.values();
        Self {
            name: market.name().to_owned(),
            market_price: values.market_price,
            fundamental_price: values.fundamental_price,
            last_executed_price: values.last_executed_price,
            executed_volume: values.volume_before + values.executed_volume,
            vwap: market.vwap_at(market.time()).ok().filter(|vwap| !vwap.is_nan()),
        }
    }
}

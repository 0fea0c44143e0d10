//! The market classes of PAMS and of its samples.

use pams_config::config_block;
use pams_core::{EventError, FieldValue};

use crate::market_class::{MarketClass, MarketSetup};
use crate::registry::NoSettings;

/// A market with a fundamental price of its own. Class `Market`.
#[derive(Debug)]
pub struct SpotMarket;

impl MarketClass for SpotMarket {
    type Settings = NoSettings;
    fn configure(_: &NoSettings, _: &mut MarketSetup<'_>) -> Result<(), EventError> {
        Ok(())
    }
}

/// A market whose fundamental price is the share-weighted mean of its components'. Class
/// `IndexMarket`.
#[derive(Debug)]
pub struct IndexMarket;

impl MarketClass for IndexMarket {
    type Settings = NoSettings;
    const IS_INDEX: bool = true;
    fn configure(_: &NoSettings, _: &mut MarketSetup<'_>) -> Result<(), EventError> {
        Ok(())
    }
}

config_block! {
    /// Keys of a market that begins with some executed volume.
    pub struct ExtendedMarketSettings {
        /// Units that count as executed in step 0; none when it is not given.
        pub trade_volume: Option<u64> = "tradeVolume",
    }
}

/// A market that begins with some executed volume, as the market share samples use it. Class
/// `ExtendedMarket`; the field `tradeVolume` holds the setting.
#[derive(Debug)]
pub struct ExtendedMarket;

impl MarketClass for ExtendedMarket {
    type Settings = ExtendedMarketSettings;
    fn configure(
        settings: &ExtendedMarketSettings,
        setup: &mut MarketSetup<'_>,
    ) -> Result<(), EventError> {
        if let Some(units) = settings.trade_volume {
            setup.set_field("tradeVolume", FieldValue::Int(i64::try_from(units)?));
            setup.set_initial_executed_volume(units);
        }
        Ok(())
    }
}

//! A market class of one's own: a market that takes a fee.

use pams_agent::{MarketClass, MarketSetup};
use pams_config::{NonNegative, config_block};
use pams_core::{EventError, FieldValue, MarketView};

config_block! {
    /// Keys of a market that takes a fee.
    pub struct FeeMarketSettings {
        /// The fee for a unit, in price units.
        pub fee: NonNegative = "fee",
    }
}

/// A market whose field `fee` its agents can read.
#[derive(Debug)]
pub struct FeeMarket;

impl MarketClass for FeeMarket {
    type Settings = FeeMarketSettings;

    fn configure(
        settings: &FeeMarketSettings,
        setup: &mut MarketSetup<'_>,
    ) -> Result<(), EventError> {
        setup.set_field("fee", FieldValue::Float(settings.fee.value()));
        Ok(())
    }
}

/// The current fee of a market, in price units; 0 in a market of another class.
#[must_use]
pub fn fee(market: &MarketView) -> f64 {
    match market.field("fee") {
        Some(FieldValue::Float(fee)) => *fee,
        _ => 0.0,
    }
}

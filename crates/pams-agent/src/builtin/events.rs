//! The keys of the event classes of PAMS; what the events do is the core's business.

use std::num::NonZeroU64;

use pams_config::{Block, MarketReference, SpotMarketReference, config_block};
use pams_core::{
    EventError, FundamentalPriceShock, OrderMistakeShock, PriceLimitRule, TradingHaltRule, Volume,
};

use crate::event_class::{EventClass, EventSetup};

config_block! {
    /// Keys of a shock to a fundamental price.
    pub struct PriceShockSettings {
        /// The market; an index has no fundamental price of its own.
        pub target: SpotMarketReference = "target",
        /// The first step of the shock, counted from the session's first.
        pub trigger_time: u64 = "triggerTime",
        /// Change of the fundamental price as a fraction: −0.1 for ten per cent down.
        pub price_change_rate: f64 = "priceChangeRate",
        /// How many steps in a row the price changes; none when not positive.
        pub shock_time_length: i64 = "shockTimeLength" default 1,
    }
    refused { "triggerDays": "there are no days: give `triggerTime`, in steps" }
    validate = check_shock;
}

fn check_shock(settings: &PriceShockSettings, block: &mut Block<'_>) {
    if settings.price_change_rate <= -1.0 {
        block.problem(
            "priceChangeRate",
            format!("a rate of {:?} leaves no positive price", settings.price_change_rate),
        );
    }
}

impl EventClass for FundamentalPriceShock {
    type Settings = PriceShockSettings;

    fn create(
        settings: &PriceShockSettings,
        setup: &mut EventSetup<'_>,
    ) -> Result<Self, EventError> {
        let first = setup.session_start().saturating_add(settings.trigger_time);
        let end = first.saturating_add(u64::try_from(settings.shock_time_length).unwrap_or(0));
        Ok(Self::new(settings.target.0, first..end, settings.price_change_rate))
    }
}

config_block! {
    /// Keys of an order that is entered by mistake.
    pub struct MistakeShockSettings {
        /// The market.
        pub target: MarketReference = "target",
        /// The step of the mistake, counted from the session's first.
        pub trigger_time: u64 = "triggerTime",
        /// Distance of the order's price from the market price as a fraction; the order becomes a
        /// buy when it is positive, else a sell.
        pub price_change_rate: f64 = "priceChangeRate",
        /// Units of the order.
        pub order_volume: NonZeroU64 = "orderVolume",
        /// For how many steps the order lives; 0 for the step of the mistake only.
        pub order_time_length: u64 = "orderTimeLength",
    }
    deprecated { "agent": "the mistake happens to whichever order comes first" }
    refused { "triggerDays": "there are no days: give `triggerTime`, in steps" }
}

impl EventClass for OrderMistakeShock {
    type Settings = MistakeShockSettings;

    fn create(
        settings: &MistakeShockSettings,
        setup: &mut EventSetup<'_>,
    ) -> Result<Self, EventError> {
        Ok(Self::new(
            settings.target.0,
            setup.session_start().saturating_add(settings.trigger_time),
            settings.price_change_rate,
            Volume(settings.order_volume.get()),
            settings.order_time_length,
        ))
    }
}

config_block! {
    /// Keys of a limit to order prices.
    pub struct PriceLimitSettings {
        /// The markets whose orders are limited; others are left alone.
        pub target_markets: Vec<MarketReference> = "targetMarkets",
        /// Width to each side of the opening price as a fraction.
        pub trigger_change_rate: f64 = "triggerChangeRate",
    }
    deprecated { "referenceMarket": "every market is compared with its own opening price" }
    validate = check_width;
}

fn check_width(settings: &PriceLimitSettings, block: &mut Block<'_>) {
    if settings.trigger_change_rate < 0.0 {
        let message =
            format!("a width can't be negative, found {:?}", settings.trigger_change_rate);
        block.problem("triggerChangeRate", message);
    }
}

impl EventClass for PriceLimitRule {
    type Settings = PriceLimitSettings;

    fn create(settings: &PriceLimitSettings, _: &mut EventSetup<'_>) -> Result<Self, EventError> {
        let targets = settings.target_markets.iter().map(|target| target.0).collect();
        Ok(Self::new(targets, settings.trigger_change_rate))
    }
}

config_block! {
    /// Keys of a trading halt.
    pub struct TradingHaltSettings {
        /// The markets that are watched, and halted together.
        pub target_markets: Vec<MarketReference> = "targetMarkets",
        /// The move from the opening price, as a fraction, that halts; the second halt needs twice
        /// as much, and so on.
        pub trigger_change_rate: f64 = "triggerChangeRate",
        /// For how many steps after the one of the fill trading is halted.
        pub halting_time_length: u64 = "haltingTimeLength",
    }
    deprecated { "referenceMarket": "every market is compared with its own opening price" }
}

impl EventClass for TradingHaltRule {
    type Settings = TradingHaltSettings;

    fn create(settings: &TradingHaltSettings, _: &mut EventSetup<'_>) -> Result<Self, EventError> {
        let targets = settings.target_markets.iter().map(|target| target.0).collect();
        Ok(Self::new(targets, settings.trigger_change_rate, settings.halting_time_length))
    }
}

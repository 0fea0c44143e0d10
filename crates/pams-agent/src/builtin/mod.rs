//! The classes of PAMS.

mod arbitrage;
mod drawn;
mod events;
mod fcn;
mod market_maker;
mod market_share_fcn;
mod markets;
mod test_agent;

pub use arbitrage::{ArbitrageAgent, ArbitrageSettings};
pub use fcn::{FcnAgent, FcnSettings, MarginType};
pub use market_maker::{MarketMakerAgent, MarketMakerSettings};
pub use market_share_fcn::MarketShareFcnAgent;
pub use markets::{ExtendedMarket, ExtendedMarketSettings, IndexMarket, SpotMarket};
pub use test_agent::TestAgent;

use crate::registry::Registry;
use pams_core::{FundamentalPriceShock, OrderMistakeShock, PriceLimitRule, TradingHaltRule};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .market::<SpotMarket>("Market")
        .market::<IndexMarket>("IndexMarket")
        .market::<ExtendedMarket>("ExtendedMarket")
        .agent::<FcnAgent>("FCNAgent")
        .agent::<MarketShareFcnAgent>("MarketShareFCNAgent")
        .agent::<TestAgent>("TestAgent")
        .high_frequency_agent::<ArbitrageAgent>("ArbitrageAgent")
        .high_frequency_agent::<MarketMakerAgent>("MarketMakerAgent")
        .event::<FundamentalPriceShock>("FundamentalPriceShock")
        .event::<OrderMistakeShock>("OrderMistakeShock")
        .event::<PriceLimitRule>("PriceLimitRule")
        .event::<TradingHaltRule>("TradingHaltRule");
}

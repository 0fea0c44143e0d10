//! The shapes of the public sample configs, with classes like theirs: all of them are read.

use pams_config::{
    Block, ClassCatalog, ClassKind, ClassSettings, ConfigBlock, MarketReference, RandomValue,
    Settings, SpotMarketReference, Strictness, config_block, config_choice, no_settings,
    read_settings,
};
use serde_json::{Value as Json, json};

config_choice! {
    /// How a margin is applied.
    enum MarginType {
        /// In proportion.
        Fixed = "fixed",
        /// Normally distributed.
        Normal = "normal",
    }
}

config_block! {
    struct Fcn {
        fundamental_weight: RandomValue = "fundamentalWeight",
        chart_weight: RandomValue = "chartWeight",
        noise_weight: RandomValue = "noiseWeight",
        noise_scale: RandomValue = "noiseScale",
        time_window_size: RandomValue = "timeWindowSize",
        order_margin: RandomValue = "orderMargin",
        mean_reversion_time: Option<RandomValue> = "meanReversionTime",
        margin_type: MarginType = "marginType" default MarginType::Fixed,
    }
}

config_block! {
    struct Arbitrage {
        order_volume: u64 = "orderVolume",
        order_threshold_price: f64 = "orderThresholdPrice",
        order_time_length: u64 = "orderTimeLength" default 1,
    }
}

config_block! {
    struct MarketMaker {
        target_market: MarketReference = "targetMarket",
        net_interest_spread: RandomValue = "netInterestSpread",
        order_time_length: RandomValue = "orderTimeLength" default RandomValue::Constant(2.0),
    }
}

config_block! {
    struct Shock {
        target: SpotMarketReference = "target",
        trigger_time: u64 = "triggerTime",
        price_change_rate: f64 = "priceChangeRate",
        shock_time_length: i64 = "shockTimeLength" default 1,
    }
    refused { "triggerDays": "there are no days: give `triggerTime`, in steps" }
}

config_block! {
    struct Mistake {
        target: MarketReference = "target",
        trigger_time: u64 = "triggerTime",
        price_change_rate: f64 = "priceChangeRate",
        order_volume: u64 = "orderVolume",
        order_time_length: u64 = "orderTimeLength",
    }
    deprecated { "agent": "the first agent that submits an order makes the mistake" }
}

config_block! {
    struct Rule {
        target_markets: Vec<MarketReference> = "targetMarkets",
        trigger_change_rate: f64 = "triggerChangeRate",
        halting_time_length: Option<u64> = "haltingTimeLength",
    }
    deprecated { "referenceMarket": "the targets are enough" }
}

config_block! {
    struct ExtendedMarket {
        trade_volume: u64 = "tradeVolume",
    }
}

/// Classes with the names and keys of the public ones.
pub(crate) struct SampleCatalog;

impl ClassCatalog for SampleCatalog {
    fn class_names(&self, kind: ClassKind) -> Vec<String> {
        let names: &[&str] = match kind {
            ClassKind::Market => &["Market", "IndexMarket", "ExtendedMarket"],
            ClassKind::Agent => &[
                "FCNAgent",
                "MarketShareFCNAgent",
                "ArbitrageAgent",
                "MarketMakerAgent",
                "UserDefinedFCNAgent",
            ],
            ClassKind::Event => {
                &["FundamentalPriceShock", "OrderMistakeShock", "PriceLimitRule", "TradingHaltRule"]
            }
        };
        names.iter().map(ToString::to_string).collect()
    }

    fn read(&self, _: ClassKind, class: &str, block: &mut Block<'_>) -> Option<ClassSettings> {
        match class {
            "ExtendedMarket" => read_settings::<ExtendedMarket>(block),
            "FCNAgent" | "MarketShareFCNAgent" | "UserDefinedFCNAgent" => {
                read_settings::<Fcn>(block)
            }
            "ArbitrageAgent" => read_settings::<Arbitrage>(block),
            "MarketMakerAgent" => read_settings::<MarketMaker>(block),
            "FundamentalPriceShock" => read_settings::<Shock>(block),
            "OrderMistakeShock" => read_settings::<Mistake>(block),
            "PriceLimitRule" | "TradingHaltRule" => read_settings::<Rule>(block),
            _ => Some(no_settings()),
        }
    }

    fn schema(&self, _: ClassKind, class: &str) -> Json {
        match class {
            "ExtendedMarket" => ExtendedMarket::schema(),
            "FCNAgent" | "MarketShareFCNAgent" | "UserDefinedFCNAgent" => Fcn::schema(),
            "ArbitrageAgent" => Arbitrage::schema(),
            "MarketMakerAgent" => MarketMaker::schema(),
            "FundamentalPriceShock" => Shock::schema(),
            "OrderMistakeShock" => Mistake::schema(),
            "PriceLimitRule" | "TradingHaltRule" => Rule::schema(),
            _ => json!({"type": "object"}),
        }
    }
}

const ACCOUNT: &str = r#""assetVolume": 50, "cashAmount": 10000"#;
const FCN: &str = r#""fundamentalWeight": {"expon": [1.0]}, "chartWeight": {"expon": [0.0]},
    "noiseWeight": {"expon": [1.0]}, "noiseScale": 0.001, "timeWindowSize": [100, 200], "orderMargin": [0.0, 0.1]"#;
const SPOT: &str = r#""class": "Market", "tickSize": 0.00001, "marketPrice": 300.0"#;
const EXTENDED: &str = r#""class": "ExtendedMarket", "tickSize": 0.00001, "marketPrice": 300.0,
    "outstandingShares": 25000, "MEMO": "needed only here""#;

/// A config with a session that only fills the books and one with these keys.
fn config(lists: &str, session: &str, blocks: &str) -> String {
    let rules = r#""withOrderPlacement": true, "withPrint": true"#;
    format!(
        r#"{{
  "simulation": {{
    {lists}
    "sessions": [
      {{"sessionName": 0, "iterationSteps": 100, "withOrderExecution": false, {rules}}},
      {{"sessionName": 1, "iterationSteps": 500, "withOrderExecution": true, {rules}{session}}}
    ]
  }},
  {blocks}
}}"#
    )
}

/// One market, one group of agents, one event.
fn with_event(event: &str, keys: &str) -> String {
    config(
        r#""markets": ["Market"], "agents": ["FCNAgents"],"#,
        &format!(r#", "events": ["{event}"]"#),
        &format!(
            r#""{event}": {{"class": "{event}", {keys}, "enabled": true}},
  "Market": {{{SPOT}, "outstandingShares": 25000}},
  "FCNAgents": {{"class": "FCNAgent", "numAgents": 100, "MEMO": "agent", "markets": ["Market"], {ACCOUNT},
    "MEMO": "FCN", {FCN}}}"#
        ),
    )
}

/// Two markets that agents choose from, and more blocks.
fn market_share(agents: &str, more: &str) -> String {
    config(
        &format!(r#""markets": ["Market-A", "Market-B"], "agents": [{agents}],"#),
        r#", "maxHifreqOrders": 1"#,
        &format!(
            r#""Market-A": {{{EXTENDED}, "tradeVolume": 90}},
  "Market-B": {{{EXTENDED}, "tradeVolume": 10}},
  "Shares": {{"class": "MarketShareFCNAgent", "numAgents": 100, "markets": ["Market-A", "Market-B"],
    {ACCOUNT}, {FCN}, "marginType": "normal"}}{more}"#
        ),
    )
}

/// All samples with their names.
pub(crate) fn all_samples() -> Vec<(&'static str, String)> {
    let simple = |class: &str| {
        config(
            r#""markets": ["Market"], "agents": ["FCNAgents"],"#,
            r#", "hifreqSubmitRate": 1.0"#,
            &format!(
                r#""Market": {{{SPOT}}},
  "FCNAgents": {{"class": "{class}", "numAgents": 100, "markets": ["Market"], {ACCOUNT}, {FCN},
    "meanReversionTime": {{"uniform": [50, 100]}}}}"#
            ),
        )
    };
    let maker = format!(
        r#",
  "Maker": {{"class": "MarketMakerAgent", "numAgents": 1, "markets": ["Market-B"], {ACCOUNT},
    "targetMarket": "Market-B", "netInterestSpread": 0.02, "orderTimeLength": 2}}"#
    );
    vec![
        ("one market", simple("FCNAgent")),
        ("a class of the user's", simple("UserDefinedFCNAgent")),
        (
            "fat finger",
            with_event(
                "OrderMistakeShock",
                r#""target": "Market", "triggerTime": 100, "MEMO": "at step 100", "priceChangeRate": -0.05,
    "MEMO": "down", "orderVolume": 10000, "orderTimeLength": 10000"#,
            ),
        ),
        (
            "price limit",
            with_event(
                "PriceLimitRule",
                r#""targetMarkets": ["Market"], "triggerChangeRate": 0.05"#,
            ),
        ),
        (
            "trading halt",
            with_event(
                "TradingHaltRule",
                r#""targetMarkets": ["Market"], "triggerChangeRate": 0.05, "haltingTimeLength": 100"#,
            ),
        ),
        ("market share", market_share(r#""Shares""#, "")),
        ("market share with a maker", market_share(r#""Shares", "Maker""#, &maker)),
        ("shock transfer", shock_transfer()),
        ("correlations", correlations()),
    ]
}

fn shock_transfer() -> String {
    config(
        r#""markets": ["SpotMarket-1", "SpotMarket-2", "IndexMarket-I"],
    "agents": ["FCNAgents-1", "FCNAgents-I", "ArbitrageAgents"],"#,
        r#", "maxNormalOrders": 3, "MEMO": "as many as markets", "maxHighFrequencyOrders": 5,
       "events": ["FundamentalPriceShock"]"#,
        &format!(
            r#""FundamentalPriceShock": {{"class": "FundamentalPriceShock", "target": "SpotMarket-1", "triggerTime": 0,
    "priceChangeRate": -0.1, "enabled": true}},
  "SpotMarket": {{{SPOT}, "outstandingShares": 25000}},
  "SpotMarket-1": {{"extends": "SpotMarket"}},
  "SpotMarket-2": {{"extends": "SpotMarket"}},
  "IndexMarket-I": {{"class": "IndexMarket", "tickSize": 0.00001, "marketPrice": 300.0, "outstandingShares": 25000,
    "markets": ["SpotMarket-1", "SpotMarket-2"]}},
  "FCNAgent": {{"class": "FCNAgent", "numAgents": 100, "markets": ["Market"], {ACCOUNT}, {FCN}}},
  "FCNAgents-1": {{"extends": "FCNAgent", "markets": ["SpotMarket-1"]}},
  "FCNAgents-I": {{"extends": "FCNAgent", "markets": ["IndexMarket-I"]}},
  "ArbitrageAgents": {{"class": "ArbitrageAgent", "numAgents": 100,
    "markets": ["IndexMarket-I", "SpotMarket-1", "SpotMarket-2"], {ACCOUNT}, "orderVolume": 1,
    "orderThresholdPrice": 1.0}}"#
        ),
    )
}

fn correlations() -> String {
    config(
        r#""markets": ["SpotMarket-N"], "agents": ["FCNAgents"], "fundamentalCorrelations": {"pairwise": [
      ["SpotMarket-0", "SpotMarket-1", 0.9], ["SpotMarket-0", "SpotMarket-2", -0.1]]},"#,
        r#", "events": ["FundamentalPriceShock"]"#,
        &format!(
            r#""FundamentalPriceShock": {{"class": "FundamentalPriceShock", "target": "SpotMarket-1", "triggerTime": 0,
    "priceChangeRate": -0.1, "shockTimeLength": 2, "enabled": true}},
  "MarketBase": {{{SPOT}, "fundamentalVolatility": 0.1}},
  "SpotMarket-N": {{"prefix": "SpotMarket-", "numMarkets": 3, "extends": "MarketBase"}},
  "FCNAgents": {{"class": "FCNAgent", "numAgents": 100, "markets": ["SpotMarket-N"], {ACCOUNT}, {FCN}}}"#
        ),
    )
}

#[test]
fn samples_are_read() {
    let read = |(name, text): (&str, String)| {
        let settings = Settings::from_json(text.as_bytes(), &SampleCatalog, Strictness::Strict);
        let settings = settings.unwrap_or_else(|error| panic!("{name}: {error}"));
        let warnings: Vec<_> =
            settings.warnings.iter().map(|warning| warning.path.clone()).collect();
        format!(
            "{name}: {} markets, {} agents, {} correlations, warned of {warnings:?}",
            settings.market_count(),
            settings.agent_count(),
            settings.correlations.len()
        )
    };
    insta::assert_snapshot!(all_samples().into_iter().map(read).collect::<Vec<_>>().join("\n"));
}

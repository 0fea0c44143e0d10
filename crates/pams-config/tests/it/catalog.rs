//! A few classes to read configs with. They are declared as users declare theirs.

use std::sync::Arc;

use pams_config::{
    Block, ClassCatalog, ClassKind, ClassSettings, ConfigBlock, MarketReference, NonNegative,
    RandomValue, SpotMarketReference, config_block, config_choice, no_settings, read_settings,
};
use serde_json::{Value as Json, json};

config_choice! {
    /// How a margin is drawn.
    pub(crate) enum Margin {
        /// In proportion.
        Fixed = "fixed",
        /// Normally distributed.
        Normal = "normal",
    }
}

config_block! {
    /// Settings of a trader.
    pub(crate) struct Trader {
        /// The weight of something.
        pub(crate) weight: RandomValue = "weight",
        /// How far the agent looks back.
        pub(crate) window: u64 = "window",
        /// The time to come back; the window when it is not given.
        pub(crate) reversion: Option<RandomValue> = "reversion",
        /// How the margin is drawn.
        pub(crate) margin: Margin = "margin" default Margin::Fixed,
        /// The size of the margin.
        pub(crate) margin_size: f64 = "marginSize" default 0.5,
    }
    deprecated { "oldWeight": "the weight is enough" }
    refused { "days": "there are no days: give `window`, in steps" }
    validate = check_margin;
}

fn check_margin(settings: &Trader, block: &mut Block<'_>) {
    if settings.margin == Margin::Fixed && settings.margin_size > 1.0 {
        let message = format!("a fixed margin is at most 1, found {:?}", settings.margin_size);
        block.problem_with_help("marginSize", message, "1 is 100 %");
    }
}

config_block! {
    /// Settings of a trader that also prefers a market.
    pub(crate) struct Picky {
        pub(crate) trader: Trader = flatten,
        /// How much it prefers it.
        pub(crate) preference: NonNegative = "preference",
        /// The markets it prefers.
        pub(crate) favourites: Vec<MarketReference> = "favourites" default Vec::new(),
    }
}

config_block! {
    /// Settings of a maker.
    pub(crate) struct Maker {
        /// The market in which it makes prices.
        pub(crate) target: MarketReference = "target",
    }
    validate = check_access;
}

fn check_access(settings: &Maker, block: &mut Block<'_>) {
    if !block.can_access(settings.target.0) {
        let name = block.markets().name(settings.target.0);
        block.problem_with_help(
            "target",
            format!("the maker cannot trade in `{name}`"),
            "add its group to `markets`",
        );
    }
}

config_block! {
    /// Settings of a shock.
    pub(crate) struct Shock {
        /// The market that is hit.
        pub(crate) target: SpotMarketReference = "target",
        /// How much.
        pub(crate) rate: f64 = "rate",
    }
}

config_block! {
    /// Settings of a market with a volume.
    pub(crate) struct Extended {
        /// The volume of step 0.
        pub(crate) trade_volume: u64 = "tradeVolume",
    }
}

/// The classes above.
pub(crate) struct Catalog;

impl ClassCatalog for Catalog {
    fn class_names(&self, kind: ClassKind) -> Vec<String> {
        let names: &[&str] = match kind {
            ClassKind::Market => &["Market", "IndexMarket", "ExtendedMarket"],
            ClassKind::Agent => &["Trader", "Picky", "Maker"],
            ClassKind::Event => &["Shock"],
        };
        names.iter().map(ToString::to_string).collect()
    }

    fn read(&self, _: ClassKind, class: &str, block: &mut Block<'_>) -> Option<ClassSettings> {
        match class {
            "ExtendedMarket" => read_settings::<Extended>(block),
            "Trader" => read_settings::<Trader>(block),
            "Picky" => read_settings::<Picky>(block),
            "Maker" => read_settings::<Maker>(block),
            "Shock" => read_settings::<Shock>(block),
            _ => Some(no_settings()),
        }
    }

    fn schema(&self, _: ClassKind, class: &str) -> Json {
        match class {
            "ExtendedMarket" => Extended::schema(),
            "Trader" => Trader::schema(),
            "Picky" => Picky::schema(),
            "Maker" => Maker::schema(),
            "Shock" => Shock::schema(),
            _ => json!({"type": "object"}),
        }
    }
}

/// What a class read, as its own type.
pub(crate) fn settings_of<T: Send + Sync + 'static>(settings: &ClassSettings) -> Arc<T> {
    Arc::clone(settings).downcast().expect("the class reads this type")
}

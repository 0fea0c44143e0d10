//! Market classes: settings of their own and fields that agents can read.

use pams_config::ConfigBlock;
use pams_core::random::Generator;
use pams_core::{EventError, FieldValue, MarketSpec, Volume};

/// A class of markets. Its markets are ordinary ones with additional settings and fields; how
/// orders trade is the same for all.
///
/// ```
/// use pams_agent::{MarketClass, MarketSetup, Registry};
/// use pams_config::config_block;
/// use pams_core::{EventError, FieldValue};
///
/// config_block! {
///     /// Keys of a market with an operator.
///     pub struct OperatedMarketSettings {
///         /// Who runs the market.
///         pub operator: String = "operator",
///     }
/// }
///
/// struct OperatedMarket;
///
/// impl MarketClass for OperatedMarket {
///     type Settings = OperatedMarketSettings;
///     fn configure(
///         settings: &OperatedMarketSettings,
///         setup: &mut MarketSetup<'_>,
///     ) -> Result<(), EventError> {
///         setup.set_field("operator", FieldValue::Text(settings.operator.clone()));
///         Ok(())
///     }
/// }
///
/// Registry::builtin().market::<OperatedMarket>("OperatedMarket");
/// ```
pub trait MarketClass: 'static {
    /// The keys of the class in a config.
    type Settings: ConfigBlock;

    /// Whether its markets are indices, with components. By default they are not.
    const IS_INDEX: bool = false;

    /// Adds to a market what the class's settings say.
    ///
    /// # Errors
    ///
    /// When a market can't be made from these settings.
    fn configure(settings: &Self::Settings, setup: &mut MarketSetup<'_>) -> Result<(), EventError>;
}

/// A market in the making.
#[derive(Debug)]
pub struct MarketSetup<'a> {
    spec: &'a mut MarketSpec,
    generator: &'a mut Generator,
}

impl<'a> MarketSetup<'a> {
    /// A setup of the market that `spec` describes, with the market's own generator.
    pub fn new(spec: &'a mut MarketSpec, generator: &'a mut Generator) -> Self {
        Self { spec, generator }
    }

    /// The market's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The market's own generator.
    pub fn generator(&mut self) -> &mut Generator {
        self.generator
    }

    /// Adds a field that agents can read.
    pub fn set_field(&mut self, name: impl Into<String>, value: FieldValue) {
        self.spec.fields.insert(name.into(), value);
    }

    /// Lets the executed volume of step 0 start at `units` instead of 0.
    pub fn set_initial_executed_volume(&mut self, units: u64) {
        self.spec.initial_executed_volume = Volume(units);
    }
}

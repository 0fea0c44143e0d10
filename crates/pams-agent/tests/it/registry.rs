//! The classes that a config can name.

use pams_agent::{
    Agent, AgentError, AgentSetup, Frequency, GroupSetup, MarketClass, MarketSetup, Markets,
    NoSettings, Registry, Turn,
};
use pams_config::{ClassCatalog, ClassKind, Settings, Strictness};
use pams_core::{AgentId, EventError, FieldValue, MarketId, MarketSpec, TickSize, Volume};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::floor::python;

/// An agent that does nothing.
#[derive(Debug, Serialize, Deserialize)]
struct Idle {}

impl Agent for Idle {
    type Settings = NoSettings;
    type State = ();
    fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self {})
    }
    fn submit_orders(&self, (): &(), _: &Markets<'_>, _: &mut Turn<'_>) -> Result<(), AgentError> {
        Ok(())
    }
}

fn config(agent_class: &str, market: Json) -> Json {
    json!({
        "simulation": {"markets": ["M"], "agents": ["A"], "sessions": []},
        "M": market,
        "A": {"class": agent_class, "markets": ["M"], "cashAmount": 0, "assetVolume": 0}
    })
}

fn plain_market() -> Json {
    json!({"class": "Market", "tickSize": 1, "marketPrice": 300})
}

fn read(registry: &Registry, config: &Json) -> Result<Settings, String> {
    Settings::from_value(config, registry, Strictness::Strict).map_err(|error| error.to_string())
}

#[test]
fn the_classes_of_pams_are_built_in() {
    let registry = Registry::builtin();
    assert_eq!(
        registry.class_names(ClassKind::Market),
        ["Market", "IndexMarket", "ExtendedMarket"]
    );
    assert_eq!(
        registry.class_names(ClassKind::Agent),
        ["FCNAgent", "MarketShareFCNAgent", "TestAgent", "ArbitrageAgent", "MarketMakerAgent"]
    );
    assert_eq!(
        registry.class_names(ClassKind::Event),
        ["FundamentalPriceShock", "OrderMistakeShock", "PriceLimitRule", "TradingHaltRule"]
    );
    let high = |class: &str| registry.frequency(class) == Frequency::High;
    let classes = registry.class_names(ClassKind::Agent);
    let urgent: Vec<&String> = classes.iter().filter(|class| high(class)).collect();
    assert_eq!(urgent, ["ArbitrageAgent", "MarketMakerAgent"]);
    assert!(registry.is_index("IndexMarket") && !registry.is_index("Market"));
    assert!(!registry.is_index("Unknown"));
}

#[test]
fn an_unknown_class_is_an_error_with_the_nearest_name() {
    let error = read(&Registry::builtin(), &config("FCNAgnet", plain_market())).unwrap_err();
    assert!(error.contains("A.class") && error.contains("did you mean `FCNAgent`?"), "{error}");
    let error = read(&Registry::empty(), &config("FCNAgent", plain_market())).unwrap_err();
    assert!(error.contains("M.class") && error.contains("A.class"), "{error}");
}

#[test]
fn a_class_of_the_users_replaces_one_of_the_same_name() {
    let mut registry = Registry::builtin();
    // FCNAgent's keys are missing here, so only the user's class can be made of this.
    let config = config("FCNAgent", plain_market());
    assert!(read(&registry, &config).is_err());
    registry.high_frequency_agent::<Idle>("FCNAgent");
    let settings = read(&registry, &config).unwrap();
    assert_eq!(registry.class_names(ClassKind::Agent).len(), 5);
    assert_eq!(registry.frequency("FCNAgent"), Frequency::High);
    let mut generators = [python(0)];
    let mut setup = GroupSetup::new(AgentId(0), &mut generators, &[MarketId(0)]);
    let agents =
        registry.create_agents("FCNAgent", &settings.agents[0].class_settings, &mut setup).unwrap();
    assert!(format!("{agents:?}").contains("Idle"), "{agents:?}");
    registry.agent::<Idle>("FCNAgent");
    assert_eq!(registry.frequency("FCNAgent"), Frequency::Normal);
}

fn spec() -> MarketSpec {
    MarketSpec::new("M", TickSize::new(1.0).unwrap(), 300.0)
}

fn configured(registry: &Registry, market: Json) -> MarketSpec {
    let settings = read(registry, &config("TestAgent", market)).unwrap();
    let group = &settings.markets[0];
    let mut spec = spec();
    let mut generator = python(0);
    let mut setup = MarketSetup::new(&mut spec, &mut generator);
    registry.configure_market(&group.class, &group.class_settings, &mut setup).unwrap();
    spec
}

#[test]
fn an_extended_market_begins_with_its_volume() {
    let registry = Registry::builtin();
    assert_eq!(configured(&registry, plain_market()), spec());
    let extended = |key: Json| {
        let mut market = json!({"class": "ExtendedMarket", "tickSize": 1, "marketPrice": 300});
        if !key.is_null() {
            market["tradeVolume"] = key;
        }
        configured(&registry, market)
    };
    assert_eq!(extended(Json::Null), spec());
    let spec = extended(json!(90));
    assert_eq!(spec.initial_executed_volume, Volume(90));
    assert_eq!(spec.fields["tradeVolume"], FieldValue::Int(90));
}

#[test]
fn a_market_class_of_the_users_adds_fields() {
    struct Named;
    impl MarketClass for Named {
        type Settings = NoSettings;
        fn configure(_: &NoSettings, setup: &mut MarketSetup<'_>) -> Result<(), EventError> {
            let lucky = setup.generator().below(7);
            setup.set_field("name", FieldValue::Text(setup.name().to_owned()));
            setup.set_initial_executed_volume(lucky);
            Ok(())
        }
    }
    let mut registry = Registry::builtin();
    registry.market::<Named>("Market");
    let spec = configured(&registry, plain_market());
    assert_eq!(spec.fields["name"], FieldValue::Text("M".to_owned()));
    assert_eq!(spec.initial_executed_volume, Volume(python(0).below(7)));
}

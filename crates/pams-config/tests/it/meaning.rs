//! What right configs mean.

use pams_config::{ConfigError, Correlation, RandomValue, Settings, StartMethod, Strictness};
use pams_core::{AgentId, MarketId};
use serde_json::{Value as Json, json};

use crate::catalog::{Catalog, Extended, Maker, Margin, Picky, Trader, settings_of};

const BASE: &str = include_str!("base.json");

fn read(text: &str) -> Settings {
    Settings::from_json(text.as_bytes(), &Catalog, Strictness::Strict)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn changed(changes: &[(&str, &str)]) -> Settings {
    let replace = |text: String, (from, to): &(&str, &str)| {
        assert_eq!(text.matches(from).count(), 1, "`{from}` stands in the config once");
        text.replacen(from, to, 1)
    };
    read(&changes.iter().fold(BASE.to_owned(), replace))
}

#[test]
fn the_base_means_what_it_says() {
    let settings = read(BASE);
    let [spot, index] = settings.markets.as_slice() else { panic!("two groups of markets") };
    assert_eq!(spot.names.iter().collect::<Vec<_>>(), ["Spot-0", "Spot-1"]);
    assert_eq!((spot.class.as_str(), spot.tick_size, spot.market_price), ("Market", 0.1, 300.0));
    assert_eq!((spot.fundamental_price, spot.fundamental_volatility), (300.0, 0.01));
    assert_eq!(spot.outstanding_shares, Some(1000));
    assert_eq!((index.first_id, index.names.name(0)), (MarketId(2), "Index".to_owned()));
    assert_eq!(index.components, [MarketId(0), MarketId(1)]);
    let [traders, maker] = settings.agents.as_slice() else { panic!("two groups of agents") };
    assert_eq!((traders.names.len(), traders.names.name(9)), (10, "Traders-9".to_owned()));
    assert_eq!(traders.cash_amount, RandomValue::Constant(10000.0));
    assert_eq!(traders.asset_volume, RandomValue::Uniform { low: 20.0, high: 10.0 });
    let trader = settings_of::<Trader>(&traders.class_settings);
    assert_eq!(trader.weight, RandomValue::Exponential { mean: 1.0 });
    assert_eq!((trader.window, trader.margin, trader.margin_size), (5, Margin::Fixed, 0.5));
    assert_eq!((maker.first_id, maker.names.name(0)), (AgentId(10), "Maker".to_owned()));
    assert_eq!(maker.markets, [1, 0]);
    assert_eq!(
        settings.accessible_markets(maker).collect::<Vec<_>>(),
        [MarketId(2), MarketId(0), MarketId(1)]
    );
    assert_eq!(settings_of::<Maker>(&maker.class_settings).target.0, MarketId(1));
    let [first, second] = settings.sessions.as_slice() else { panic!("two sessions") };
    assert_eq!(
        (first.name.as_str(), first.iteration_steps, first.with_order_execution),
        ("0", 10, false)
    );
    assert_eq!((first.max_normal_orders, first.max_high_frequency_orders), (1, 1));
    assert_eq!(second.events.len(), 1);
    assert!(second.events[0].enabled);
    assert_eq!(
        settings.correlations,
        [Correlation { first: MarketId(0), second: MarketId(1), value: 0.5 }]
    );
}

#[test]
fn the_resolved_config_reads_the_same_and_has_neither_notes_nor_templates() {
    let settings = changed(&[
        ("\"window\": 5", "\"window\": 5, \"MEMO\": 1"),
        ("\"sessionName\": 0", "\"_\": 1, \"sessionName\": 0"),
    ]);
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&settings.resolved).expect("JSON can be written")
    );
    let again = Settings::from_value(&settings.resolved, &Catalog, Strictness::Strict)
        .expect("it is a config");
    assert_eq!(again.resolved, settings.resolved);
    assert_eq!(again.market_count(), settings.market_count());
}

#[test]
fn group_keys_make_names() {
    let check = |keys: Json, expected: &[&str]| {
        let mut config: Json = serde_json::from_str(BASE).expect("the base is JSON");
        let traders = config["Traders"].as_object_mut().expect("a block");
        traders.remove("numAgents");
        traders.extend(keys.as_object().expect("keys").clone());
        let settings = Settings::from_value(&config, &Catalog, Strictness::Strict);
        let names: Vec<_> = settings.expect("the keys are right").agents[0].names.iter().collect();
        assert_eq!(names, expected, "{keys}");
    };
    check(json!({}), &["Traders"]);
    check(json!({"numAgents": 1}), &["Traders"]);
    check(json!({"numAgents": 0}), &[]);
    check(json!({"numAgents": 2}), &["Traders-0", "Traders-1"]);
    check(json!({"numAgents": 2.0}), &["Traders-0", "Traders-1"]);
    check(json!({"from": 5, "to": 5}), &["Traders5"]);
    check(json!({"from": 3, "to": 4}), &["Traders-3", "Traders-4"]);
    check(json!({"from": -1, "to": 0}), &["Traders--1", "Traders-0"]);
    check(json!({"numAgents": 2, "prefix": "pre"}), &["pre0", "pre1"]);
    check(json!({"numAgents": 1, "prefix": "pre"}), &["pre"]);
    check(json!({"from": 0, "to": 0, "prefix": ""}), &["0"]);
}

#[test]
fn extends_inherits_counts_and_prefixes_but_not_ranges() {
    let check = |base: &str, own: &str, expected: &[&str]| {
        let replaced = [
            ("\"extends\": \"SpotBase\",\n    \"numMarkets\": 2", own),
            ("\"class\": \"Market\"", base),
        ];
        let text =
            replaced.iter().fold(BASE.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
        // Other names than those that the rest of the config refers to: only the names are looked at.
        let mut config: Json = serde_json::from_str(&text).expect("it is JSON");
        config["simulation"] = json!({"markets": ["Spot"], "agents": [], "sessions": []});
        let settings = Settings::from_value(&config, &Catalog, Strictness::Strict);
        let settings = settings.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(settings.markets[0].names.iter().collect::<Vec<_>>(), expected, "{base} {own}");
    };
    check(
        "\"class\": \"Market\", \"numMarkets\": 3",
        "\"extends\": \"SpotBase\"",
        &["Spot-0", "Spot-1", "Spot-2"],
    );
    check("\"class\": \"Market\", \"prefix\": \"p\"", "\"extends\": \"SpotBase\"", &["p"]);
    check("\"class\": \"Market\", \"from\": 1, \"to\": 2", "\"extends\": \"SpotBase\"", &["Spot"]);
    check(
        "\"class\": \"Market\", \"numMarkets\": 3",
        "\"extends\": \"SpotBase\", \"numMarkets\": 2",
        &["Spot-0", "Spot-1"],
    );
}

#[test]
fn the_last_of_repeated_keys_wins_silently() {
    let settings = changed(&[(
        "\"window\": 5",
        "\"window\": \"wrong\", \"MEMO\": 1, \"window\": 7, \"MEMO\": 2",
    )]);
    assert_eq!(settings_of::<Trader>(&settings.agents[0].class_settings).window, 7);
    assert!(settings.warnings.is_empty());
}

#[test]
fn whole_numbers_are_kept_exactly() {
    let settings = changed(&[("\"window\": 5", "\"window\": 9007199254740993")]);
    assert_eq!(
        settings_of::<Trader>(&settings.agents[0].class_settings).window,
        9_007_199_254_740_993
    );
    let settings = changed(&[("\"window\": 5", "\"window\": 18446744073709551615")]);
    assert_eq!(settings_of::<Trader>(&settings.agents[0].class_settings).window, u64::MAX);
}

#[test]
fn random_values_are_read_in_all_their_forms() {
    let check = |text: &str, expected: RandomValue| {
        let settings = changed(&[("{\"expon\": [1.0]}", text)]);
        assert_eq!(settings_of::<Trader>(&settings.agents[0].class_settings).weight, expected);
    };
    check("7", RandomValue::Constant(7.0));
    check("{\"const\": [7]}", RandomValue::Constant(7.0));
    check("[20, 10]", RandomValue::Uniform { low: 20.0, high: 10.0 });
    check("{\"uniform\": [5, 5]}", RandomValue::Uniform { low: 5.0, high: 5.0 });
    check("{\"normal\": [0, -1]}", RandomValue::Normal { mean: 0.0, deviation: -1.0 });
    check("{\"expon\": [-2.5], \"MEMO\": 1}", RandomValue::Exponential { mean: -2.5 });
    check("{\"expon\": [0]}", RandomValue::Exponential { mean: 0.0 });
}

#[test]
fn session_names_are_strings_as_python_writes_them() {
    let check = |text: &str, expected: &str| {
        let settings = changed(&[("\"sessionName\": 1", &format!("\"sessionName\": {text}"))]);
        assert_eq!(settings.sessions[1].name, expected);
    };
    check("\"é\"", "é");
    check("12", "12");
    check("true", "True");
    check("1.0", "1.0");
    check("1e16", "1e+16");
    check("null", "None");
}

#[test]
fn old_names_work_with_a_warning() {
    let settings = changed(&[(
        "\"iterationSteps\": 10,",
        "\"iterationSteps\": 10, \"maxHifreqOrders\": 3, \"hifreqSubmitRate\": 0.25, \"maxNormalOrders\": -1,",
    )]);
    let session = &settings.sessions[0];
    assert_eq!((session.max_high_frequency_orders, session.max_normal_orders), (3, -1));
    assert_eq!(session.high_frequency_submit_rate.to_string(), "0.25");
    assert_eq!(settings.warnings.len(), 2);
}

#[test]
fn a_pair_that_is_given_twice_has_the_last_correlation() {
    let settings = changed(&[(
        "[\"Spot-0\", \"Spot-1\", 0.5]",
        "[\"Spot-0\", \"Spot-1\", 0.5], [\"Spot-1\", \"Spot-0\", -0.5]",
    )]);
    assert_eq!(
        settings.correlations,
        [Correlation { first: MarketId(1), second: MarketId(0), value: -0.5 }]
    );
}

#[test]
fn an_event_that_is_listed_twice_is_two_events() {
    let settings = changed(&[
        ("[\"Shock\"]", "[\"Shock\", \"Shock\"]"),
        ("\"rate\": -0.1", "\"rate\": 1, \"enabled\": false"),
    ]);
    assert_eq!(settings.sessions[1].events.len(), 2);
    assert!(!settings.sessions[1].events[1].enabled);
}

#[test]
fn classes_take_in_the_keys_of_others() {
    let settings = changed(&[
        (
            "\"class\": \"Trader\"",
            "\"class\": \"Picky\", \"preference\": 2, \"favourites\": [\"Index\", \"Spot-1\"]",
        ),
        ("\"class\": \"Market\"", "\"class\": \"ExtendedMarket\", \"tradeVolume\": 90"),
    ]);
    let picky = settings_of::<Picky>(&settings.agents[0].class_settings);
    assert_eq!(picky.trader.window, 5);
    assert_eq!(
        picky.favourites.iter().map(|market| market.0).collect::<Vec<_>>(),
        [MarketId(2), MarketId(1)]
    );
    assert_eq!(settings_of::<Extended>(&settings.markets[0].class_settings).trade_volume, 90);
}

#[test]
fn an_index_of_indices_is_allowed() {
    let settings = changed(&[
        ("\"markets\": [\"Spot\", \"Index\"]", "\"markets\": [\"Spot\", \"Index\", \"Top\"]"),
        ("\"markets\": [\"Spot-0\", \"Spot-1\"]", "\"outstandingShares\": 5, \"markets\": [\"Spot-1\", \"Spot-0\"]"),
        (
            "  \"Shock\": {",
            "  \"Top\": {\"class\": \"IndexMarket\", \"tickSize\": 1, \"fundamentalPrice\": 300, \"markets\": [\"Index\"]},
  \"Shock\": {",
        ),
    ]);
    assert_eq!(settings.markets[1].components, [MarketId(1), MarketId(0)]);
    assert_eq!(settings.markets[2].components, [MarketId(2)]);
    assert_eq!(settings.markets[2].market_price.to_string(), "300");
}

#[test]
fn blocks_that_nothing_uses_are_not_looked_at() {
    let settings = changed(&[(
        "  \"Shock\": {",
        "  \"Draft\": {\"class\": 5, \"any\": NaN},\n  \"Shock\": {",
    )]);
    assert_eq!(settings.resolved.get("Draft"), None);
}

#[test]
fn lenient_reading_warns_of_unknown_keys() {
    let text = BASE.replace("\"window\": 5", "\"window\": 5, \"seed\": 1");
    let settings =
        Settings::from_json(text.as_bytes(), &Catalog, Strictness::Lenient).expect("it is lenient");
    let warnings: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["Traders.seed: unknown key (line 44, column 18)"]);
}

#[test]
fn how_the_simulation_is_run() {
    let keys = "{\"numParallel\": 3, \"startMethod\": \"forkserver\", \"torchNumThreads\": 2, \"historyWindow\": 100,";
    let settings = changed(&[("\"simulation\": {", &format!("\"simulation\": {keys}"))]).simulation;
    assert_eq!((settings.num_parallel, settings.torch_num_threads), (Some(3), Some(2)));
    assert_eq!(
        (settings.start_method, settings.history_window),
        (Some(StartMethod::ForkServer), Some(100))
    );
}

#[test]
fn an_empty_simulation_is_one() {
    let settings = read(r#"{"simulation": {"markets": [], "agents": [], "sessions": []}}"#);
    assert_eq!(
        (settings.market_count(), settings.agent_count(), settings.sessions.len()),
        (0, 0, 0)
    );
}

#[test]
fn settings_and_errors_can_go_to_other_threads() {
    fn check<T: Send + Sync>() {}
    check::<Settings>();
    check::<ConfigError>();
}

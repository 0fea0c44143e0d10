//! The agent in a config.

use pams_agent::Registry;
use pams_core::{Record, Side};
use pams_runner::{Logger, NameTable, RunReport, SequentialRunner};
use serde_json::{Value as Json, json};

#[derive(Default)]
struct Records(Vec<Record>);

impl Logger for Records {
    fn record(&mut self, record: &Record, _: &NameTable) -> std::io::Result<()> {
        self.0.push(*record);
        Ok(())
    }
}

fn run(keys: &Json) -> Result<(RunReport, Vec<Record>), String> {
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    let mut config = json!({
        "simulation": {"markets": ["Market"], "agents": ["Networks"], "sessions": [
            {"sessionName": "day", "iterationSteps": 60, "withOrderPlacement": true,
             "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 3}]},
        "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
        "Networks": {"class": "CandleAgent", "numAgents": 4, "markets": ["Market"],
                     "cashAmount": 10000, "assetVolume": 50}
    });
    for (key, value) in keys.as_object().expect("keys") {
        config["Networks"][key] = value.clone();
    }
    let mut records = Records::default();
    let report = SequentialRunner::builder()
        .registry(registry)
        .config_value(config)
        .seed(3)
        .logger(&mut records)
        .build()
        .and_then(pams_runner::Runner::run)
        .map_err(|error| error.to_string())?;
    Ok((report, records.0))
}

#[test]
fn orders_are_near_the_price_on_the_side_of_the_signal() {
    let keys =
        json!({"priceScale": 0.02, "orderVolume": 3, "orderTimeLength": 7, "hiddenSizes": []});
    let (_, records) = run(&keys).expect("it runs");
    let first_step = records.iter().filter_map(|record| match record {
        Record::Order(order) if order.time.since_start() == 0 => Some(order),
        _ => None,
    });
    let orders: Vec<_> = first_step.collect();
    assert_eq!(orders.len(), 3);
    for order in orders {
        let price = order.price.expect("a limit order");
        assert_eq!((order.volume.0, order.time_to_live), (3, Some(7)));
        // A positive signal buys above the price.
        assert_eq!(order.side == Side::Buy, price >= 300.0, "{order:?}");
        assert!((price / 300.0).ln().abs() < 0.02 + 0.01 / 300.0, "{order:?}");
    }
}

#[test]
fn a_shared_network_gives_other_records_than_own_ones() {
    let hash = |keys: Json| run(&keys).expect("it runs").0.records_hash.expect("it is made");
    let own = hash(json!({}));
    assert_eq!(own, hash(json!({"sharedNetwork": false, "hiddenSizes": [64, 64]})));
    assert_ne!(own, hash(json!({"sharedNetwork": true})));
}

#[test]
fn weights_come_from_a_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/sequential.pth");
    run(&json!({"weights": path, "historyLength": 4, "hiddenSizes": [3]})).expect("it runs");
    let error = run(&json!({"weights": path})).expect_err("other sizes");
    assert!(error.starts_with("Networks: weights: "), "{error}");
    assert!(error.contains("expected [[64, 32], [64, 64], [1, 64]]"), "{error}");
}

#[test]
fn layers_have_the_names_of_the_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/normalized.pth");
    let keys = |names: Json| json!({"weights": path, "historyLength": 4, "hiddenSizes": [3], "layerNames": names});
    let hash = |keys: Json| run(&keys).expect("it runs").0.records_hash;
    let plain = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/sequential.pth");
    let plain = json!({"weights": plain, "historyLength": 4, "hiddenSizes": [3]});
    assert_eq!(hash(keys(json!(["0", "2"]))), hash(plain));
    for (names, expected) in [
        (
            json!(["0"]),
            "expected 2 names, one for each hidden layer and one for the output, found 1",
        ),
        (json!(["0", "0"]), "`0` is named twice"),
        (json!("0"), "expected an array, found the string \"0\""),
    ] {
        let error = run(&keys(names)).expect_err("a mistake");
        assert!(error.contains(&format!("Networks.layerNames: {expected}")), "{error}");
    }
    let error = run(&json!({"layerNames": ["0", "2", "4"]})).expect_err("no file");
    assert!(error.contains("Networks.layerNames: there is no file whose layers have names"));
}

#[test]
fn a_group_may_be_empty() {
    assert_eq!(run(&json!({"numAgents": 0})).expect("it runs").0.orders, 0);
}

#[test]
fn wrong_keys_are_named() {
    let keys = [
        ("historyLength", json!(0), "expected a whole number that is 1 or above, found 0"),
        ("orderVolume", json!(0), "expected a whole number that is 1 or above, found 0"),
        ("orderTimeLength", json!(-1), "expected a whole number that is 0 or above, found -1"),
        ("noiseScale", json!(-0.5), "expected a number that is 0 or above, found -0.5"),
        ("priceScale", json!("high"), "expected a number, found the string \"high\""),
        ("hiddenSizes", json!([64, 0]), "a hidden layer has at least 1 neuron, found 0"),
        ("weights", json!(""), "expected the path of a file, found the string \"\""),
    ];
    for (key, value, expected) in keys {
        let error = run(&json!({ key: value })).expect_err("a mistake");
        assert!(error.contains(&format!("Networks.{key}: {expected}")), "{error}");
    }
}

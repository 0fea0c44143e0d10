//! A history window changes what is kept, and nothing else.

use serde_json::{Value as Json, json};

use crate::bidder::{builder, run, session};

/// FCN agents that look back up to 20 steps, with a window of so many steps.
fn config(window: Option<u64>) -> Json {
    let mut config = json!({
        "simulation": {"markets": ["M"], "agents": ["FCN"],
                       "sessions": [session(300, &json!({"maxNormalOrders": 3}))]},
        "M": {"class": "Market", "numMarkets": 2, "tickSize": 0.01, "marketPrice": 300,
              "fundamentalVolatility": 0.001},
        "FCN": {"class": "FCNAgent", "numAgents": 30, "markets": ["M"], "cashAmount": 10000,
                "assetVolume": 50, "fundamentalWeight": [1, 2], "chartWeight": [0, 1],
                "noiseWeight": [0, 1], "noiseScale": 0.01, "timeWindowSize": [10, 20.5],
                "orderMargin": [0, 0.1]}
    });
    if let Some(window) = window {
        config["simulation"]["historyWindow"] = json!(window);
    }
    config
}

#[test]
fn a_window_that_is_too_small_names_the_agent() {
    let mut small = config(Some(19));
    small["FCN"]["timeWindowSize"] = json!(20);
    assert_eq!(
        builder(&small).build().unwrap_err().to_string(),
        "FCN (agent FCN-0): the agent looks 20 steps back, but simulation.historyWindow keeps only 19"
    );
    small["simulation"]["historyWindow"] = json!(20);
    builder(&small).build().unwrap();
}

#[test]
fn a_window_that_is_large_enough_changes_no_record() {
    let (all, _) = run(&config(None));
    assert!(all.executions > 100);
    for window in [20, 21, 64, 1000] {
        let (few, _) = run(&config(Some(window)));
        assert_eq!(few, all, "a window of {window}");
    }
}

#[test]
fn the_market_share_agent_looks_back_too() {
    let mut small = config(Some(5));
    small["FCN"]["class"] = json!("MarketShareFCNAgent");
    let error = builder(&small).build().unwrap_err().to_string();
    assert!(error.starts_with("FCN (agent FCN-0): the agent looks "), "{error}");
    let with = |window| {
        let mut config = config(window);
        config["FCN"]["class"] = json!("MarketShareFCNAgent");
        run(&config).0.records_hash
    };
    assert_eq!(with(None), with(Some(20)));
}

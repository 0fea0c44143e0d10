//! Sessions of all lengths, and runs with nobody in them.

use pams_core::{Record, SessionId, SessionRecord, Step};
use serde_json::{Value as Json, json};

use crate::bidder::{builder, config, orders, run, session};

#[test]
fn without_sessions_time_is_0_and_every_market_has_one_price() {
    let (report, saver) = run(&config(&[], &json!({}), &json!({})));
    assert_eq!((report.steps, report.orders), (0, 0));
    let [market] = report.markets.as_slice() else { panic!("one market") };
    assert_eq!((market.name.as_str(), market.market_price), ("M", 300.0));
    assert_eq!((market.last_executed_price, market.vwap), (None, None));
    let times = [Record::SimulationBegin(Step(-1)), Record::SimulationEnd(Step(0))];
    assert_eq!(saver.records(), times);
    assert_eq!(saver.accounts().len(), 1);
}

#[test]
fn a_session_of_zero_steps_begins_and_ends() {
    let nothing = json!({"sessionName": "nothing"});
    let sessions = [session(0, &nothing), session(2, &json!({}))];
    let (report, saver) = run(&config(&sessions, &json!({}), &json!({})));
    assert_eq!(report.steps, 2);
    let borders: Vec<Record> = saver
        .records()
        .iter()
        .filter(|record| matches!(record, Record::SessionBegin(_) | Record::SessionEnd(_)))
        .copied()
        .collect();
    let at = |session, time| SessionRecord { session: SessionId(session), time: Step(time) };
    assert_eq!(
        borders,
        [
            Record::SessionBegin(at(0, 0)),
            Record::SessionEnd(at(0, 0)),
            Record::SessionBegin(at(1, 0)),
            Record::SessionEnd(at(1, 2)),
        ]
    );
}

#[test]
fn every_step_has_one_record_for_each_market() {
    let sessions = [session(3, &json!({})), session(2, &json!({"sessionName": "evening"}))];
    let (report, saver) = run(&config(&sessions, &json!({}), &json!({})));
    assert_eq!(report.steps, 5);
    let times: Vec<i64> = saver.market_prices("M").map(|(time, _)| time.0).collect();
    assert_eq!(times, [0, 1, 2, 3, 4]);
    assert_eq!(saver.market_prices("unknown").count(), 0);
}

#[test]
fn nobody_at_all() {
    let mut config = config(&[session(3, &json!({}))], &json!({}), &json!({}));
    config["simulation"]["agents"] = json!([]);
    let (report, saver) = run(&config);
    assert_eq!((report.steps, report.orders), (3, 0));
    assert!(saver.accounts().is_empty());
}

#[test]
fn one_agent_is_asked_in_every_step() {
    let many = json!({"maxNormalOrders": 100});
    let (report, _) = run(&config(&[session(5, &many)], &json!({}), &json!({})));
    assert_eq!(report.orders, 5);
}

#[test]
fn nobody_is_asked_without_order_placement() {
    let closed = json!({"withOrderPlacement": false});
    let faulty = json!({"failAt": 0});
    let (report, _) = run(&config(&[session(5, &closed)], &faulty, &json!({})));
    assert_eq!((report.steps, report.orders), (5, 0));
}

#[test]
fn triggers_count_from_the_session_that_lists_them() {
    let shock = json!({"class": "FundamentalPriceShock", "target": "M", "triggerTime": 1,
                       "priceChangeRate": -0.5});
    let sessions =
        [session(3, &json!({})), session(3, &json!({"sessionName": 1, "events": ["S"]}))];
    let mut config = config(&sessions, &json!({}), &json!({}));
    config["S"] = shock;
    let prices = |config: &Json| {
        let (_, saver) = run(config);
        let steps = saver.records().iter().filter_map(|record| match record {
            Record::Step(step) => Some(step.fundamental_price),
            _ => None,
        });
        steps.collect::<Vec<f64>>()
    };
    assert_eq!(prices(&config), [300.0, 300.0, 300.0, 300.0, 150.0, 150.0]);
    config["S"]["triggerTime"] = json!(0);
    config["simulation"]["sessions"][1]["events"] = json!(["S", "S"]);
    assert_eq!(prices(&config)[2..4], [300.0, 75.0], "listed twice, it happens twice");
    config["S"]["enabled"] = json!(false);
    assert_eq!(prices(&config), [300.0; 6]);
    for length in [0, -3] {
        config["S"]["enabled"] = json!(true);
        config["S"]["shockTimeLength"] = json!(length);
        assert_eq!(prices(&config), [300.0; 6]);
    }
}

#[test]
fn sessions_longer_than_any_number_of_steps_begin_at_least() {
    let longest = i64::MAX.unsigned_abs();
    let sessions: Vec<_> =
        (0..2).map(|name| session(longest, &json!({"sessionName": name}))).collect();
    let config = config(&sessions, &json!({"failAt": 1}), &json!({}));
    let error = builder(&config).build().unwrap().run().unwrap_err();
    assert_eq!(error.to_string(), "step 1, agent Slow: no more ideas");
}

#[test]
fn orders_rest_from_one_session_to_the_next() {
    let sessions = [session(1, &json!({})), session(1, &json!({"sessionName": 1}))];
    let (_, saver) = run(&config(&sessions, &json!({}), &json!({})));
    let prices: Vec<_> = orders(&saver).iter().map(|(_, order)| order.price).collect();
    assert_eq!(prices, [Some(100.0), Some(101.0)]);
}

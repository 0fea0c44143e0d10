//! Who is asked, how often, and what they see.

use std::collections::BTreeSet;

use serde_json::json;

use crate::bidder::{config, orders, run, session, submitters};

#[test]
fn max_normal_orders_counts_agents_and_not_orders() {
    let limits = json!({"maxNormalOrders": 4});
    let talkative = json!({"numAgents": 20, "orders": 3});
    let (report, saver) = run(&config(&[session(30, &limits)], &talkative, &json!({})));
    assert_eq!(report.orders, 30 * 4 * 3);
    for step in submitters(&saver, 30) {
        let different: BTreeSet<&String> = step.iter().collect();
        assert_eq!((step.len(), different.len()), (4, 4), "{step:?}");
    }
}

#[test]
fn silent_agents_are_replaced_by_the_next_ones() {
    let limits = json!({"maxNormalOrders": 4});
    let silent = json!({"numAgents": 100, "silence": 0.5});
    let (_, saver) = run(&config(&[session(50, &limits)], &silent, &json!({})));
    assert!(submitters(&saver, 50).iter().all(|step| step.len() == 4));
}

#[test]
fn fewer_submit_when_too_many_are_silent() {
    let limits = json!({"maxNormalOrders": 9});
    let silent = json!({"numAgents": 10, "silence": 0.5});
    let (_, saver) = run(&config(&[session(50, &limits)], &silent, &json!({})));
    let counts: Vec<usize> = submitters(&saver, 50).iter().map(Vec::len).collect();
    assert!(counts.iter().all(|count| *count <= 9) && counts.iter().any(|count| *count < 9));
    let all = json!({"numAgents": 10, "silence": 1.0});
    assert_eq!(run(&config(&[session(5, &limits)], &all, &json!({}))).0.orders, 0);
}

#[test]
fn more_than_there_are_is_all_of_them() {
    let limits = json!({"maxNormalOrders": 1000});
    let (_, saver) = run(&config(&[session(5, &limits)], &json!({"numAgents": 10}), &json!({})));
    assert!(submitters(&saver, 5).iter().all(|step| step.len() == 10));
}

#[test]
fn nobody_is_asked_when_the_maximum_is_not_positive() {
    for maximum in [0, -1, i64::MIN] {
        let limits = json!({"maxNormalOrders": maximum});
        let faulty = json!({"numAgents": 5, "failAt": 0});
        let (report, _) = run(&config(&[session(5, &limits)], &faulty, &json!({})));
        assert_eq!((report.steps, report.orders), (5, 0));
    }
}

#[test]
fn all_normal_agents_of_a_step_see_the_same_markets() {
    let limits = json!({"maxNormalOrders": 5});
    let (_, saver) = run(&config(&[session(6, &limits)], &json!({"numAgents": 5}), &json!({})));
    for (_, order) in orders(&saver) {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let expected = 100.0 + order.time.0 as f64;
        assert_eq!(order.price, Some(expected));
    }
}

#[test]
fn every_order_of_asking_happens() {
    let limits = json!({"maxNormalOrders": 1});
    let (_, saver) = run(&config(&[session(60, &limits)], &json!({"numAgents": 3}), &json!({})));
    let first: BTreeSet<Vec<String>> = submitters(&saver, 60).into_iter().collect();
    assert_eq!(first.len(), 3);
}

/// The letters of the groups whose agents submitted, in order, of each step.
fn pattern(
    limits: &serde_json::Value,
    slow: &serde_json::Value,
    fast: &serde_json::Value,
) -> String {
    let (_, saver) = run(&config(&[session(1, limits)], slow, fast));
    submitters(&saver, 1)[0].iter().map(|name| &name[..1]).collect()
}

#[test]
fn a_high_frequency_round_follows_every_list() {
    let limits = json!({"maxNormalOrders": 3, "maxHighFrequencyOrders": 2});
    let (slow, fast) = (json!({"numAgents": 5, "orders": 2}), json!({"numAgents": 4}));
    assert_eq!(pattern(&limits, &slow, &fast), "SFFSFFSFF");
}

#[test]
fn silent_high_frequency_agents_do_not_count() {
    let limits = json!({"maxNormalOrders": 3, "maxHighFrequencyOrders": 2});
    let (slow, fast) = (json!({"numAgents": 5}), json!({"numAgents": 100, "silence": 0.5}));
    assert_eq!(pattern(&limits, &slow, &fast), "SFFSFFSFF");
    let silent = json!({"numAgents": 9, "silence": 1.0});
    assert_eq!(pattern(&limits, &slow, &silent), "SSS");
}

#[test]
fn a_high_frequency_agent_sees_what_came_before_it() {
    let limits = json!({"maxNormalOrders": 2, "maxHighFrequencyOrders": 3});
    let (slow, fast) = (json!({"numAgents": 2}), json!({"numAgents": 3}));
    let (_, saver) = run(&config(&[session(1, &limits)], &slow, &fast));
    let prices: Vec<_> = orders(&saver).iter().map(|(_, order)| order.price.unwrap()).collect();
    // The second normal agent was asked before anything was in the book.
    assert_eq!(prices, [100.0, 101.0, 102.0, 103.0, 100.0, 104.0, 105.0, 106.0]);
}

#[test]
fn the_rate_decides_whether_there_is_a_round() {
    let limits = |rate: f64| json!({"maxNormalOrders": 400, "maxHighFrequencyOrders": 1, "highFrequencySubmitRate": rate});
    let (slow, fast) = (json!({"numAgents": 400}), json!({"numAgents": 1}));
    let rounds = |rate| pattern(&limits(rate), &slow, &fast).matches('F').count();
    assert_eq!(rounds(1.0), 400);
    assert_eq!(rounds(7.5), 400);
    assert_eq!(rounds(-0.5), 0);
    assert_eq!(rounds(0.0), 0);
    let some = rounds(0.25);
    assert!((60..140).contains(&some), "{some} of 400");
}

#[test]
fn no_high_frequency_agent_is_asked_when_the_maximum_is_not_positive() {
    for maximum in [0, -2] {
        let limits = json!({"maxNormalOrders": 2, "maxHighFrequencyOrders": maximum});
        let (slow, fast) = (json!({"numAgents": 2}), json!({"numAgents": 4, "failAt": 0}));
        assert_eq!(pattern(&limits, &slow, &fast), "SS");
    }
}

#[test]
fn without_normal_orders_there_is_no_high_frequency_round() {
    let fast = json!({"numAgents": 4, "failAt": 0});
    assert_eq!(pattern(&json!({}), &json!({"silence": 1.0}), &fast), "");
}

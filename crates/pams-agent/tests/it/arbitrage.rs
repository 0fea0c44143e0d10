//! Trading an index against its components.

use std::num::NonZeroU64;

use pams_agent::{ArbitrageAgent, ArbitrageSettings};
use pams_core::{Component, MarketId, Side, Switch};

use crate::floor::{Floor, make, market, python};

/// Two components of 300 and an index of 300, with these shares.
fn floor(shares: [u64; 2]) -> Floor {
    let mut index = market(2, 300.0);
    index.components =
        [0, 1].map(|id| Component { market: MarketId(id), shares: shares[id as usize] }).into();
    Floor::new(vec![market(0, 300.0), market(1, 300.0), index])
}

fn agent(threshold: f64) -> ArbitrageAgent {
    make(&ArbitrageSettings {
        order_volume: NonZeroU64::new(3).unwrap(),
        order_threshold_price: threshold,
        order_time_length: NonZeroU64::new(4).unwrap(),
    })
}

fn ask(floor: &Floor, threshold: f64) -> Vec<String> {
    floor.ask(&agent(threshold), &mut python(0))
}

#[test]
fn a_cheap_index_is_bought_and_its_components_sold() {
    let mut floor = floor([5, 5]);
    floor.trade(0, 310.0, 1);
    floor.trade(1, 308.5, 1);
    assert_eq!(
        ask(&floor, 9.0),
        ["M2 buy 300.0 x6 ttl4", "M0 sell 310.0 x3 ttl4", "M1 sell 308.5 x3 ttl4"],
        "worth 309.25"
    );
}

#[test]
fn a_dear_index_is_sold_and_its_components_bought() {
    let mut floor = floor([5, 5]);
    floor.trade(2, 310.0, 1);
    assert_eq!(
        ask(&floor, 9.0),
        ["M2 sell 310.0 x6 ttl4", "M0 buy 300.0 x3 ttl4", "M1 buy 300.0 x3 ttl4"]
    );
}

#[test]
fn a_gap_of_the_threshold_is_not_enough() {
    let mut floor = floor([5, 5]);
    assert_eq!(ask(&floor, 0.0), [""; 0], "no gap");
    floor.trade(2, 310.0, 1);
    assert_eq!(ask(&floor, 10.0), [""; 0]);
    assert_eq!(ask(&floor, 9.999).len(), 3);
    floor.trade(2, 290.0, 1);
    assert_eq!(ask(&floor, 10.0), [""; 0]);
    assert_eq!(ask(&floor, 9.999).len(), 3);
}

#[test]
fn a_negative_threshold_still_needs_a_gap() {
    let mut floor = floor([5, 5]);
    assert_eq!(ask(&floor, -1.0), [""; 0]);
    floor.trade(2, 300.5, 1);
    assert_eq!(ask(&floor, -1.0).len(), 3);
}

#[test]
fn nothing_happens_unless_all_run() {
    for stopped in 0..3 {
        let mut floor = floor([5, 5]);
        floor.trade(2, 310.0, 1);
        assert_eq!(ask(&floor, 1.0).len(), 3);
        floor.stop(stopped);
        assert_eq!(ask(&floor, 1.0), [""; 0], "M{stopped} is stopped");
    }
}

#[test]
fn unequal_shares_are_an_error_gap_or_not_while_all_run() {
    let mut floor = floor([5, 6]);
    let error = floor.try_ask(&agent(1.0), &mut python(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "arbitrage needs components with equal outstandingShares, and those of the index M2 differ: \
         give them the same"
    );
    floor.next_session(Switch::Off);
    assert_eq!(ask(&floor, 1.0), [""; 0], "nothing runs, so nobody looks at the shares");
}

#[test]
fn a_volume_too_large_for_the_index_is_an_error() {
    let mut floor = floor([5, 5]);
    floor.trade(2, 310.0, 1);
    let agent: ArbitrageAgent = make(&ArbitrageSettings {
        order_volume: NonZeroU64::MAX,
        order_threshold_price: 1.0,
        order_time_length: NonZeroU64::MIN,
    });
    assert_eq!(
        floor.try_ask(&agent, &mut python(0)).unwrap_err().to_string(),
        "orderVolume times the number of components is too large"
    );
}

#[test]
fn nothing_is_drawn() {
    let mut floor = floor([5, 5]);
    floor.trade(2, 310.0, 1);
    let mut generator = python(3);
    floor.ask(&agent(1.0), &mut generator);
    assert_eq!(generator, python(3));
}

#[test]
fn components_trade_in_the_order_of_the_index() {
    let mut index = market(2, 320.0);
    index.components = [1, 0].map(|id| Component { market: MarketId(id), shares: 1 }).into();
    let mut floor = Floor::new(vec![market(0, 300.0), market(1, 290.0), index]);
    floor.limit(0, Side::Buy, 100.0);
    assert_eq!(
        ask(&floor, 1.0),
        ["M2 sell 320.0 x6 ttl4", "M1 buy 290.0 x3 ttl4", "M0 buy 300.0 x3 ttl4"]
    );
}

//! Where the market maker quotes.

use pams_agent::{MarketMakerAgent, MarketMakerSettings};
use pams_config::MarketReference;
use pams_core::random::RandomValue;
use pams_core::{MarketId, OrderRequest, Side};

use crate::floor::{Floor, make, market, python, refusal, try_make};

fn settings() -> MarketMakerSettings {
    MarketMakerSettings {
        target_market: MarketReference(MarketId(1)),
        net_interest_spread: RandomValue::Constant(0.02),
        order_time_length: RandomValue::Constant(2.0),
    }
}

/// Two markets; the target M1 has the fundamental price 200, so quotes keep 2 from the centre.
fn floor() -> Floor {
    let mut target = market(1, 310.0);
    target.fundamental_price = 200.0;
    Floor::new(vec![market(0, 300.0), target])
}

#[track_caller]
fn check(floor: &Floor, center: f64) {
    let (buy, sell) = (center - 2.0, center + 2.0);
    assert_eq!(
        floor.ask(&make::<MarketMakerAgent>(&settings()), &mut python(0)),
        [format!("M1 buy {buy:?} x1 ttl2"), format!("M1 sell {sell:?} x1 ttl2")]
    );
}

#[test]
fn without_quotes_the_centre_is_the_targets_market_price() {
    check(&floor(), 310.0);
}

#[test]
fn one_side_alone_is_no_centre() {
    let mut floor = floor();
    floor.limit(0, Side::Buy, 290.0);
    check(&floor, 310.0);
}

#[test]
fn the_centre_lies_between_the_best_prices_of_all_markets() {
    let mut floor = floor();
    floor.limit(0, Side::Buy, 290.0);
    floor.limit(1, Side::Sell, 320.0);
    check(&floor, 305.0);
    floor.limit(1, Side::Buy, 299.0);
    check(&floor, 309.5);
    floor.limit(0, Side::Sell, 315.0);
    check(&floor, 307.0);
    floor.limit(0, Side::Buy, 280.0);
    check(&floor, 307.0);
}

#[test]
fn a_market_order_at_the_top_has_no_price_and_is_skipped() {
    let mut floor = floor();
    floor.limit(0, Side::Buy, 290.0);
    floor.limit(1, Side::Buy, 280.0);
    // The market buy waits: nobody sells in M0.
    floor.send(OrderRequest::market(MarketId(0), Side::Buy, 1));
    floor.limit(1, Side::Sell, 320.0);
    check(&floor, 300.0);
    floor.send(OrderRequest::market(MarketId(1), Side::Buy, 1));
    assert_eq!(floor.market(1).last_executed_price(), Some(320.0));
    check(&floor, 320.0);
}

#[test]
fn the_half_spread_is_made_in_one_order() {
    let mut target = market(1, 310.0);
    target.fundamental_price = 333.3;
    let floor = Floor::new(vec![market(0, 300.0), target]);
    let settings =
        MarketMakerSettings { net_interest_spread: RandomValue::Constant(0.007), ..settings() };
    let half = 333.3 * 0.007 * 0.5;
    let (buy, sell) = (310.0 - half, 310.0 + half);
    assert_eq!(
        floor.ask(&make::<MarketMakerAgent>(&settings), &mut python(0)),
        [format!("M1 buy {buy:?} x1 ttl2"), format!("M1 sell {sell:?} x1 ttl2")]
    );
}

#[test]
fn the_spread_is_drawn_before_the_length() {
    let uniform = |low, high| RandomValue::Uniform { low, high };
    let drawn: MarketMakerAgent = try_make(
        &MarketMakerSettings {
            net_interest_spread: uniform(0.0, 1.0),
            order_time_length: uniform(1.0, 100.0),
            ..settings()
        },
        5,
    )
    .unwrap();
    let mut generator = python(5);
    let spread = generator.uniform(0.0, 1.0);
    let steps = generator.uniform(1.0, 100.0).trunc();
    let same = MarketMakerSettings {
        net_interest_spread: RandomValue::Constant(spread),
        order_time_length: RandomValue::Constant(steps),
        ..settings()
    };
    assert_eq!(drawn, make(&same));
}

#[test]
fn quotes_that_live_for_no_time_are_an_error() {
    for (steps, drawn) in [(0.9, "0"), (-2.0, "-2")] {
        let order_time_length = RandomValue::Constant(steps);
        assert_eq!(
            refusal::<MarketMakerAgent>(&MarketMakerSettings { order_time_length, ..settings() }),
            format!(
                "orderTimeLength: an order must live for at least 1 step, and {drawn} was drawn"
            )
        );
    }
}

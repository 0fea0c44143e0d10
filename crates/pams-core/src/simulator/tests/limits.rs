//! Price limits and orders by mistake.

use crate::event::{OrderMistakeShock, PriceLimitRule};
use crate::ids::MarketId;
use crate::quantity::{Step, Volume};
use crate::session::Switch;
use crate::testing::{Scene, market};

fn limited(tick_size: f64, rate: f64) -> Scene {
    let markets = vec![market(0, tick_size, 300.0), market(1, tick_size, 300.0)];
    Scene::new(markets).event(PriceLimitRule::new(vec![MarketId(0)], rate))
}

#[test]
fn prices_beyond_the_limits_move_to_the_edge_before_they_are_rounded() {
    let mut scene = limited(1.0, 0.013).started(Switch::Off);
    scene.send(["B 400x1", "S 400x1", "B 100x1", "S 100x1"]);
    assert_eq!(
        scene.records("order"),
        ["#0 B 303x1", "#1 S 304x1", "#2 B 296x1", "#3 S 297x1"],
        "303.9 and 296.1, down for buys and up for sells"
    );
}

#[test]
fn prices_at_and_within_the_limits_stay() {
    let mut scene = limited(0.1, 0.05).started(Switch::Off);
    scene.send(["B 315x1", "S 285x1", "S 315.04x1", "B 284.96x1", "B 300x1"]);
    assert_eq!(
        scene.records("order"),
        ["#0 B 315x1", "#1 S 285x1", "#2 S 315x1", "#3 B 285x1", "#4 B 300x1"]
    );
}

#[test]
fn market_orders_and_other_markets_have_no_limits() {
    let mut scene = limited(1.0, 0.05).started(Switch::Off);
    scene.send(["BM x1", "SM x2", "B 900x1 @1", "S 1x1 @1"]);
    assert_eq!(scene.records("order"), ["#0 BM x1", "#1 SM x2", "#0 B 900x1 @1", "#1 S 1x1 @1"]);
}

#[test]
fn limits_hold_in_every_session_and_refer_to_the_market_price_of_step_0() {
    let mut scene = limited(0.1, 0.05).started(Switch::On);
    scene.send(["B 310x1", "S 310x1", "B 400x1"]);
    scene.next_session(Switch::On);
    scene.send(["S 320x1", "B 400x1"]);
    scene.next_session(Switch::Off);
    scene.send(["S 200x1"]);
    assert_eq!(
        scene.records("order"),
        ["#0 B 310x1", "#1 S 310x1", "#2 B 325.5x1", "#3 S 320x1", "#4 B 325.5x1", "#5 S 294.5x1"]
    );
}

#[test]
fn a_rate_of_0_leaves_one_price() {
    let mut scene = limited(1.0, 0.0).started(Switch::Off);
    scene.send(["B 310x1", "S 290x1"]);
    assert_eq!(scene.records("order"), ["#0 B 300x1", "#1 S 300x1"]);
}

fn mistake(step: i64, rate: f64, time_to_live: u64) -> OrderMistakeShock {
    OrderMistakeShock::new(MarketId(0), Step(step), rate, Volume(50), time_to_live)
}

fn mistaken(event: OrderMistakeShock) -> Scene {
    Scene::new(vec![market(0, 0.1, 300.0), market(1, 0.1, 300.0)]).event(event).started(Switch::On)
}

#[test]
fn the_first_order_of_the_step_becomes_the_mistake() {
    let mut scene = mistaken(mistake(1, -0.05, 7));
    scene.send(["B 290x1"]);
    scene.next_step();
    scene.send(["B 250x1 @1", "C 0", "BM x3 ttl2 by2", "B 200x1"]);
    scene.next_step();
    scene.send(["B 200x1"]);
    assert_eq!(
        scene.records("order"),
        ["#0 B 290x1", "#0 B 250x1 @1", "#1 S 285x50 ttl7 by2", "#2 B 200x1", "#3 B 200x1"]
    );
}

#[test]
fn a_positive_rate_buys_and_a_rate_of_0_sells() {
    for (rate, order) in [(0.1, "#0 B 330x50 ttl7"), (0.0, "#0 S 300x50 ttl7")] {
        let mut scene = mistaken(mistake(0, rate, 7));
        scene.send(["S 300x1"]);
        assert_eq!(scene.records("order"), [order]);
    }
}

#[test]
fn a_mistake_refers_to_the_market_price_of_its_moment() {
    let mut scene = mistaken(mistake(1, -0.1, 7));
    scene.send(["B 200x1", "S 200x1"]);
    scene.next_step();
    scene.send(["B 190x1"]);
    assert_eq!(scene.records("order").pop().unwrap(), "#2 S 180x50 ttl7");
}

#[test]
fn without_an_order_at_its_step_the_mistake_never_happens() {
    let mut scene = mistaken(mistake(1, -0.05, 7));
    scene.next_step();
    scene.send(["B 290x1 @1"]);
    scene.next_step();
    scene.send(["B 290x1"]);
    assert_eq!(scene.records("order"), ["#0 B 290x1 @1", "#0 B 290x1"]);
}

#[test]
fn a_mistake_of_no_length_lives_in_its_step_only() {
    let mut scene = mistaken(mistake(0, -0.05, 0));
    scene.send(["B 290x1"]);
    assert!(scene.market().best_ask().is_some());
    scene.next_step();
    assert_eq!(scene.records("expiration"), ["#0 S 285x50 ttl0"]);
}

#[test]
fn a_mistake_is_not_limited_whichever_was_listed_first() {
    let limit = || PriceLimitRule::new(vec![MarketId(0)], 0.01);
    let markets = || vec![market(0, 0.1, 300.0)];
    let scenes = [
        Scene::new(markets()).event(mistake(0, -0.5, 7)).event(limit()),
        Scene::new(markets()).event(limit()).event(mistake(0, -0.5, 7)),
    ];
    for scene in scenes {
        let mut scene = scene.started(Switch::On);
        scene.send(["B 290x1"]);
        assert_eq!(scene.records("order"), ["#0 S 150x50 ttl7"]);
    }
}

#[test]
fn two_mistakes_at_one_step_both_meet_the_first_order() {
    let mut scene = Scene::new(vec![market(0, 1.0, 300.0)])
        .event(mistake(0, -0.5, 7))
        .event(mistake(0, 0.5, 3))
        .started(Switch::Off);
    scene.send(["B 290x1", "B 290x1"]);
    assert_eq!(scene.records("order"), ["#0 B 450x50 ttl3", "#1 B 290x1"]);
}

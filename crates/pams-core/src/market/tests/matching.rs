//! When orders trade, with whom and at what price.

use crate::session::Switch;
use crate::testing::{Scene, market};

/// Sends orders to an empty market with tick size 1 and compares the fills, each written as
/// `#buy #sell volume at price`, and what rests then: buys | sells.
#[track_caller]
fn check<const N: usize>(orders: [&str; N], fills: &[&str], rest: &str) {
    let mut scene = Scene::trading();
    scene.send(orders);
    assert_eq!(scene.fills(), fills);
    assert_eq!(resting(&scene), rest);
}

fn resting(scene: &Scene) -> String {
    use crate::order::Side;
    let book = scene.market().book();
    let side = |side| {
        let orders = book.resting(side).map(|id| {
            let order = book.order(id).unwrap();
            format!("#{id}x{}", order.volume)
        });
        orders.collect::<Vec<_>>().join(" ")
    };
    format!("{}|{}", side(Side::Buy), side(Side::Sell))
}

#[test]
fn the_whole_pass_trades_at_the_last_pairs_price() {
    check(
        ["S 300x1", "S 301x1", "S 302x1", "B 305x3"],
        &["#3 #0 1 at 302", "#3 #1 1 at 302", "#3 #2 1 at 302"],
        "|",
    );
    check(
        ["B 305x1", "B 303x1", "B 301x1", "S 300x3"],
        &["#0 #3 1 at 301", "#1 #3 1 at 301", "#2 #3 1 at 301"],
        "|",
    );
    check(
        ["B 305x1", "B 303x1", "B 301x1", "S 302x3"],
        &["#0 #3 1 at 303", "#1 #3 1 at 303"],
        "#2x1|#3x1",
    );
}

#[test]
fn two_limits_trade_at_the_earlier_orders_price() {
    check(["S 300x1", "B 302x1"], &["#1 #0 1 at 300"], "|");
    check(["B 302x1", "S 300x1"], &["#0 #1 1 at 302"], "|");
    check(["B 299x1", "S 300x1"], &[], "#0x1|#1x1");
    check(["B 300x1", "S 300x1"], &["#0 #1 1 at 300"], "|");
}

#[test]
fn the_earlier_step_counts_before_the_lower_price() {
    let mut scene = Scene::trading();
    scene.send(["S 300x1"]);
    scene.next_step();
    scene.send(["B 305x1"]);
    assert_eq!(scene.fills(), ["#1 #0 1 at 300"]);
}

#[test]
fn a_partial_fill_keeps_its_place() {
    check(
        ["S 300x2", "S 300x2", "B 300x1", "B 300x2"],
        &["#2 #0 1 at 300", "#3 #0 1 at 300", "#3 #1 1 at 300"],
        "|#1x1",
    );
}

#[test]
fn better_prices_come_first_and_then_earlier_orders() {
    check(
        ["S 302x1", "S 301x1", "S 301x1", "S 300x1", "B 301x3"],
        &["#4 #3 1 at 301", "#4 #1 1 at 301", "#4 #2 1 at 301"],
        "|#0x1",
    );
}

#[test]
fn a_market_order_takes_the_price_of_the_last_limit() {
    check(["S 300x1", "S 301x1", "BM x2"], &["#2 #0 1 at 301", "#2 #1 1 at 301"], "|");
    check(["B 300x1", "B 299x1", "SM x2"], &["#0 #2 1 at 299", "#1 #2 1 at 299"], "|");
}

#[test]
fn market_orders_alone_have_no_price_and_wait() {
    check(["BM x1", "SM x1"], &[], "#0x1|#1x1");
    check(["BM x1", "SM x1", "B 300x1"], &[], "#0x1 #2x1|#1x1");
    check(["BM x1", "SM x1", "B 298x1", "S 299x1"], &[], "#0x1 #2x1|#1x1 #3x1");
    check(["BM x1", "SM x1", "B 300x1", "S 299x1"], &["#0 #1 1 at 300", "#2 #3 1 at 300"], "|");
}

#[test]
fn the_shortfall_of_market_orders_needs_enough_limit_volume() {
    check(["S 300x2", "SM x1", "BM x3"], &["#2 #1 1 at 300", "#2 #0 2 at 300"], "|");
    check(["SM x1", "BM x3", "S 300x2"], &["#1 #0 1 at 300", "#1 #2 2 at 300"], "|");
    check(["SM x1", "BM x3", "S 300x1"], &[], "#1x3|#0x1 #2x1");
    // The other way round.
    check(["BM x1", "SM x3", "B 300x2"], &["#0 #1 1 at 300", "#2 #1 2 at 300"], "|");
    check(["BM x1", "SM x3", "B 300x1"], &[], "#0x1 #2x1|#1x3");
}

#[test]
fn volumes_of_market_orders_are_compared_and_not_their_number() {
    // Two market buys of 2 units in all against one market sell of 2: equal, so limits must cross.
    check(["BM x1", "BM x1", "SM x2", "S 300x5"], &[], "#0x1 #1x1|#2x2 #3x5");
    // One market buy of 5 against two market sells of 1 each: 3 units have to come from limits.
    check(
        ["SM x1", "SM x1", "BM x5", "S 300x3"],
        &["#2 #0 1 at 300", "#2 #1 1 at 300", "#2 #3 3 at 300"],
        "|",
    );
    check(["SM x1", "SM x1", "BM x5", "S 300x2"], &[], "#2x5|#0x1 #1x1 #3x2");
}

#[test]
fn remaining_volume_of_market_orders_counts_and_not_what_was_placed() {
    // The market buy of 4 has 2 left, so market sells of 2 are equal and no limit crosses.
    check(["S 300x2", "BM x4", "SM x2"], &["#1 #0 2 at 300"], "#1x2|#2x2");
}

#[test]
fn what_is_left_of_a_market_order_waits_without_a_price() {
    let mut scene = Scene::trading();
    scene.send(["S 300x1", "B 290x1", "BM x2"]);
    assert_eq!(scene.fills(), ["#2 #0 1 at 300"]);
    assert_eq!(resting(&scene), "#2x1 #1x1|");
    assert_eq!((scene.market().best_bid(), scene.market().mid_price()), (None, None));
    scene.send(["S 310x1"]);
    assert_eq!(scene.fills(), ["#2 #3 1 at 310"], "it trades as soon as somebody sells");
    assert_eq!(scene.market().best_bid(), Some(290.0));
}

#[test]
fn an_agent_may_trade_with_itself() {
    let mut scene = Scene::trading();
    scene.send(["B 300x2 by1", "S 300x1 by1"]);
    assert_eq!(scene.fills(), ["#0 #1 1 at 300"]);
    let account = &scene.simulator.accounts()[1];
    assert_eq!((account.cash(), account.holding(crate::MarketId(0))), (1000.0, Some(0)));
}

#[test]
fn cash_and_holdings_may_go_negative() {
    let mut scene = Scene::trading();
    scene.send(["B 300x5 by1", "S 300x5 by2"]);
    let [_, buyer, seller] = scene.simulator.accounts() else { panic!("three agents") };
    assert_eq!((buyer.cash(), buyer.holding(crate::MarketId(0))), (-500.0, Some(5)));
    assert_eq!((seller.cash(), seller.holding(crate::MarketId(0))), (2500.0, Some(-5)));
}

#[test]
fn a_book_crossed_without_execution_waits_for_the_next_instruction() {
    let mut scene = Scene::new(vec![market(0, 1.0, 300.0)]).started(Switch::Off);
    scene.send(["B 305x1", "S 300x1"]);
    assert_eq!(scene.fills(), [""; 0]);
    scene.next_session(Switch::On);
    scene.next_step();
    assert_eq!(scene.fills(), [""; 0], "a new session alone does not trade");
    scene.send(["B 200x1"]);
    assert_eq!(scene.fills(), ["#0 #1 1 at 305"]);
}

#[test]
fn a_cancel_also_lets_a_crossed_book_trade() {
    let mut scene = Scene::new(vec![market(0, 1.0, 300.0)]).started(Switch::Off);
    scene.send(["B 305x1", "S 300x1", "B 306x1"]);
    scene.next_session(Switch::On);
    scene.send(["C 2"]);
    assert_eq!(scene.fills(), ["#0 #1 1 at 305"]);
}

#[test]
fn orders_of_one_market_leave_the_others_alone() {
    let mut scene =
        Scene::new(vec![market(0, 1.0, 300.0), market(1, 1.0, 300.0)]).started(Switch::Off);
    scene.send(["B 305x1", "S 300x1", "B 305x1 @1", "S 300x1 @1"]);
    scene.next_session(Switch::On);
    scene.send(["B 200x1 @1"]);
    assert_eq!(scene.fills(), ["#0 #1 1 at 305 @1"]);
    assert_eq!(resting(&scene), "#0x1|#1x1");
}

#[test]
fn prices_that_differ_in_rounding_only_share_a_level() {
    let mut scene = Scene::new(vec![market(0, 0.1, 0.3)]).started(Switch::Off);
    let sum = format!("B {}x1", 0.1 + 0.2);
    scene.send(["B 0.3x1", &sum]);
    let levels: Vec<_> = scene.market().depth(crate::Side::Buy).collect();
    let [(price, level)] = levels.as_slice() else { panic!("one level") };
    assert_eq!((Some(*price), level.volume.0, level.n_orders), (Some(0.1 + 0.2), 2, 2));
    scene.next_session(Switch::On);
    scene.send(["S 0.3x2"]);
    assert_eq!(scene.fills().len(), 2);
}

#[test]
fn negative_prices_are_prices() {
    let mut scene = Scene::new(vec![market(0, 0.1, 300.0)]).started(Switch::On);
    scene.send(["B -1.05x1", "S -1.05x1", "B 0x1"]);
    let journal = scene.journal.take();
    let orders: Vec<&str> =
        journal.iter().filter_map(|line| line.strip_prefix("t0 order ")).collect();
    assert_eq!(orders, ["#0 B -1.1x1", "#1 S -1x1", "#2 B 0x1"]);
    assert!(journal.contains(&"t0 fill #2 #1 1 at -1".to_owned()), "{journal:?}");
}

//! When orders leave the book by themselves.

use crate::session::Switch;
use crate::testing::{Scene, market};

#[test]
fn a_time_to_live_of_1_lives_in_two_steps() {
    let mut scene = Scene::trading();
    scene.send(["B 290x2 ttl1"]);
    scene.next_step();
    scene.send(["S 290x1"]);
    assert_eq!(scene.fills(), ["#0 #1 1 at 290"], "it lives at step 1");
    scene.next_step();
    assert_eq!(scene.journal.take().pop().unwrap(), "t2 expiration #0 B 290x1 ttl1");
    assert_eq!(scene.market().book().resting(crate::Side::Buy).count(), 0);
}

#[test]
fn a_partial_fill_does_not_renew_an_order() {
    let mut scene = Scene::trading();
    scene.send(["B 290x3 ttl2"]);
    scene.next_step();
    scene.next_step();
    scene.send(["S 290x1"]);
    scene.next_step();
    assert_eq!(scene.records("expiration"), ["#0 B 290x2 ttl2"]);
}

#[test]
fn orders_of_different_steps_that_expire_at_once_come_in_order_of_placement() {
    let mut scene = Scene::trading();
    scene.send(["B 290x1 ttl3", "S 310x1 ttl3"]);
    scene.next_step();
    scene.send(["B 295x1 ttl2"]);
    scene.next_step();
    scene.send(["B 292x1 ttl1"]);
    scene.next_step();
    scene.journal.take();
    scene.next_step();
    assert_eq!(
        scene.records("expiration"),
        ["#0 B 290x1 ttl3", "#2 B 295x1 ttl2", "#3 B 292x1 ttl1", "#1 S 310x1 ttl3"]
    );
}

#[test]
fn expirations_are_recorded_once_for_their_market_buys_first() {
    let mut scene =
        Scene::new(vec![market(0, 1.0, 300.0), market(1, 1.0, 300.0)]).started(Switch::On);
    scene.send(["S 310x1 ttl1 @1", "B 290x1 ttl1 @1", "B 290x1", "S 310x1"]);
    scene.next_step();
    assert_eq!(scene.records("expiration"), [""; 0]);
    scene.next_step();
    assert_eq!(scene.records("expiration"), ["#1 B 290x1 ttl1 @1", "#0 S 310x1 ttl1 @1"]);
    scene.next_step();
    assert_eq!(scene.records("expiration"), [""; 0]);
}

#[test]
fn the_mid_price_stays_when_orders_expire() {
    let mut scene = Scene::trading();
    scene.send(["B 290x1 ttl1", "S 310x1", "B 280x1"]);
    assert_eq!(scene.market().mid_price(), Some(300.0));
    scene.next_step();
    scene.next_step();
    assert_eq!(scene.market().best_bid(), Some(280.0), "best prices are live");
    assert_eq!(scene.market().mid_price(), Some(300.0));
    scene.send(["S 320x1"]);
    assert_eq!(scene.market().mid_price(), Some(295.0), "made anew by the next order");
}

#[test]
fn market_orders_expire_too() {
    let mut scene = Scene::trading();
    scene.send(["BM x2 ttl1"]);
    scene.next_step();
    scene.next_step();
    assert_eq!(scene.records("expiration"), ["#0 BM x2 ttl1"]);
}

#[test]
fn the_last_move_of_the_clock_still_expires() {
    let mut scene = Scene::trading();
    scene.send(["B 290x1 ttl1"]);
    scene.next_step();
    scene.end_step();
    let mut journal = scene.journal.clone();
    scene.simulator.end_session(&mut journal).unwrap();
    scene.simulator.end(&mut journal);
    let log = scene.journal.take();
    assert_eq!(
        log[log.len() - 3..],
        ["t2 expiration #0 B 290x1 ttl1", "t2 session 0 ends", "t2 simulation ends"]
    );
}

#[test]
fn canceled_and_filled_orders_do_not_expire() {
    let mut scene = Scene::trading();
    scene.send(["B 290x1 ttl1", "B 300x1 ttl1", "S 300x1 ttl1", "C 0"]);
    for _ in 0..3 {
        scene.next_step();
    }
    assert_eq!(scene.records("expiration"), [""; 0]);
}

#[test]
fn a_huge_time_to_live_is_for_ever() {
    let mut scene = Scene::trading();
    let [first, second] = [u64::MAX, 1 << 63].map(|steps| format!("B 290x1 ttl{steps}"));
    scene.send([&first, &second]);
    for _ in 0..50 {
        scene.next_step();
    }
    assert_eq!(scene.market().book().resting(crate::Side::Buy).count(), 2);
}

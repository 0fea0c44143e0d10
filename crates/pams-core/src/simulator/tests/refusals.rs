//! Cancels, and instructions that are refused.

use crate::account::Account;
use crate::error::{ErrorKind, InstructionError};
use crate::ids::{AgentId, MarketId, OrderId};
use crate::order::{OrderRequest, Side};
use crate::session::Switch;
use crate::testing::{Scene, market};

fn two_markets() -> Scene {
    Scene::new(vec![market(0, 1.0, 300.0), market(1, 1.0, 300.0)]).started(Switch::On)
}

#[test]
fn a_cancel_takes_what_is_left() {
    let mut scene = two_markets();
    scene.send(["B 300x5", "S 300x2", "C 0"]);
    assert_eq!(scene.records("cancel"), ["#0 B 300x3"]);
    assert_eq!(scene.market().best_bid(), None);
}

#[test]
fn a_cancel_after_a_fill_is_accepted_and_empty() {
    let mut scene = two_markets();
    scene.send(["B 300x2", "S 300x2", "C 0", "C 1"]);
    assert_eq!(scene.records("cancel"), ["#0 B 300x0", "#1 S 300x0"]);
}

#[test]
fn a_second_cancel_is_accepted_without_effect() {
    let mut scene = two_markets();
    scene.send(["B 300x2", "B 300x1", "C 0", "C 0"]);
    assert_eq!(scene.records("cancel").len(), 2);
    assert_eq!(scene.market().book().resting(Side::Buy).collect::<Vec<_>>(), [OrderId(1)]);
}

#[test]
fn a_cancel_after_expiry_is_accepted_without_effect() {
    let mut scene = two_markets();
    scene.send(["B 300x2 ttl1"]);
    for _ in 0..3 {
        scene.next_step();
    }
    scene.send(["C 0"]);
    assert_eq!(scene.records("cancel"), ["#0 B 300x2 ttl1"]);
}

#[test]
fn a_resting_market_order_can_be_canceled() {
    let mut scene = two_markets();
    scene.send(["BM x2", "C 0", "S 300x1"]);
    let journal = scene.journal.take();
    assert!(journal.contains(&"t0 cancel #0 BM x2".to_owned()), "{journal:?}");
    assert!(!journal.iter().any(|line| line.contains("fill")), "{journal:?}");
}

#[test]
fn a_cancel_of_an_order_that_never_was_is_refused() {
    let mut scene = two_markets();
    assert_eq!(scene.refusal("C 0"), "market M0: there is no order 0 to cancel");
    scene.send(["B 300x1"]);
    assert_eq!(scene.refusal("C 1"), "market M0: there is no order 1 to cancel");
    assert_eq!(scene.refusal("C 0 @1"), "market M1: there is no order 0 to cancel");
}

#[test]
fn a_cancel_of_somebody_elses_order_is_refused() {
    let mut scene = two_markets();
    scene.send(["B 300x1 by1"]);
    let error = scene.try_send("C 0 by2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "market M0: order 0 can't be canceled: it belongs to another agent"
    );
    let ErrorKind::Instruction(InstructionError::NotOwner { order_id, owner }) = error.kind()
    else {
        panic!("{error:?}")
    };
    assert_eq!((*order_id, *owner), (OrderId(0), AgentId(1)));
    assert_eq!(scene.market().best_bid(), Some(300.0), "it still rests");
}

#[test]
fn a_cancel_of_a_forgotten_order_says_why() {
    let markets = vec![market(0, 1.0, 300.0)];
    let mut scene = Scene::with_window(markets, Some(2)).started(Switch::On);
    scene.send(["B 300x1", "S 300x1"]);
    scene.next_step();
    scene.next_step();
    scene.send(["C 0"]);
    scene.next_step();
    assert_eq!(
        scene.refusal("C 0"),
        "market M0: order 0 left the book so long ago that it is no longer kept (make \
         simulation.historyWindow larger)"
    );
}

#[test]
fn orders_for_nothing_or_no_time_are_refused() {
    let mut scene = two_markets();
    assert_eq!(scene.refusal("B 300x0"), "market M0: the volume of an order must be at least 1");
    assert_eq!(
        scene.refusal("BM x1 ttl0"),
        "market M0: the time to live of an order must be at least 1 step"
    );
}

#[test]
fn prices_that_are_none_are_refused() {
    let mut scene = two_markets();
    assert_eq!(scene.refusal("B NaNx1"), "market M0: the price must be a finite number, not NaN");
    assert_eq!(scene.refusal("S -infx1"), "market M0: the price must be a finite number, not -inf");
    assert_eq!(scene.refusal("S infx1"), "market M0: the price must be a finite number, not inf");
    assert_eq!(scene.records("order"), [""; 0]);
}

#[test]
fn volumes_that_can_not_be_counted_are_refused() {
    let mut scene = two_markets();
    let largest = 1_u64 << 53;
    let order = |volume| OrderRequest::limit(MarketId(0), Side::Buy, 300.0, volume).into();
    scene.try_submit(AgentId(0), order(largest)).unwrap();
    for volume in [largest + 1, u64::MAX] {
        let error = scene.try_submit(AgentId(0), order(volume)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "market M0: an order of {volume} units is too large, or too large on top of all \
                 orders before it"
            )
        );
    }
    let accepted = (0..2_000).take_while(|_| scene.try_submit(AgentId(0), order(largest)).is_ok());
    assert_eq!(accepted.count(), 510, "no sum of volumes reaches 2^63");
}

#[test]
fn a_market_that_is_not_the_agents_is_refused() {
    let mut scene = two_markets();
    scene.simulator.add_account(Account::new(0.0, [MarketId(1)].into()));
    assert_eq!(scene.refusal("B 300x1 by3"), "market M0: it is not one of the agent's markets");
    assert_eq!(scene.refusal("C 0 by3"), "market M0: it is not one of the agent's markets");
    assert_eq!(
        scene.refusal("B 300x1 @7 by3"),
        "market number 7: it is not one of the agent's markets"
    );
    scene.send(["B 300x1 @1 by3"]);
}

#[test]
fn what_came_before_a_refused_instruction_has_happened() {
    let mut scene = two_markets();
    scene.send(["B 300x1"]);
    scene.refusal("B 300x0");
    scene.send(["S 300x1"]);
    assert_eq!(scene.fills(), ["#0 #1 1 at 300"]);
}

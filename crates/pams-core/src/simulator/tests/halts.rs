//! Trading halts.

use crate::event::TradingHaltRule;
use crate::ids::MarketId;
use crate::session::Switch;
use crate::testing::{Scene, market};

/// A sale at 270 of one unit.
const FALL: [&str; 2] = ["B 270x1", "S 270x1"];

fn halting(n_markets: u32, targets: &[u32], halting_steps: u64) -> Scene {
    let rule =
        TradingHaltRule::new(targets.iter().copied().map(MarketId).collect(), 0.05, halting_steps);
    Scene::new((0..n_markets).map(|number| market(number, 1.0, 300.0)).collect()).event(rule)
}

/// At step 1, when the reference price is settled.
fn at_step_1(scene: Scene) -> Scene {
    let mut scene = scene.started(Switch::On);
    scene.next_step();
    scene
}

/// Each market's flags at the ends of `n_steps` steps, in which `act` is called for each step.
fn flags(scene: Scene, n_steps: i64, mut act: impl FnMut(&mut Scene, i64)) -> Vec<String> {
    let mut scene = scene.started(Switch::On);
    let mut flags = vec![String::new(); scene.simulator.markets().len()];
    for step in 0..n_steps {
        act(&mut scene, step);
        for (flags, market) in flags.iter_mut().zip(scene.simulator.markets()) {
            flags.push(if market.is_running() { '1' } else { '0' });
        }
        if scene.simulator.time().0 == step {
            scene.next_step();
        }
    }
    flags
}

#[test]
fn a_halt_lasts_for_its_length_after_the_step_of_the_fill() {
    let flags = flags(halting(1, &[0], 2), 10, |scene, step| {
        if step == 2 {
            scene.send(FALL);
        }
    });
    assert_eq!(flags, ["1100011111"]);
}

#[test]
fn all_targets_halt_and_no_other_market() {
    let flags = flags(halting(3, &[0, 1], 2), 10, |scene, step| {
        if step == 2 {
            scene.send(["B 270x1 @1", "S 270x1 @1"]);
        }
    });
    assert_eq!(flags, ["1100011111", "1100011111", "1111111111"]);
}

/// The flags when another session begins after step 2.
fn across_a_border(execution: Switch) -> String {
    let mut scene = halting(1, &[0], 2).started(Switch::On);
    let mut flags = String::new();
    for step in 0..9 {
        if step == 2 {
            scene.send(FALL);
        }
        flags.push(if scene.market().is_running() { '1' } else { '0' });
        if step == 2 {
            scene.next_session(execution);
        } else {
            scene.next_step();
        }
    }
    flags
}

#[test]
fn a_halt_goes_on_in_the_next_session() {
    assert_eq!(across_a_border(Switch::On), "110001111");
}

#[test]
fn a_halt_that_ends_in_a_session_without_execution_leaves_the_market_stopped() {
    assert_eq!(across_a_border(Switch::Off), "110000000");
}

#[test]
fn a_halt_of_length_0_ends_with_its_step_and_the_third_needs_45() {
    let flags = flags(halting(1, &[0], 0), 10, |scene, step| {
        if step >= 2 {
            scene.send(FALL);
        }
    });
    assert_eq!(flags, ["1100111111"]);
}

#[test]
fn the_first_halt_needs_the_whole_rate() {
    for (price, expected) in [(285, false), (286, true), (315, false), (314, true)] {
        let mut scene = at_step_1(halting(1, &[0], 1));
        scene.send([&format!("B {price}x1"), &format!("S {price}x1")]);
        assert_eq!(scene.market().is_running(), expected, "{price}");
    }
}

#[test]
fn the_second_halt_needs_twice_as_much() {
    for (price, expected) in [(270, "1001100"), (271, "1001111")] {
        let flags = flags(halting(1, &[0], 1), 7, |scene, step| match step {
            1 => scene.send(["B 285x1", "S 285x1"]),
            5 => scene.send([&format!("B {price}x1"), &format!("S {price}x1")]),
            _ => {}
        });
        assert_eq!(flags, [expected], "{price}");
    }
}

#[test]
fn orders_are_accepted_during_a_halt_and_trade_afterwards() {
    let mut scene = at_step_1(halting(1, &[0], 1));
    scene.send(FALL);
    scene.send(["B 290x1", "S 290x1"]);
    scene.next_step();
    assert_eq!(scene.fills().len(), 1);
    scene.send(["B 200x1"]);
    scene.next_step();
    assert_eq!(scene.fills(), [""; 0]);
    scene.send(["B 200x1"]);
    assert_eq!(scene.fills(), ["#2 #3 1 at 290"]);
}

#[test]
fn a_halted_market_keeps_its_price() {
    let mut scene = at_step_1(halting(1, &[0], 2));
    scene.send(FALL);
    scene.send(["B 290x1", "S 300x1"]);
    scene.next_step();
    assert_eq!(scene.prices(), (270.0, Some(295.0), Some(270.0)));
}

#[test]
fn one_pass_halts_at_most_once() {
    let mut scene = at_step_1(halting(1, &[0], 0));
    // Three fills at 200, far beyond the thresholds of three halts.
    scene.send(["B 200x1", "B 200x1", "B 200x1", "S 200x3"]);
    assert!(!scene.market().is_running());
    scene.next_step();
    assert!(scene.market().is_running());
    // The second halt is still to come: it needs 30 and gets it.
    scene.send(FALL);
    assert!(!scene.market().is_running());
    scene.next_step();
    scene.send(["B 256x1", "S 256x1"]);
    assert!(scene.market().is_running(), "the third needs 45");
    scene.send(["B 255x1", "S 255x1"]);
    assert!(!scene.market().is_running());
}

#[test]
fn the_price_after_the_whole_pass_decides() {
    let mut scene = at_step_1(halting(1, &[0], 0));
    // The second pair would trade at 290 on its own; the pass trades at 280.
    scene.send(["B 290x1", "B 280x1", "S 280x2"]);
    assert_eq!(scene.fills(), ["#0 #2 1 at 280", "#1 #2 1 at 280"]);
    assert!(!scene.market().is_running());
}

#[test]
fn a_halt_refers_to_the_market_price_of_step_0() {
    let flags = flags(halting(1, &[0], 0), 3, |scene, step| match step {
        // This fill moves its own reference price, so it halts nothing.
        0 => scene.send(["B 200x1", "S 200x1"]),
        1 => scene.send(["B 191x1", "S 191x1"]),
        _ => scene.send(["B 190x1", "S 190x1"]),
    });
    assert_eq!(flags, ["110"]);
}

#[test]
fn fills_in_other_markets_halt_nothing() {
    let flags = flags(halting(2, &[0], 2), 3, |scene, _| {
        scene.send(["B 100x1 @1", "S 100x1 @1"]);
    });
    assert_eq!(flags, ["111", "111"]);
}

#[test]
fn two_rules_count_for_themselves() {
    let rule = |steps| TradingHaltRule::new(vec![MarketId(0)], 0.05, steps);
    let scene = Scene::new(vec![market(0, 1.0, 300.0)]).event(rule(1)).event(rule(1));
    // The first rule stops the market, so the second finds it stopped and does nothing.
    let flags = flags(scene, 6, |scene, step| match step {
        1 | 4 => scene.send(["B 285x1", "S 285x1"]),
        _ => {}
    });
    assert_eq!(flags, ["100100"]);
}

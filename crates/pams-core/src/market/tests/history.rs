//! Reading the past, and forgetting it.

use crate::market::HistoryError;
use crate::quantity::Step;
use crate::random::{Generator, GeneratorKind};
use crate::session::Switch;
use crate::testing::{Scene, market};

#[test]
fn the_future_and_the_time_before_the_start_can_not_be_read() {
    let mut scene = Scene::trading();
    scene.next_step();
    let error = scene.market().values_at(Step(2)).unwrap_err();
    assert_eq!(error, HistoryError::Future { asked: Step(2), now: Step(1) });
    assert_eq!(error.to_string(), "step 2 is in the future: the clock stands at 1");
    let error = scene.market().values_at(Step(-1)).unwrap_err();
    assert_eq!(error.to_string(), "there is no step -1: time begins at 0");
    assert!(scene.market().vwap_at(Step(2)).is_err());
    assert!(scene.market().executed_volume_since(Step(2)).is_err());
}

#[test]
fn forgotten_steps_can_not_be_read() {
    let mut scene = Scene::with_window(vec![market(0, 1.0, 300.0)], Some(3)).started(Switch::On);
    assert_eq!(scene.market().history_window(), Some(3));
    for now in 1..400 {
        scene.next_step();
        for step in (now - 3).max(0)..=now {
            assert!(scene.market().values_at(Step(step)).is_ok(), "step {step} at {now}");
        }
        if now > 3 {
            let asked = Step(now - 4);
            let error = scene.market().values_at(asked).unwrap_err();
            assert_eq!(error, HistoryError::Forgotten { asked, oldest: Step(now - 3) });
        }
    }
    assert_eq!(
        scene.market().values_at(Step(0)).unwrap_err().to_string(),
        "step 0 is no longer kept: the history window reaches back to step 396 (make \
         simulation.historyWindow larger)"
    );
}

#[test]
fn the_opening_price_outlives_the_window() {
    let mut scene = Scene::with_window(vec![market(0, 1.0, 300.0)], Some(1)).started(Switch::On);
    scene.send(["B 310x1", "S 310x1"]);
    for _ in 0..200 {
        scene.next_step();
    }
    assert_eq!(Some(scene.market().opening_price()), Some(310.0));
}

/// Random orders that live 5 steps at most.
fn random_order(generator: &mut Generator) -> String {
    let side = if generator.below(2) == 0 { "B" } else { "S" };
    let price = 290 + generator.below(21);
    let volume = generator.below(4) + 1;
    let steps = generator.below(5) + 1;
    match generator.below(6) {
        0 => format!("{side}M x{volume} ttl{steps}"),
        _ => format!("{side} {price}x{volume} ttl{steps}"),
    }
}

#[test]
fn forgetting_changes_no_result() {
    let scene =
        |window| Scene::with_window(vec![market(0, 1.0, 300.0)], window).started(Switch::On);
    let (mut all, mut few) = (scene(None), scene(Some(1)));
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 5);
    for _ in 0..500 {
        for _ in 0..generator.below(5) {
            let order = random_order(&mut generator);
            all.send([&order]);
            few.send([&order]);
        }
        assert_eq!(all.journal.take(), few.journal.take());
        assert_eq!(all.market().values(), few.market().values());
        assert!(
            all.market().vwap_at(all.market().time()).unwrap().to_bits()
                == few.market().vwap_at(few.market().time()).unwrap().to_bits()
        );
        all.next_step();
        few.next_step();
    }
    assert_eq!(all.simulator.accounts(), few.simulator.accounts());
    assert!(all.market().values_at(Step(0)).is_ok());
}

#[test]
fn an_order_is_known_for_a_window_after_it_left_however_old_it_was() {
    let mut scene = Scene::with_window(vec![market(0, 1.0, 300.0)], Some(2)).started(Switch::On);
    scene.send(["B 290x1", "B 280x1"]);
    for _ in 0..50 {
        scene.next_step();
    }
    scene.send(["S 290x1", "C 0"]);
    scene.next_step();
    scene.next_step();
    scene.send(["C 0"]);
    assert_eq!(scene.records("cancel"), ["#0 B 290x0", "#0 B 290x0"]);
    scene.next_step();
    assert!(scene.refusal("C 0").contains("no longer kept"));
    scene.send(["C 1"]);
    assert_eq!(scene.records("cancel").last(), Some(&"#1 B 280x1".to_owned()));
}

/// How much a market takes in a binary message: a measure of its memory.
fn size(scene: &Scene) -> usize {
    bincode::serde::encode_to_vec(scene.market(), bincode::config::standard()).unwrap().len()
}

#[test]
fn a_window_bounds_the_memory() {
    let mut scene = Scene::with_window(vec![market(0, 1.0, 300.0)], Some(10)).started(Switch::On);
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 6);
    let mut sizes = Vec::new();
    for _ in 0..2_000 {
        for _ in 0..5 {
            let order = random_order(&mut generator);
            scene.send([&order]);
        }
        scene.next_step();
        sizes.push(size(&scene));
    }
    let largest = |sizes: &[usize]| *sizes.iter().max().unwrap();
    let (early, late) = (largest(&sizes[200..1_000]), largest(&sizes[1_000..]));
    assert!(late < early * 11 / 10, "{early} bytes, later {late}");
}

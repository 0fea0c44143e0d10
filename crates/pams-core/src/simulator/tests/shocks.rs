//! Shocks to fundamental prices.

use std::ops::Range;

use crate::event::FundamentalPriceShock;
use crate::ids::MarketId;
use crate::market::{Component, MarketSpec};
use crate::quantity::Step;
use crate::session::Switch;
use crate::testing::{Scene, market};

fn shock(target: u32, steps: Range<i64>, rate: f64) -> FundamentalPriceShock {
    FundamentalPriceShock::new(MarketId(target), Step(steps.start)..Step(steps.end), rate)
}

/// The fundamental prices of a market at the ends of the steps.
fn path(scene: Scene, market: usize, n_steps: usize) -> Vec<f64> {
    let mut scene = scene.started(Switch::On);
    (0..n_steps)
        .map(|_| {
            let price = scene.simulator.markets()[market].fundamental_price();
            scene.next_step();
            price
        })
        .collect()
}

fn two_markets() -> Vec<MarketSpec> {
    vec![market(0, 1.0, 300.0), market(1, 1.0, 300.0)]
}

#[test]
fn a_shock_changes_the_fundamental_from_its_step_on() {
    let scene = Scene::new(two_markets()).event(shock(0, 2..3, -0.5));
    assert_eq!(path(scene, 0, 5), [300.0, 300.0, 150.0, 150.0, 150.0]);
}

#[test]
fn a_long_shock_multiplies_at_each_of_its_steps() {
    let scene = Scene::new(two_markets()).event(shock(0, 1..3, -0.5));
    assert_eq!(path(scene, 0, 4), [300.0, 150.0, 75.0, 75.0]);
}

#[test]
fn a_shock_of_no_length_does_nothing() {
    for end in [2, 1] {
        let scene = Scene::new(two_markets()).event(shock(0, 2..end, -0.5));
        assert_eq!(path(scene, 0, 4), [300.0; 4]);
    }
}

#[test]
fn a_shock_leaves_other_markets_and_the_market_price_alone() {
    let scene = Scene::new(two_markets()).event(shock(0, 1..2, -0.5));
    assert_eq!(path(scene, 1, 4), [300.0; 4]);
    let mut scene = Scene::new(two_markets()).event(shock(0, 0..1, -0.5)).started(Switch::On);
    scene.next_step();
    assert_eq!(Some(scene.market().market_price()), Some(300.0));
}

#[test]
fn two_shocks_at_one_step_multiply() {
    let scene = Scene::new(two_markets()).event(shock(0, 1..2, -0.5)).event(shock(0, 1..2, 1.0));
    assert_eq!(path(scene, 0, 3), [300.0, 300.0, 300.0]);
}

#[test]
fn a_shock_on_the_last_step_is_in_its_record() {
    let mut scene = Scene::new(two_markets()).event(shock(0, 1..2, -0.5)).started(Switch::On);
    scene.next_step();
    scene.end_step();
    assert_eq!(scene.records("step"), ["300/300", "300/300 @1", "300/150", "300/300 @1"]);
    assert_eq!(Some(scene.market().fundamental_price()), Some(150.0));
}

#[test]
fn a_shock_beyond_its_session_fires_in_a_later_one() {
    let mut scene = Scene::new(two_markets()).event(shock(0, 2..3, -0.5)).started(Switch::On);
    scene.next_session(Switch::Off);
    scene.next_session(Switch::Off);
    assert_eq!(Some(scene.market().fundamental_price()), Some(150.0));
}

#[test]
fn a_shock_to_a_component_reaches_the_index_one_step_later() {
    let mut index = market(2, 1.0, 300.0);
    index.components = vec![
        Component { market: MarketId(0), shares: 1 },
        Component { market: MarketId(1), shares: 2 },
    ];
    let markets = || [two_markets(), vec![index.clone()]].concat();
    let scene = Scene::new(markets()).event(shock(0, 2..3, -0.5));
    assert_eq!(path(scene, 2, 5), [300.0, 300.0, 300.0, 250.0, 250.0]);
}

#[test]
fn an_index_of_indices_moves_after_its_components() {
    let index = |number, of: u32| MarketSpec {
        components: vec![Component { market: MarketId(of), shares: 1 }],
        ..market(number, 1.0, 300.0)
    };
    let markets = vec![market(0, 1.0, 300.0), index(1, 0), index(2, 1)];
    let scene = Scene::new(markets).event(shock(0, 1..2, -0.5));
    assert_eq!(path(scene, 2, 4), [300.0, 300.0, 150.0, 150.0]);
}

#[test]
fn a_shock_redraws_the_future_of_all_moving_markets() {
    let moving = || {
        let moving =
            |number| MarketSpec { fundamental_volatility: 0.01, ..market(number, 1.0, 300.0) };
        Scene::new(vec![moving(0), moving(1)])
    };
    let (calm, shocked) = (path(moving(), 1, 8), path(moving().event(shock(0, 3..4, -0.5)), 1, 8));
    assert_eq!(calm[..4], shocked[..4], "the other market's past and level stay");
    assert!(
        calm[4..]
            .iter()
            .zip(&shocked[4..])
            .all(|(calm, shocked)| calm.to_bits() != shocked.to_bits())
    );
    let target = path(moving().event(shock(0, 3..4, -0.5)), 0, 8);
    let before = path(moving(), 0, 8);
    assert_eq!(Some(target[3]), Some(before[3] * 0.5));
    assert!((target[4] / target[3] - 1.0).abs() < 0.1, "it moves on from its new level");
}

//! Market price, mid price, last executed price, volumes.

use crate::ids::MarketId;
use crate::market::StepValues;
use crate::order::Side;
use crate::quantity::{Step, Volume};
use crate::session::Switch;
use crate::testing::{Scene, market};

fn silent() -> Scene {
    Scene::new(vec![market(0, 0.1, 300.0)])
}

#[test]
fn time_0_has_the_configured_prices() {
    let mut spec = market(0, 0.1, 300.0);
    spec.fundamental_price = 310.0;
    let mut scene = Scene::new(vec![spec]);
    assert_eq!(scene.simulator.time(), Step(-1));
    let mut journal = scene.journal.clone();
    scene.simulator.begin(&mut journal);
    assert_eq!(scene.simulator.time(), Step(0));
    assert_eq!(scene.prices(), (300.0, None, None));
    assert_eq!(Some(scene.market().fundamental_price()), Some(310.0));
    assert!(!scene.market().is_running(), "the first session sets the flag");
}

#[test]
fn while_running_the_market_price_follows_the_mid_price_until_something_trades() {
    let mut scene = silent().started(Switch::Off);
    scene.send(["B 290x1", "S 320x1"]);
    assert_eq!(scene.prices(), (300.0, Some(305.0), None), "not running");
    scene.next_step();
    scene.send(["B 291x1"]);
    assert_eq!(scene.prices(), (300.0, Some(305.5), None));
    scene.next_session(Switch::On);
    assert_eq!(scene.prices(), (300.0, Some(305.5), None), "the flag came after the clock");
    scene.send(["B 295x1"]);
    assert_eq!(scene.prices(), (307.5, Some(307.5), None));
    scene.next_step();
    assert_eq!(scene.prices(), (307.5, Some(307.5), None));
    scene.send(["S 294x1"]);
    assert_eq!(scene.prices(), (295.0, Some(305.5), Some(295.0)));
    scene.send(["S 310x1"]);
    assert_eq!(scene.prices(), (295.0, Some(300.5), Some(295.0)), "no longer the mid price");
    scene.send(["BM x1"]);
    assert_eq!(scene.prices(), (310.0, Some(305.5), Some(310.0)));
}

#[test]
fn a_market_that_stopped_keeps_its_price() {
    let mut scene = silent().started(Switch::On);
    scene.send(["B 290x1", "S 290x1"]);
    scene.next_session(Switch::Off);
    scene.send(["B 280x1", "S 300x1"]);
    assert_eq!(scene.prices(), (290.0, Some(290.0), Some(290.0)));
    scene.send(["B 295x1"]);
    scene.next_step();
    assert_eq!(scene.prices(), (290.0, Some(297.5), Some(290.0)));
}

#[test]
fn the_clock_carries_the_last_executed_price_of_a_running_market() {
    #[derive(Debug)]
    struct Reset;
    impl crate::Event for Reset {
        fn hooks(&self) -> Vec<crate::Hook> {
            vec![crate::Hook::during(crate::HookPoint::AfterStep, Step(0)..Step(2))]
        }
        fn after_step(
            &mut self,
            context: &mut crate::EventContext<'_>,
            market: MarketId,
        ) -> crate::EventResult {
            context.set_market_price(market, 1.0);
            Ok(())
        }
    }
    let mut scene = silent().event(Reset).started(Switch::On);
    scene.send(["B 290x1", "S 290x1"]);
    scene.next_step();
    assert_eq!(scene.prices(), (290.0, None, Some(290.0)), "running: as the last fill");
    assert_eq!(scene.market().values_at(Step(0)).unwrap().market_price.to_bits(), 1_f64.to_bits());
    scene.next_session(Switch::Off);
    assert_eq!(scene.prices(), (290.0, None, Some(290.0)), "the flag of the step that ends counts");
    scene.next_step();
    assert_eq!(scene.prices(), (290.0, None, Some(290.0)));
}

#[test]
fn the_mid_price_needs_a_limit_at_the_top_of_both_sides() {
    let mut scene = silent().started(Switch::Off);
    scene.send(["B 290x1"]);
    assert_eq!(scene.market().mid_price(), None);
    scene.send(["S 310x1"]);
    assert_eq!(scene.market().mid_price(), Some(300.0));
    scene.send(["BM x1"]);
    assert_eq!(scene.market().mid_price(), None, "a market order has no price");
    scene.send(["C 2"]);
    assert_eq!(scene.market().mid_price(), Some(300.0), "a cancel makes it anew");
    scene.send(["C 1"]);
    assert_eq!(scene.market().mid_price(), None);
}

#[test]
fn volumes_counts_and_values_belong_to_their_step() {
    let mut scene = silent().started(Switch::On);
    scene.send(["B 300x2", "S 300x1", "B 290x1"]);
    scene.next_step();
    scene.send(["S 300x1", "B 290x3", "C 4"]);
    scene.next_step();
    scene.next_step();
    let steps: Vec<StepValues> =
        (0..4).map(|step| *scene.market().values_at(Step(step)).unwrap()).collect();
    let counts: Vec<_> = steps.iter().map(|step| (step.n_buy_orders, step.n_sell_orders)).collect();
    assert_eq!(counts, [(2, 1), (1, 1), (0, 0), (0, 0)]);
    let volumes: Vec<_> = steps.iter().map(|step| step.executed_volume.0).collect();
    assert_eq!(volumes, [1, 1, 0, 0]);
    let values: Vec<_> = steps.iter().map(|step| step.executed_value).collect();
    assert_eq!(values, [300.0, 300.0, 0.0, 0.0]);
    let before: Vec<_> = steps.iter().map(|step| step.volume_before.0).collect();
    assert_eq!(before, [0, 1, 2, 2]);
    assert_eq!(scene.market().executed_volume_since(Step(1)), Ok(Volume(1)));
    assert_eq!(scene.market().executed_volume_since(Step(0)), Ok(Volume(2)));
}

#[test]
fn the_vwap_is_cumulative_and_nan_while_nothing_has_traded() {
    let mut scene = silent().started(Switch::On);
    scene.next_step();
    scene.send(["B 300x2", "S 300x1"]);
    scene.next_step();
    scene.send(["S 300x1", "B 290x3", "S 290x1"]);
    scene.next_step();
    let vwap = |step| scene.market().vwap_at(Step(step)).unwrap();
    assert!(vwap(0).is_nan());
    assert_eq!(Some(vwap(1)), Some(300.0));
    assert_eq!(Some(vwap(2)), Some((300.0 + 590.0) / 3.0));
    assert_eq!(Some(vwap(3)), Some(vwap(2)));
    assert!(scene.market().vwap_at(Step(4)).is_err());
}

#[test]
fn a_market_may_begin_with_executed_volume() {
    let mut spec = market(0, 0.1, 300.0);
    spec.initial_executed_volume = Volume(90);
    let mut scene = Scene::new(vec![spec]).started(Switch::On);
    assert_eq!(scene.market().values().executed_volume, Volume(90));
    scene.send(["B 300x2", "S 300x2"]);
    scene.next_step();
    assert_eq!(scene.market().executed_volume_since(Step(0)), Ok(Volume(92)));
    assert_eq!(scene.market().executed_volume_since(Step(1)), Ok(Volume(0)));
}

#[test]
fn stored_prices_are_ticks_times_the_tick_size() {
    let mut scene = silent().started(Switch::Off);
    scene.send(["B 300.05x1", "S 300.05x1", "B 0.3x1"]);
    let orders: Vec<String> = scene.journal.take();
    assert!(orders.contains(&"t0 order #0 B 300x1".to_owned()), "{orders:?}");
    assert!(orders.contains(&"t0 order #1 S 300.1x1".to_owned()), "{orders:?}");
    assert!(orders.contains(&"t0 order #2 B 0.30000000000000004x1".to_owned()), "{orders:?}");
    assert_eq!(scene.market().best_bid(), Some(300.0));
    assert_eq!(scene.market().best_ask(), Some(300.1));
    assert_eq!(scene.market().depth(Side::Buy).count(), 2);
}

#[test]
fn the_opening_price_is_the_market_price_at_the_end_of_step_0() {
    let mut scene = silent().started(Switch::On);
    assert_eq!(Some(scene.market().opening_price()), Some(300.0));
    scene.send(["B 310x1", "S 310x1"]);
    assert_eq!(Some(scene.market().opening_price()), Some(310.0), "still changing");
    scene.next_step();
    scene.send(["B 320x1", "S 320x1"]);
    assert_eq!(Some(scene.market().opening_price()), Some(310.0));
}

#[test]
fn the_fundamental_of_an_index_is_the_share_weighted_mean_of_its_components() {
    let mut cheap = market(0, 0.1, 300.0);
    cheap.fundamental_price = 100.0;
    let mut index = market(2, 0.1, 555.0);
    index.fundamental_price = 444.0;
    index.fundamental_volatility = 0.5;
    index.components = vec![
        crate::Component { market: MarketId(0), shares: 3 },
        crate::Component { market: MarketId(1), shares: 1 },
    ];
    let mut scene = Scene::new(vec![cheap, market(1, 0.1, 300.0), index]).started(Switch::On);
    for _ in 0..3 {
        let index = &scene.simulator.markets()[2];
        assert_eq!((index.market_price(), index.fundamental_price()), (555.0, 150.0));
        scene.next_step();
    }
}

#[test]
fn shares_too_many_for_one_number_still_weigh() {
    let mut index = market(3, 0.1, 300.0);
    let shares = i64::MAX.unsigned_abs();
    index.components = (0..3).map(|id| crate::Component { market: MarketId(id), shares }).collect();
    let spots = (0..3).map(|id| market(id, 0.1, 300.0 + f64::from(id)));
    let scene = Scene::new(spots.chain([index]).collect()).started(Switch::On);
    assert_eq!(Some(scene.simulator.markets()[3].fundamental_price()), Some(301.0));
}

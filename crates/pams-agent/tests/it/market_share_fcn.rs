//! Where the market share agent trades.

use pams_agent::{Agent, FcnAgent, FcnSettings, MarginType, MarketShareFcnAgent};
use pams_core::Instruction;
use pams_core::random::RandomValue;

use crate::floor::{Floor, describe, make, market, python};

fn settings(window: f64) -> FcnSettings {
    let value = RandomValue::Constant;
    FcnSettings {
        fundamental_weight: value(0.0),
        chart_weight: value(0.0),
        noise_weight: value(1.0),
        noise_scale: value(0.01),
        time_window_size: value(window),
        order_margin: value(0.0),
        mean_reversion_time: None,
        margin_type: MarginType::Fixed,
    }
}

/// The market of the one order that an agent sends.
fn chosen(floor: &Floor, window: f64, seed: u64) -> u32 {
    let agent: MarketShareFcnAgent = make(&settings(window));
    let orders = floor.try_ask(&agent, &mut python(seed)).unwrap();
    let [order] = orders.as_slice() else { panic!("one order, not {orders:?}") };
    Instruction::market(order).0
}

/// The smallest index whose cumulative weight lies above `random() · total`.
fn expected(weights: &[f64], seed: u64) -> u32 {
    let target = python(seed).random() * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    let position = weights.iter().position(|weight| {
        sum += weight;
        target < sum
    });
    u32::try_from(position.unwrap_or(weights.len() - 1)).unwrap()
}

#[test]
fn markets_are_chosen_by_the_volume_of_the_window() {
    let mut floor = Floor::new((0..3).map(|number| market(number, 300.0)).collect());
    floor.trade(2, 300.0, 1000);
    floor.next_step();
    floor.trade(1, 300.0, 20);
    floor.next_step();
    floor.trade(1, 300.0, 10);
    floor.trade(2, 300.0, 10);
    let (mut seen, mut seen_all) = ([false; 3], [false; 3]);
    for seed in 0..300 {
        // Steps 1 and 2, the current one included; then also step 0.
        let choice = chosen(&floor, 1.0, seed);
        assert_eq!(choice, expected(&[1e-10, 30.0 + 1e-10, 10.0 + 1e-10], seed));
        seen[choice as usize] = true;
        let choice = chosen(&floor, 2.0, seed);
        assert_eq!(choice, expected(&[1e-10, 30.0 + 1e-10, 1010.0 + 1e-10], seed));
        assert_eq!(choice, chosen(&floor, 99.0, seed), "a window longer than the past");
        seen_all[choice as usize] = true;
    }
    assert_eq!((seen, seen_all), ([false, true, true], [false, true, true]));
}

#[test]
fn markets_without_volume_are_all_as_likely() {
    let floor = Floor::new((0..4).map(|number| market(number, 300.0)).collect());
    let mut counts = [0; 4];
    for seed in 0..400 {
        let choice = chosen(&floor, 5.0, seed);
        assert_eq!(choice, expected(&[1e-10; 4], seed));
        counts[choice as usize] += 1;
    }
    assert!(counts.iter().all(|count| (60..140).contains(count)), "{counts:?}");
}

#[test]
fn the_initial_volume_of_a_market_counts() {
    let mut spec = market(1, 300.0);
    spec.initial_executed_volume = pams_core::Volume(90);
    let mut floor = Floor::new(vec![market(0, 300.0), spec]);
    floor.trade(0, 300.0, 10);
    for seed in 0..100 {
        assert_eq!(chosen(&floor, 5.0, seed), expected(&[10.0 + 1e-10, 90.0 + 1e-10], seed));
    }
}

#[test]
fn in_its_market_it_does_what_an_fcn_agent_does() {
    let floor = Floor::new(vec![market(0, 300.0), market(1, 400.0)]);
    let agent: MarketShareFcnAgent = make(&settings(5.0));
    let plain: FcnAgent = make(&settings(5.0));
    for seed in 0..20 {
        let mut generator = python(seed);
        let orders = floor.try_ask(&agent, &mut generator).unwrap();
        let mut after_the_choice = python(seed);
        after_the_choice.random();
        let market = [orders[0].market()];
        let same = floor.try_ask_in(&plain, &mut after_the_choice, &market).unwrap();
        assert_eq!(describe(&orders[0]), describe(&same[0]));
        assert_eq!(generator, after_the_choice);
    }
    assert_eq!(agent.look_back(), 5);
}

//! The FCN agent: its formulas to the last digit, its draws and its errors.

use pams_agent::{Agent, AgentSetup, FcnAgent, FcnSettings, MarginType};
use pams_core::random::{Generator, GeneratorKind, RandomValue};
use pams_core::{AgentId, MarketId};

use crate::floor::{Floor, describe, make, market, python, refusal, try_make};

/// Only noise: weights 0, 0, 1, scale 0.01, window 5, margin 0.
fn settings() -> FcnSettings {
    let value = RandomValue::Constant;
    FcnSettings {
        fundamental_weight: value(0.0),
        chart_weight: value(0.0),
        noise_weight: value(1.0),
        noise_scale: value(0.01),
        time_window_size: value(5.0),
        order_margin: value(0.0),
        mean_reversion_time: None,
        margin_type: MarginType::Fixed,
    }
}

/// A market with fundamental price 310 and market prices 300, 296, 304 at steps 0, 1, 2; now is
/// step 3, with 302.
fn floor() -> Floor {
    let mut spec = market(0, 300.0);
    spec.fundamental_price = 310.0;
    let mut floor = Floor::new(vec![spec]);
    for price in [296.0, 304.0, 302.0] {
        floor.next_step();
        floor.trade(0, price, 1);
    }
    assert_eq!(floor.now().0, 3);
    floor
}

/// `random.Random(42).gauss(0, 1)`, the first and the second.
const G: [f64; 2] = [-0.144_090_329_577_928_36, -0.172_903_600_331_519_3];

/// What a single order must be.
fn line(side: &str, price: f64, window: u64) -> Vec<String> {
    vec![format!("M0 {side} {price:?} x1 ttl{window}")]
}

#[test]
fn noise_alone() {
    let expected = 302.0 * ((1.0 / 1.0) * (0.01 * G[0]) * 5.0_f64).exp();
    let orders = floor().ask(&make::<FcnAgent>(&settings()), &mut python(42));
    assert_eq!(orders, line("sell", expected, 5));
}

#[test]
fn all_three_parts_with_a_margin() {
    let settings = FcnSettings {
        fundamental_weight: RandomValue::Constant(1.5),
        chart_weight: RandomValue::Constant(0.7),
        noise_weight: RandomValue::Constant(2.1),
        time_window_size: RandomValue::Constant(2.9),
        order_margin: RandomValue::Constant(0.05),
        mean_reversion_time: Some(RandomValue::Constant(7.0)),
        ..settings()
    };
    // The window is truncated to 2, so the trend is taken from step 1.
    let fundamental = (1.0 / 7.0) * (310.0_f64 / 302.0).ln();
    let chart = (1.0 / 2.0) * (302.0_f64 / 296.0).ln();
    let noise = 0.01 * G[0];
    let part = (1.5 * fundamental + 0.7 * chart) + 2.1 * noise;
    let expected = 302.0 * ((1.0 / ((1.5 + 0.7) + 2.1)) * part * 2.0).exp();
    assert!(expected > 302.0);
    let orders = floor().ask(&make::<FcnAgent>(&settings), &mut python(42));
    assert_eq!(orders, line("buy", expected * (1.0 - 0.05), 2));
}

#[test]
fn a_window_longer_than_the_past_looks_back_to_the_start() {
    let settings = FcnSettings {
        chart_weight: RandomValue::Constant(1.0),
        noise_weight: RandomValue::Constant(0.0),
        time_window_size: RandomValue::Constant(100.0),
        order_margin: RandomValue::Constant(0.01),
        ..settings()
    };
    let chart = (1.0 / 3.0) * (302.0_f64 / 300.0).ln();
    // Noise of weight 0 is drawn all the same and added as a zero.
    let expected = 302.0 * (1.0 * chart * 100.0).exp();
    let mut generator = python(42);
    let orders = floor().ask(&make::<FcnAgent>(&settings), &mut generator);
    assert_eq!(orders, line("buy", expected * (1.0 - 0.01), 100));
    assert_eq!(Some(generator.standard_normal()), Some(G[1]), "one normal was drawn");
}

#[test]
fn at_time_0_the_trend_is_nothing_over_one_step() {
    let settings = FcnSettings { chart_weight: RandomValue::Constant(1.0), ..settings() };
    let floor = Floor::new(vec![market(0, 300.0)]);
    let expected = 300.0 * ((1.0 / 2.0) * (0.01 * G[0]) * 5.0_f64).exp();
    let orders = floor.ask(&make::<FcnAgent>(&settings), &mut python(42));
    assert_eq!(orders, line("sell", expected, 5));
}

#[test]
fn without_a_mean_reversion_time_it_is_the_window() {
    let fundamental = |time: Option<f64>| FcnSettings {
        fundamental_weight: RandomValue::Constant(1.0),
        noise_weight: RandomValue::Constant(0.0),
        mean_reversion_time: time.map(RandomValue::Constant),
        ..settings()
    };
    let floor = floor();
    let ask = |time| floor.ask(&make::<FcnAgent>(&fundamental(time)), &mut python(42));
    assert_eq!(ask(None), ask(Some(5.9)));
    // Not above 0: as 1.
    for time in [1.0, 0.0, -3.0] {
        let expected = 302.0 * ((310.0_f64 / 302.0).ln() * 5.0).exp();
        assert_eq!(ask(Some(time)), line("buy", expected, 5));
    }
}

#[test]
fn the_normal_margin_is_drawn_after_the_noise_and_in_price_units() {
    let settings = FcnSettings {
        margin_type: MarginType::Normal,
        order_margin: RandomValue::Constant(3.0),
        ..settings()
    };
    let expected = 302.0 * ((0.01 * G[0]) * 5.0_f64).exp();
    let orders = floor().ask(&make::<FcnAgent>(&settings), &mut python(42));
    assert_eq!(orders, line("sell", expected + G[1] * 3.0, 5));
}

#[test]
fn the_normal_margin_is_drawn_also_when_no_order_results() {
    let settings = FcnSettings {
        margin_type: MarginType::Normal,
        noise_scale: RandomValue::Constant(0.0),
        ..settings()
    };
    let mut generator = python(42);
    assert_eq!(floor().ask(&make::<FcnAgent>(&settings), &mut generator), [""; 0]);
    let mut twice = python(42);
    twice.standard_normal();
    twice.standard_normal();
    assert_eq!(generator, twice);
}

#[test]
fn a_negative_noise_scale_mirrors_the_noise() {
    let settings = FcnSettings { noise_scale: RandomValue::Constant(-0.01), ..settings() };
    let expected = 302.0 * ((-0.01 * G[0]) * 5.0_f64).exp();
    let orders = floor().ask(&make::<FcnAgent>(&settings), &mut python(42));
    assert_eq!(orders, line("buy", expected, 5));
}

#[test]
fn markets_are_walked_in_order_of_their_ids_with_one_stream() {
    let floor = Floor::new(vec![market(0, 300.0), market(1, 200.0)]);
    let orders = floor.ask(&make::<FcnAgent>(&settings()), &mut python(42));
    let expected = |price: f64, g: f64| price * ((0.01 * g) * 5.0_f64).exp();
    assert_eq!(
        orders,
        [
            format!("M0 sell {:?} x1 ttl5", expected(300.0, G[0])),
            format!("M1 sell {:?} x1 ttl5", expected(200.0, G[1])),
        ]
    );
}

#[test]
fn the_portable_generator_gives_the_same_digits_everywhere() {
    let settings = FcnSettings {
        fundamental_weight: RandomValue::Constant(1.0),
        order_margin: RandomValue::Constant(0.01),
        ..settings()
    };
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 42);
    let orders = floor().ask(&make::<FcnAgent>(&settings), &mut generator);
    assert_eq!(orders, ["M0 buy 309.29925166613384 x1 ttl5"]);
}

#[test]
fn parameters_are_drawn_in_the_published_order() {
    let uniform = |low, high| RandomValue::Uniform { low, high };
    let settings = FcnSettings {
        fundamental_weight: uniform(0.0, 1.0),
        chart_weight: uniform(1.0, 2.0),
        noise_weight: uniform(2.0, 3.0),
        noise_scale: uniform(3.0, 4.0),
        time_window_size: uniform(100.0, 200.0),
        order_margin: uniform(0.0, 1.0),
        mean_reversion_time: Some(uniform(300.0, 400.0)),
        margin_type: MarginType::Fixed,
    };
    let drawn: FcnAgent = try_make(&settings, 7).unwrap();
    let mut generator = python(7);
    let mut next = |low, high| RandomValue::Constant(generator.uniform(low, high));
    let same = FcnSettings {
        fundamental_weight: next(0.0, 1.0),
        chart_weight: next(1.0, 2.0),
        noise_weight: next(2.0, 3.0),
        noise_scale: next(3.0, 4.0),
        time_window_size: next(100.0, 200.0),
        order_margin: next(0.0, 1.0),
        mean_reversion_time: Some(next(300.0, 400.0)),
        margin_type: MarginType::Fixed,
    };
    assert_eq!(drawn, make(&same));
}

#[test]
fn an_odd_number_of_normals_at_setup_leaves_one_for_the_first_turn() {
    let normal = RandomValue::Normal { mean: 0.01, deviation: 0.0 };
    let settings = FcnSettings { noise_scale: normal, ..settings() };
    let mut generator = python(42);
    let mut setup = AgentSetup::new(AgentId(0), &mut generator, &[MarketId(0)]);
    let agent = FcnAgent::create(&settings, &mut setup).unwrap();
    let expected = 302.0 * ((0.01 * G[1]) * 5.0_f64).exp();
    assert_eq!(floor().ask(&agent, &mut generator), line("sell", expected, 5));
}

#[test]
fn the_window_is_what_the_agent_reads() {
    assert_eq!(make::<FcnAgent>(&settings()).look_back(), 5);
}

#[test]
fn a_window_of_0_is_silent_and_a_negative_one_an_error() {
    for window in [0.0, 0.9, -0.9] {
        let time_window_size = RandomValue::Constant(window);
        let agent: FcnAgent = make(&FcnSettings { time_window_size, ..settings() });
        assert_eq!(floor().ask(&agent, &mut python(42)), [""; 0], "{window}");
    }
    let time_window_size = RandomValue::Constant(-1.0);
    assert_eq!(
        refusal::<FcnAgent>(&FcnSettings { time_window_size, ..settings() }),
        "timeWindowSize: a window can't be negative, and -1 was drawn"
    );
}

#[test]
fn windows_that_are_no_numbers_are_errors() {
    for (window, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (1e16, "10000000000000000")] {
        let time_window_size = RandomValue::Constant(window);
        assert_eq!(
            refusal::<FcnAgent>(&FcnSettings { time_window_size, ..settings() }),
            format!("timeWindowSize: {text} is no whole number of 53 bits")
        );
    }
}

#[test]
fn weights_that_are_all_0_are_an_error() {
    let noise_weight = RandomValue::Constant(0.0);
    assert_eq!(
        refusal::<FcnAgent>(&FcnSettings { noise_weight, ..settings() }),
        "the three weights can't all be 0"
    );
}

#[test]
fn a_negative_weight_is_an_error() {
    let negative = RandomValue::Normal { mean: -3.0, deviation: 0.0 };
    let cases = [
        ("fundamentalWeight", FcnSettings { fundamental_weight: negative, ..settings() }),
        ("chartWeight", FcnSettings { chart_weight: negative, ..settings() }),
        ("noiseWeight", FcnSettings { noise_weight: negative, ..settings() }),
    ];
    for (key, settings) in cases {
        assert_eq!(
            refusal::<FcnAgent>(&settings),
            format!("{key}: a weight can't be negative, and -3 was drawn")
        );
    }
}

#[test]
fn a_fixed_margin_outside_0_to_1_is_an_error() {
    for margin in [-0.01, 1.01, f64::NAN] {
        let order_margin = RandomValue::Constant(margin);
        assert_eq!(
            refusal::<FcnAgent>(&FcnSettings { order_margin, ..settings() }),
            format!(
                "orderMargin: a fixed margin is a fraction from 0 to 1, and {margin} was drawn"
            )
        );
        let margin_type = MarginType::Normal;
        make::<FcnAgent>(&FcnSettings {
            margin_type,
            order_margin: RandomValue::Constant(1.01),
            ..settings()
        });
    }
}

/// What an agent that can be made fails with.
#[track_caller]
fn failure(floor: &Floor, settings: &FcnSettings) -> String {
    let answer = floor.try_ask(&make::<FcnAgent>(settings), &mut python(42));
    answer.map(|orders| orders.iter().map(describe).collect::<Vec<_>>()).unwrap_err().to_string()
}

#[test]
fn an_expected_price_that_overflows_is_an_error() {
    let noise_scale = RandomValue::Constant(-1e6);
    let message = failure(&floor(), &FcnSettings { noise_scale, ..settings() });
    assert!(message.starts_with("the expected price in market M0 is inf: "), "{message}");
}

#[test]
fn a_weight_or_scale_that_is_no_number_is_an_error() {
    let nan = RandomValue::Constant(f64::NAN);
    let cases = [
        FcnSettings { fundamental_weight: nan, ..settings() },
        FcnSettings { noise_scale: nan, ..settings() },
        FcnSettings { noise_weight: RandomValue::Constant(f64::INFINITY), ..settings() },
    ];
    for settings in cases {
        let message = failure(&floor(), &settings);
        assert!(message.starts_with("the expected price in market M0 is NaN: "), "{message}");
    }
}

#[test]
fn a_negative_price_with_the_normal_margin_is_an_error() {
    let settings = FcnSettings {
        margin_type: MarginType::Normal,
        order_margin: RandomValue::Constant(1e6),
        ..settings()
    };
    let price = 302.0 * ((0.01 * G[0]) * 5.0_f64).exp() + G[1] * 1e6;
    assert_eq!(
        failure(&floor(), &settings),
        format!("the order price {price} in market M0 is negative")
    );
}

#[test]
fn prices_without_a_logarithm_are_errors() {
    let mut floor = Floor::new(vec![market(0, 300.0)]);
    floor.trade(0, -5.0, 1);
    assert_eq!(
        failure(&floor, &settings()),
        "fundamental over market price in market M0 is -60: there is no log return"
    );
    floor.trade(0, 0.0, 1);
    assert_eq!(
        failure(&floor, &settings()),
        "fundamental over market price in market M0 is inf: there is no log return"
    );
    floor.next_step();
    floor.trade(0, 10.0, 1);
    assert_eq!(
        failure(&floor, &settings()),
        "market price over past market price in market M0 is inf: there is no log return"
    );
}

#[test]
fn an_expected_price_of_0_sells_for_nothing() {
    let noise_scale = RandomValue::Constant(1e6);
    let agent: FcnAgent = make(&FcnSettings { noise_scale, ..settings() });
    assert_eq!(floor().ask(&agent, &mut python(42)), line("sell", 0.0, 5));
}

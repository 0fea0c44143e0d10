//! Series whose facts are known.

use std::f64::consts::PI;

use pams_facts::{
    ErrorKind, Facts, MarketSeries, Options, Tail, Trade, autocorrelation, bands, changes,
    correlation, decay, deviation, imbalance, line, ljung_box, log_returns, moments, price_impact,
    spread, student_quantile, sums, tail_index, volume_volatility,
};

use crate::series::Source;

#[track_caller]
fn assert_near(ours: f64, known: f64) {
    assert!((ours - known).abs() <= 1e-9 * known.abs().max(1.0), "{ours} instead of {known}");
}

#[test]
fn moments_of_the_whole_numbers() {
    let n = 101.0_f64;
    let moments = moments(&(1..=101).map(f64::from).collect::<Vec<_>>());
    assert_eq!(moments.count, 101);
    assert_near(moments.mean, f64::midpoint(n, 1.0));
    assert_near(moments.standard_deviation, (n * (n + 1.0) / 12.0).sqrt());
    assert_near(moments.skewness, 0.0);
    assert_near(moments.excess_kurtosis, -1.2 * (n * n + 1.0) / (n * n - 1.0));
}

#[test]
fn moments_leave_out_what_is_missing() {
    let with_gaps = [f64::NAN, 1.0, 2.0, f64::INFINITY, 4.0];
    assert_eq!(moments(&with_gaps), moments(&[1.0, 2.0, 4.0]));
}

/// Three times 0.1 is not 0.3, and a spread made of that is no spread.
#[test]
fn a_constant_series_has_no_shape() {
    let constant = vec![0.1; 1000];
    let moments = moments(&constant);
    assert_eq!(moments.standard_deviation, 0.0);
    assert!(moments.skewness.is_nan() && moments.excess_kurtosis.is_nan());
    assert!(autocorrelation(&constant, 3).iter().all(|rho| rho.is_nan()));
    assert!(ljung_box(&constant).p_value.is_nan());
    assert!(tail_index(&constant, Tail::Both, 0.05).is_nan());
    let ramp: Vec<f64> = (0..1000).map(f64::from).collect();
    assert!(correlation(&constant, &ramp).is_nan());
    assert!(line(&constant, &ramp).slope.is_nan());
    assert_eq!(line(&ramp, &constant).slope, 0.0);
}

#[test]
fn a_market_in_which_nothing_happens_has_facts_without_values() {
    let nothing = MarketSeries::from_prices("still", vec![300.0; 50]);
    let facts = Facts::of(&nothing, &Options::default()).expect("facts");
    assert_eq!(facts.value("returns.count"), Some(49.0));
    assert_eq!(facts.value("returns.standard_deviation"), Some(0.0));
    for key in ["tail_index.both", "clustering.decay", "spread.quoted", "impact.lambda"] {
        assert!(facts.value(key).expect("each run has the same facts").is_nan(), "{key}");
    }
    let empty = Facts::of(&MarketSeries::default(), &Options::default()).expect("facts");
    assert_eq!(empty.facts.len(), facts.facts.len());
    assert!(empty.facts.iter().all(|fact| fact.value.is_nan() || fact.key == "returns.count"));
}

#[test]
fn returns_over_several_steps() {
    let prices = [1.0, 5.0, 2.0, 6.0, 4.0, 9.0];
    let doubled = log_returns(&prices, 2);
    assert_eq!(doubled.len(), 2);
    doubled.iter().for_each(|value| assert_near(*value, 2_f64.ln()));
    assert_eq!(changes(&prices, 2), [1.0, 2.0]);
    assert_eq!(sums(&prices, 2), [7.0, 10.0]);
    assert!(log_returns(&prices, 6).is_empty());
    assert!(log_returns(&[], 1).is_empty());
    let gaps = log_returns(&[1.0, f64::NAN, 1.0, 0.0, -1.0], 1);
    assert!(gaps.len() == 4 && gaps.iter().all(|value| value.is_nan()));
}

/// The sum of ln((k + 1) / i) for the quantiles of a Pareto distribution is k ln(k + 1) − ln k!.
#[test]
fn the_tail_index_of_pareto_quantiles() {
    for alpha in [0.7, 1.5, 3.0, 5.0] {
        let n = 2000_i32;
        let quantile = |i: i32| (f64::from(i) / f64::from(n + 1)).powf(-1.0 / alpha);
        let values: Vec<f64> = (1..=n).map(quantile).collect();
        let k = 100;
        let factorial: f64 = (1..=k).map(|i| f64::from(i).ln()).sum();
        let k = f64::from(k);
        let known = alpha * k / (k * (k + 1.0).ln() - factorial);
        assert_near(tail_index(&values, Tail::Upper, 0.05), known);
        // Hill's estimate of quantiles is a little above the index; 3 % for k = 100.
        assert!((known / alpha - 1.0).abs() < 0.04);
        let losses: Vec<f64> = values.iter().map(|value| -value).collect();
        assert_near(tail_index(&losses, Tail::Lower, 0.05), known);
        assert_near(tail_index(&losses, Tail::Both, 0.05), known);
        assert!(tail_index(&losses, Tail::Upper, 0.05).is_nan());
    }
}

#[test]
fn the_autocorrelation_of_an_alternating_series() {
    let n = 200;
    let values: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    for (lag, rho) in (0..).zip(autocorrelation(&values, 20)) {
        let sign = if lag % 2 == 0 { 1.0 } else { -1.0 };
        assert_near(rho, sign * f64::from(n - lag) / f64::from(n));
    }
    assert_eq!(autocorrelation(&values, 300)[250], 0.0);
}

/// x[t] = φ x[t−1] + e has ρ(k) = φᵏ. The estimate from n values is off by about 1/√n: four of those.
#[test]
fn the_autocorrelation_of_an_autoregression() {
    let (phi, n) = (0.7, 100_000);
    let mut source = Source::new(5);
    let mut value = 0.0;
    let values: Vec<f64> = std::iter::repeat_with(|| {
        value = phi * value + source.bell();
        value
    })
    .take(n)
    .collect();
    for (lag, rho) in (0..).zip(autocorrelation(&values, 8)) {
        assert!((rho - f64::powi(phi, lag)).abs() < 4.0 / (n as f64).sqrt(), "lag {lag}: {rho}");
    }
    let noise: Vec<f64> = std::iter::repeat_with(|| source.bell()).take(n).collect();
    assert!(ljung_box(&noise).p_value > 0.001, "{:?}", ljung_box(&noise));
}

#[test]
fn the_decay_of_a_power_law() {
    let correlations: Vec<f64> =
        (0..=50).map(|lag| if lag == 0 { 1.0 } else { 0.3 * f64::from(lag).powf(-0.25) }).collect();
    let line = decay(&correlations).expect("50 lags");
    assert_near(-line.slope, 0.25);
    assert_near(line.intercept.exp(), 0.3);
    assert_near(line.r_squared, 1.0);
    // What comes after the first that is not positive is noise.
    let cut = [&correlations[..11], &[-0.01, 0.5, 0.5]].concat();
    assert_eq!(decay(&cut), decay(&correlations[..11]));
    assert_eq!(decay(&[1.0, 0.2, 0.1, -0.1, 0.3]), None);
}

#[test]
fn an_exact_impact() {
    let signed: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 23 - 11)).collect();
    let mut mid = 300.0;
    let mids: Vec<f64> = signed
        .iter()
        .map(|volume| {
            mid += 0.25 * volume + 0.5;
            mid
        })
        .collect();
    for horizon in [1, 4] {
        let line = price_impact(&mids, &signed, horizon);
        assert_near(line.slope, 0.25);
        assert_near(line.intercept, 0.5 * horizon as f64);
        assert_near(line.r_squared, 1.0);
        assert!(line.slope_standard_error < 1e-9);
    }
}

#[test]
fn the_later_order_makes_the_trade() {
    let trade = |buy_order, sell_order| Trade { buy_order, sell_order, volume: 3 };
    assert_eq!(trade(5, 4).signed_volume(), 3.0);
    assert_eq!(trade(4, 5).signed_volume(), -3.0);
}

#[test]
fn volume_that_is_proportional_to_returns() {
    let prices: Vec<f64> = (0..100).map(|i| 300.0 + f64::from(i * 31 % 17)).collect();
    let sizes = log_returns(&prices, 1).into_iter().map(|value| 1000.0 * value.abs());
    let volume: Vec<f64> = std::iter::once(99.0).chain(sizes).collect();
    assert_near(volume_volatility(&prices, &volume, 1), 1.0);
}

#[test]
fn a_constant_spread_with_gaps() {
    let spread = spread(&[99.0, f64::NAN, 99.0, 99.0], &[101.0, 101.0, f64::NAN, 101.0]);
    assert_near(spread.quoted, 2.0);
    assert_near(spread.relative, 200.0);
    assert_near(spread.two_sided, 0.5);
}

/// A session that only collects orders leaves a book in which the best prices could trade.
#[test]
fn a_crossed_book_has_no_spread() {
    let spread = spread(&[99.0, 310.0], &[101.0, 90.0]);
    assert_near(spread.quoted, 2.0);
    assert_near(spread.two_sided, 0.5);
}

#[test]
fn imbalance_of_a_book() {
    let values = imbalance(&[3.0, 0.0, 5.0, 0.0], &[1.0, 2.0, 0.0, 0.0]);
    assert_eq!(values[..3], [0.5, -1.0, 1.0]);
    assert!(values[3].is_nan());
}

#[test]
fn deviations() {
    let deviation = deviation(&[110.0, 80.0, f64::NAN], &[100.0, 100.0, 100.0]);
    assert_near(deviation.mean_absolute, 15.0);
    assert_near(deviation.root_mean_square, 250_f64.sqrt());
    assert_near(deviation.relative_absolute, 0.15);
    assert_near(deviation.relative, -0.05);
}

#[test]
fn quantiles_of_student_with_one_and_two_degrees() {
    for probability in [0.6, 0.75, 0.9, 0.975, 0.999] {
        assert_near(student_quantile(probability, 1), (PI * (probability - 0.5)).tan());
        let known = (2.0 * probability - 1.0) / (2.0 * probability * (1.0 - probability)).sqrt();
        assert_near(student_quantile(probability, 2), known);
    }
    assert!(student_quantile(0.975, 0).is_nan());
}

#[test]
fn bands_of_one_run_and_of_runs_without_a_value() {
    let rising = MarketSeries::from_prices("a", vec![1.0, 2.0, 4.0, 9.0]);
    let still = MarketSeries::from_prices("a", vec![1.0; 4]);
    let facts = [rising, still].map(|one| Facts::of(&one, &Options::default()).expect("facts"));
    let alone = bands(&facts[..1], 0.95);
    let skewness = |bands: &[pams_facts::Band]| {
        bands.iter().find(|band| band.key == "returns.skewness").expect("a fact").clone()
    };
    assert_eq!(Some(skewness(&alone).mean), facts[0].value("returns.skewness"));
    assert!(skewness(&alone).low.is_nan());
    assert_eq!(skewness(&bands(&facts, 0.95)).count, 1);
    assert!(bands(&[], 0.95).is_empty());
}

#[test]
fn columns_of_other_lengths_are_refused() {
    let mut series = MarketSeries::from_prices("a", vec![1.0; 4]);
    series.volume = vec![1.0; 3];
    let error = Facts::of(&series, &Options::default()).expect_err("three volumes");
    assert_eq!(error.kind(), ErrorKind::Lengths);
    assert_eq!(error.to_string(), "market a has 4 steps, but 3 values of volume");
}

#[test]
fn a_warm_up_is_left_out() {
    let whole = crate::series::series(1);
    let rest = whole.from_step(100);
    assert_eq!(rest.step[0], 100);
    assert_eq!(rest.price, whole.price[100..]);
    assert!(rest.check().is_ok());
    assert!(whole.from_step(10_000).is_empty());
    assert_eq!(whole.from_step(-5).len(), whole.len());
    assert!(MarketSeries::from_prices("a", vec![1.0; 9]).from_step(4).volume.is_empty());
}

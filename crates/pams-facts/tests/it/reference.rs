//! Every fact against numpy, scipy and statsmodels: `tools/reference.py` made the numbers.

use pams_facts::{Facts, Options, Price, bands, student_quantile};
use serde_json::Value;

use crate::series::series;

/// Sums are added in another order there than here, which changes the last digits.
const TOLERANCE: f64 = 1e-9;

fn reference() -> Value {
    serde_json::from_str(include_str!("../data/reference.json")).expect("JSON")
}

fn assert_near(what: &str, ours: f64, theirs: &Value) {
    match theirs.as_f64() {
        None => assert!(ours.is_nan() && theirs.is_null(), "{what}: {ours} instead of {theirs}"),
        Some(theirs) => {
            let near = (ours - theirs).abs() <= TOLERANCE * theirs.abs().max(1e-3);
            assert!(near, "{what}: {ours} instead of {theirs}");
        }
    }
}

fn assert_all_facts(facts: &Facts, theirs: &Value) {
    let theirs = theirs.as_object().expect("facts by name");
    assert_eq!(facts.facts.len(), theirs.len(), "a fact without a reference, or the reverse");
    for fact in &facts.facts {
        assert_near(&fact.key, fact.value, &theirs[&fact.key]);
    }
}

#[test]
fn the_series_are_the_same_to_the_bit() {
    for seed in [1, 2, 3] {
        let series = series(seed);
        let last = &reference()["last"][seed.to_string()];
        for (name, column) in [
            ("price", &series.price),
            ("mid", &series.mid),
            ("fundamental", &series.fundamental),
            ("best_ask", &series.best_ask),
            ("ask_volume", &series.ask_volume),
        ] {
            assert_eq!(column.last().copied(), last[name].as_f64(), "{name} of seed {seed}");
        }
    }
}

#[test]
fn every_fact_is_what_others_compute() {
    let reference = reference();
    for seed in [1, 2, 3] {
        let facts = Facts::of(&series(seed), &Options::default()).expect("facts");
        assert_all_facts(&facts, &reference["facts"][seed.to_string()]);
    }
}

#[test]
fn every_fact_of_the_mid_price_over_five_steps() {
    let options = Options { price: Price::Mid, horizon: 5, ..Options::default() };
    let facts = Facts::of(&series(1), &options).expect("facts");
    assert_all_facts(&facts, &reference()["facts_of_mid_over_5_steps"]);
}

#[test]
fn correlograms_at_every_lag() {
    let reference = reference();
    let facts = Facts::of(&series(1), &Options::default()).expect("facts");
    let ours = &facts.correlograms;
    for (name, ours) in
        [("returns", &ours.returns), ("absolute", &ours.absolute), ("squared", &ours.squared)]
    {
        let theirs = reference["correlograms_of_seed_1"][name].as_array().expect("lags");
        assert_eq!(ours.len(), theirs.len());
        for (lag, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert_near(&format!("{name} at lag {lag}"), *ours, theirs);
        }
    }
}

#[test]
fn bands_over_seeds() {
    let reference = reference();
    let runs = [1, 2, 3].map(|seed| Facts::of(&series(seed), &Options::default()).expect("facts"));
    let bands = bands(&runs, 0.95);
    assert_eq!(bands.len(), runs[0].facts.len());
    for band in bands {
        let theirs = &reference["bands"][&band.key];
        let ours = [band.mean, band.standard_deviation, band.standard_error, band.low, band.high];
        for (place, ours) in ours.into_iter().enumerate() {
            assert_near(&format!("{} at {place}", band.key), ours, &theirs[place]);
        }
        assert!(band.minimum <= band.mean && band.mean <= band.maximum, "{band:?}");
    }
}

#[test]
fn quantiles_of_student() {
    let reference = reference();
    let table = reference["student"].as_object().expect("quantiles");
    assert_eq!(table.len(), 32);
    for (arguments, theirs) in table {
        let (probability, degrees) = arguments.split_once(' ').expect("two numbers");
        let probability = probability.parse().expect("a number");
        let ours = student_quantile(probability, degrees.parse().expect("a number"));
        assert_near(arguments, ours, theirs);
    }
}

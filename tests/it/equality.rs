//! Every record equals the one that PAMS 0.3.0 wrote.

use std::io;

use pams_core::random::GeneratorKind;
use pams_runner::{JsonLines, RunReport, Runner, SequentialRunner};
use pams_tests::{Reference, references};
use serde_json::{Number, Value as Json};

/// How far two numbers may be apart, relative to the larger one, where `exp` is not ours to choose.
const TOLERANCE: f64 = 1e-12;

/// How far two cash amounts may be apart, in price units, for the same reason: cash is a sum that
/// may cancel, so its relative error has no bound.
const CASH_TOLERANCE: f64 = 1e-8;

fn run(reference: &Reference) -> (Result<RunReport, pams_runner::Error>, Vec<Json>) {
    let mut log = Vec::new();
    let outcome = SequentialRunner::builder()
        .registry(pams_tests::registry())
        .config_text(reference.config.as_bytes())
        .seed(reference.seed)
        .generator(GeneratorKind::Mt19937)
        .logger(JsonLines::new(&mut log))
        .build()
        .and_then(Runner::run);
    let records = log
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("a logged line is JSON"))
        .collect();
    (outcome, records)
}

/// Whether a record is what PAMS wrote; keys that only ours has are fine.
fn equal(ours: &Json, theirs: &Json, exact: bool, key: &str) -> bool {
    match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => theirs.iter().all(|(key, value)| {
            ours.get(key).is_some_and(|our_value| equal(our_value, value, exact, key))
        }),
        (Json::Number(ours), Json::Number(theirs)) => equal_numbers(ours, theirs, exact, key),
        _ => ours == theirs,
    }
}

fn equal_numbers(ours: &Number, theirs: &Number, exact: bool, key: &str) -> bool {
    let (Some(ours), Some(theirs)) = (ours.as_f64(), theirs.as_f64()) else { return false };
    let distance = (ours - theirs).abs();
    // Of two finite numbers at distance zero only the signs of zeros can differ.
    let tolerance = match (exact, key) {
        (true, _) => 0.0,
        (false, "cash") => CASH_TOLERANCE.max(TOLERANCE * theirs.abs()),
        (false, _) => TOLERANCE * ours.abs().max(theirs.abs()),
    };
    distance <= tolerance
}

fn difference(reference: &Reference) -> Option<String> {
    let (outcome, ours) = run(reference);
    let mut theirs = reference.records.as_slice();
    let failed_there = theirs.last().is_some_and(|record| record["type"] == "error");
    if failed_there {
        return outcome.is_ok().then(|| format!("PAMS failed: {}", theirs[theirs.len() - 1]));
    }
    if let Err(error) = outcome {
        return Some(format!("ours failed: {error}"));
    }
    for (index, our_record) in ours.iter().enumerate() {
        let Some((their_record, rest)) = theirs.split_first() else {
            return Some(format!("record {index} is too many: {our_record}"));
        };
        if !equal(our_record, their_record, reference.exact, "") {
            return Some(format!("record {index}\n  ours   {our_record}\n  theirs {their_record}"));
        }
        theirs = rest;
    }
    (!theirs.is_empty()).then(|| format!("{} records are missing: {}", theirs.len(), theirs[0]))
}

#[track_caller]
fn check(file: &str, expected_runs: usize) {
    let runs: Vec<Reference> = references(file)
        .and_then(Iterator::collect::<io::Result<_>>)
        .expect("the data is readable");
    assert_eq!(runs.len(), expected_runs, "the file has another number of runs");
    let differences: Vec<String> = runs
        .iter()
        .filter_map(|reference| {
            difference(reference)
                .map(|text| format!("{} with seed {}: {text}", reference.name, reference.seed))
        })
        .collect();
    assert!(
        differences.is_empty(),
        "{} of {} runs differ:\n{}",
        differences.len(),
        runs.len(),
        differences.join("\n")
    );
}

#[test]
fn every_sample_setup_gives_the_records_of_pams() {
    check("samples.jsonl.gz", 29);
}

#[test]
fn random_configs_give_the_records_of_pams() {
    check("random.jsonl.gz", 300);
}

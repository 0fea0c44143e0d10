//! `pams run` and `pams check` with right configs: what is printed, and what decides it.

use std::fs::File;
use std::io;

use pams_tests::references;
use serde_json::Value as Json;

use super::{BASE, Outcome, Pams, report, shipped_config, shipped_configs};

fn summary(pams: &Pams, arguments: &[&str]) -> Json {
    let outcome = pams.run(&[&["run", "--summary", "json"], arguments].concat());
    serde_json::from_str(&outcome.success()).expect("the summary is JSON")
}

#[test]
fn every_shipped_config_is_checked_at_once() {
    let pams = Pams::new();
    let paths = shipped_configs();
    let mut arguments = vec!["check"];
    arguments.extend(paths.iter().map(|path| path.to_str().expect("the path is UTF-8")));
    let checked = pams.run(&arguments);
    assert_eq!(checked.stdout.matches(" has no mistakes: ").count(), paths.len(), "{checked:#?}");
    // Who begins with one of them is not greeted by warnings.
    assert_eq!(checked.stderr, "");
    checked.success();
}

#[test]
fn check_goes_on_after_a_config_with_mistakes() {
    let pams = Pams::new();
    pams.write("empty.json", "");
    let checked = pams.run(&["check", "empty.json", "missing.json", "base.json"]);
    assert_eq!(checked.code, Some(1));
    insta::assert_snapshot!(report([("stdout", checked.stdout), ("stderr", checked.stderr)]));
}

#[test]
fn the_summary_for_people() {
    let text = Pams::new().run(&["run", "base.json", "--seed", "42"]).success();
    // What differs from run to run stands behind these words.
    let masked: Vec<&str> = text
        .lines()
        .map(|line| {
            let measured = ["  setup ", "  run ", "  peak memory "];
            measured.into_iter().find(|start| line.starts_with(start)).unwrap_or(line)
        })
        .collect();
    insta::assert_snapshot!(masked.join("\n"));
}

#[test]
fn the_summary_for_programs() {
    let pams = Pams::new();
    let summary = summary(&pams, &["base.json", "--seed", "42"]);
    let keys: Vec<&String> = summary.as_object().expect("it is an object").keys().collect();
    insta::assert_debug_snapshot!(keys);
    assert_eq!(summary["config"], "base.json");
    assert_eq!(summary["seed"], 42);
    assert_eq!(summary["prng"], "xoshiro256++");
    assert_eq!(summary["steps"], 50);
    for key in ["orders", "executions", "setup_seconds", "run_seconds", "orders_per_second"] {
        assert!(summary[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {summary}");
    }
    assert!(summary["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20));
    assert!(summary["records_hash"].as_str().is_some_and(|hash| hash.starts_with("blake3:")));
    assert_eq!(summary["markets"].as_array().map(Vec::len), Some(4));
    assert_eq!(summary["markets"][3]["name"], "Index");
}

#[test]
fn seed_and_generator_decide_the_records_and_nothing_else_does() {
    let pams = Pams::new();
    let hash = |arguments: &[&str]| summary(&pams, arguments)["records_hash"].clone();
    let first = hash(&["base.json", "--seed", "42"]);
    assert_eq!(hash(&["base.json", "--seed", "42", "--log", "run.jsonl"]), first);
    assert_eq!(hash(&["base.json", "--seed", "42", "--quiet", "--lenient"]), first);
    assert_ne!(hash(&["base.json", "--seed", "43"]), first);
    assert_ne!(hash(&["base.json", "--seed", "42", "--prng", "mt19937"]), first);
    assert_eq!(hash(&["base.json", "--seed", "42", "--no-hash"]), Json::Null);
}

#[test]
fn a_drawn_seed_gives_the_same_run_again() {
    let pams = Pams::new();
    let first = summary(&pams, &["base.json"]);
    let seed = first["seed"].to_string();
    assert_eq!(
        summary(&pams, &["base.json", "--seed", &seed])["records_hash"],
        first["records_hash"]
    );
    assert_ne!(summary(&pams, &["base.json"])["seed"], first["seed"]);
}

#[test]
fn a_drawn_seed_is_told_whatever_else_is_not() {
    let pams = Pams::new();
    let text = pams.run(&["run", "base.json"]).success();
    assert!(text.starts_with("base.json with seed "), "{text}");
    let quiet = pams.run(&["run", "base.json", "--quiet"]);
    assert!(quiet.stderr.starts_with("the seed is "), "{quiet:#?}");
    assert_eq!(quiet.success(), "");
    let quiet = pams.run(&["run", "base.json", "--quiet", "--seed", "1"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
    pams.write("failing.json", BASE.replace("\"noiseScale\": 0.001", "\"noiseScale\": 100.0"));
    let failed = pams.run(&["run", "failing.json"]).failure(1);
    assert!(failed.contains("\n  the seed was "), "{failed}");
}

#[test]
fn a_config_comes_from_standard_input() {
    let pams = Pams::new();
    let mut command = pams.command(&["run", "-", "--seed", "1", "--no-hash"]);
    command.stdin(File::open(pams.path("base.json")).expect("the config is there"));
    let text = Outcome::of(&mut command).success();
    assert!(text.starts_with("standard input with seed 1 "), "{text}");
    let message = pams.run(&["check", "-"]).failure(1);
    assert!(message.starts_with("error: standard input has a mistake\n"), "{message}");
}

#[test]
fn a_path_and_names_beyond_ascii_need_no_locale() {
    let pams = Pams::new();
    let name = "市場 é.json";
    pams.write(name, BASE.replace("Spot", "株式").replace("\"opening\"", "\"ouverture é\""));
    let mut command = pams.command(&["run", name, "--seed", "1", "--log", "記録.jsonl"]);
    let text = Outcome::of(command.env("LANG", "C").env("LC_ALL", "C")).success();
    assert!(text.contains("市場 é.json with seed 1") && text.contains("\n  株式-0 "), "{text}");
    assert!(pams.read("記録.jsonl").contains("\"market\":\"株式-0\""));
}

#[test]
fn warnings_are_told_once_and_lenient_turns_unknown_keys_into_some() {
    let pams = Pams::new();
    let text = BASE
        .replace("\"maxHighFrequencyOrders\"", "\"maxHifreqOrders\"")
        .replace("\"noiseScale\"", "\"seed\": 1, \"noiseScale\"");
    pams.write("old.json", text);
    let lenient = pams.run(&["run", "old.json", "--lenient", "--seed", "1", "--log", "run.jsonl"]);
    assert_eq!(lenient.code, Some(0), "{lenient:#?}");
    insta::assert_snapshot!(report([
        ("strict", pams.run(&["run", "old.json"]).failure(1)),
        ("lenient", lenient.stderr),
        ("quiet", pams.run(&["run", "old.json", "--lenient", "--quiet", "--seed", "1"]).stderr),
    ]));
}

#[test]
fn steps_are_printed_as_pams_prints_them() {
    let pams = Pams::new();
    pams.write("config.json", shipped_config("shock_transfer.json"));
    let reference = references("samples.jsonl.gz")
        .and_then(|mut runs| {
            let is_it = |run: &io::Result<pams_tests::Reference>| {
                run.as_ref().is_ok_and(|run| run.name.contains("shock_transfer"))
            };
            runs.find(is_it).expect("the setup has a reference")
        })
        .expect("the references are readable");
    let (seed, arguments) = (reference.seed.to_string(), ["run", "config.json", "--seed"]);
    let options = [seed.as_str(), "--prng", "mt19937", "--print", "steps", "--quiet"];
    let printed = pams.run(&[&arguments[..], &options[..]].concat()).success();
    let steps: Vec<&Json> =
        reference.records.iter().filter(|record| record["type"] == "step").collect();
    assert_eq!(printed.lines().count(), steps.len());
    let names = ["SpotMarket-1", "SpotMarket-2", "IndexMarket-I"];
    for (line, step) in printed.lines().zip(steps) {
        let words: Vec<&str> = line.split(' ').collect();
        let [session, time, id, name, price, fundamental] = words[..] else {
            panic!("six words are expected: {line}");
        };
        assert_eq!([session, time], [step["session"].to_string(), step["time"].to_string()]);
        assert_eq!(Some(name), step["market"].as_str());
        let id: usize = id.parse().expect("an id is a number");
        assert!(id < names.len(), "{line}");
        for (text, key) in [(price, "market_price"), (fundamental, "fundamental_price")] {
            let value: f64 = text.parse().expect("a price is a number");
            let difference = (value - step[key].as_f64().expect("a price is a number")).abs();
            assert!(difference <= 1e-12 * value, "{line}: {step}");
            // Python writes floats with a point.
            assert!(text.contains('.'), "{line}");
        }
    }
}

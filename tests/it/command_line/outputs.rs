//! Where logs, steps and summaries go, and what happens when they can't.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value as Json;

use super::{BASE, Outcome, Pams, report};

const FULL: &str = "/dev/full";

#[test]
fn every_line_of_a_log_is_a_record() {
    let pams = Pams::new();
    pams.run(&["run", "base.json", "--seed", "1", "--log", "run.jsonl"]).success();
    let log = pams.read("run.jsonl");
    let types: Vec<String> = log
        .lines()
        .map(|line| {
            let record: Json = serde_json::from_str(line).expect("a line is JSON");
            record["type"].as_str().expect("a record has a type").to_owned()
        })
        .collect();
    assert_eq!(types.first().map(String::as_str), Some("simulation_begin"));
    assert_eq!(types.iter().filter(|kind| *kind == "step").count(), 50 * 4);
    assert_eq!(types.iter().filter(|kind| *kind == "account").count(), 13);
}

#[test]
fn standard_output_carries_one_thing_only() {
    let pams = Pams::new();
    pams.run(&["run", "base.json", "--seed", "1", "--log", "run.jsonl"]).success();
    let logged = pams.run(&["run", "base.json", "--seed", "1", "--log", "-"]);
    assert_eq!(logged.stdout, pams.read("run.jsonl"));
    assert!(logged.stderr.starts_with("base.json with seed 1 "), "{}", logged.stderr);
    assert!(!pams.path("-").exists());

    let options = ["run", "base.json", "--seed", "1", "--print", "steps", "--summary", "json"];
    let printed = pams.run(&options);
    assert_eq!(printed.stdout.lines().count(), 50 * 4);
    let summary: Json = serde_json::from_str(&printed.stderr).expect("the summary is JSON");
    assert_eq!(summary["seed"], 1);
}

#[test]
fn a_config_with_mistakes_costs_no_log() {
    let pams = Pams::new();
    // The second mistake shows only when the correlations are put together.
    let contradiction = "[[\"Spot-0\", \"Spot-1\", 0.9], [\"Spot-1\", \"Spot-2\", 0.9], \
                         [\"Spot-0\", \"Spot-2\", -0.9]]";
    let cases = [
        BASE.replace("\"noiseScale\"", "\"noiseScales\""),
        BASE.replace("[[\"Spot-0\", \"Spot-1\", 0.5]]", contradiction),
    ];
    for case in cases {
        pams.write("broken.json", case);
        pams.write("run.jsonl", "an old log\n");
        pams.run(&["run", "broken.json", "--log", "run.jsonl"]).failure(1);
        assert_eq!(pams.read("run.jsonl"), "an old log\n");
        pams.run(&["run", "broken.json", "--log", "new.jsonl"]).failure(1);
        assert!(!pams.path("new.jsonl").exists());
    }
}

#[test]
fn the_config_is_not_overwritten_by_its_log() {
    let pams = Pams::new();
    fs::create_dir(pams.path("logs")).expect("the directory can be written");
    let message = pams.run(&["run", "base.json", "--log", "logs/../base.json"]).failure(1);
    assert_eq!(message, "error: logs/../base.json is the config, and --log would overwrite it\n");
    assert_eq!(pams.read("base.json"), BASE);
}

#[test]
fn outputs_that_cannot_be_written() {
    let pams = Pams::new();
    fs::create_dir(pams.path("directory")).expect("the directory can be written");
    let log = |path: &str| pams.run(&["run", "base.json", "--seed", "1", "--log", path]).failure(1);
    let mut cases = vec![
        ("log in a directory that is missing", log("missing/run.jsonl")),
        ("log is a directory", log("directory")),
        ("log in a file", log("base.json/run.jsonl")),
    ];
    // A device that is always full, where there is one.
    if fs::metadata(FULL).is_ok() {
        let full = |arguments: &[&str]| {
            let mut command = pams.command(arguments);
            let device = File::options().write(true).open(FULL).expect("the device is writable");
            Outcome::of(command.stdout(device)).failure(1)
        };
        cases.extend([
            ("log on a full disk", log(FULL)),
            (
                "steps on a full disk",
                full(&["run", "base.json", "--seed", "1", "--print", "steps"]),
            ),
            ("summary on a full disk", full(&["run", "base.json", "--seed", "1"])),
            ("check on a full disk", full(&["check", "base.json"])),
            ("schema on a full disk", full(&["schema"])),
        ]);
    }
    insta::assert_snapshot!(report(cases));
}

#[test]
fn a_reader_that_goes_away_ends_the_run_without_a_word() {
    let pams = Pams::new();
    // Longer than any pipe holds: without a reader the run would never end.
    let long = BASE.replace("\"iterationSteps\": 30", "\"iterationSteps\": 1000000000");
    pams.write("long.json", long);
    let mut command = pams.command(&["run", "long.json", "--seed", "1", "--print", "steps"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut first = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    output.read_line(&mut first).expect("there is a line");
    assert_eq!(first, "0 0 0 Spot-0 300.0 300.0\n");
    drop(output);
    let outcome = child.wait_with_output().expect("the command ends");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
}

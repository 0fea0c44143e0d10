//! `pams sweep`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::{BASE, Outcome, Pams};

/// A small grid over the config in which everything occurs.
const GRID: [&str; 4] =
    ["--set", "Shock.priceChangeRate=-0.1,0.1", "--set", "Traders.noiseWeight=0.5,[0.5, 1.0]"];

fn sweep(pams: &Pams, options: &[&str]) -> Outcome {
    pams.run(&[&["sweep", "base.json"], options].concat())
}

/// The JSON summary of a sweep in which nothing fails.
fn summary(pams: &Pams, options: &[&str]) -> Json {
    json(&sweep(pams, &[options, &["--format", "json"]].concat()).success())
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("it is JSON")
}

fn table(pams: &Pams, out: &str) -> Vec<u8> {
    fs::read(pams.path(out).join("runs.parquet")).expect("the table is there")
}

/// The lines of a journal by point and seed.
fn journal(pams: &Pams, out: &str) -> Vec<Json> {
    let text = pams.read(&format!("{out}/journal.jsonl"));
    let mut lines: Vec<Json> = text.lines().map(json).collect();
    lines.sort_by_key(|line| (line["point"].as_u64(), line["seed"].as_u64()));
    lines
}

#[test]
fn every_point_runs_with_every_seed_as_a_run_by_itself_does() {
    let pams = Pams::new();
    let arguments = [&GRID[..], &["--seeds", "0..2,7", "--out", "out"]].concat();
    let summary = summary(&pams, &arguments);
    assert_eq!((&summary["runs"], &summary["found"]), (&12.into(), &0.into()));
    let points = summary["points"].as_array().unwrap();
    let parameters: Vec<String> =
        points.iter().map(|point| point["parameters"].to_string()).collect();
    assert_eq!(
        parameters,
        [
            r#"{"Shock.priceChangeRate":-0.1,"Traders.noiseWeight":0.5}"#,
            r#"{"Shock.priceChangeRate":-0.1,"Traders.noiseWeight":[0.5,1.0]}"#,
            r#"{"Shock.priceChangeRate":0.1,"Traders.noiseWeight":0.5}"#,
            r#"{"Shock.priceChangeRate":0.1,"Traders.noiseWeight":[0.5,1.0]}"#,
        ]
    );

    let lines = journal(&pams, "out");
    let places: Vec<_> = lines.iter().map(|line| (&line["point"], &line["seed"])).collect();
    assert_eq!(places.len(), 12);
    assert_eq!(places[5], (&1.into(), &7.into()));
    for (point, value) in [(0, "0.5"), (3, "[0.5, 1.0]")] {
        let mut config = json(BASE);
        config["Shock"]["priceChangeRate"] = json(if point == 0 { "-0.1" } else { "0.1" });
        config["Traders"]["noiseWeight"] = json(value);
        pams.write("point.json", config.to_string());
        for seed in ["0", "7"] {
            let run = ["run", "point.json", "--seed", seed, "--summary", "json"];
            let alone = json(&pams.run(&run).success());
            let line = lines
                .iter()
                .find(|line| line["point"] == point && line["seed"].as_u64() == seed.parse().ok())
                .expect("the run is there");
            let outcome = &line["outcome"];
            for key in ["records_hash", "orders", "executions", "cancels", "expirations", "steps"] {
                assert_eq!(outcome[key], alone[key], "{key}");
            }
            let markets = outcome["markets"].as_array().unwrap();
            assert_eq!(markets.len(), 4);
            for (market, alone) in markets.iter().zip(alone["markets"].as_array().unwrap()) {
                for key in ["name", "market_price", "executed_volume", "vwap"] {
                    assert_eq!(market[key], alone[key], "{key}");
                }
            }
            for key in ["orders", "executions", "cancels", "expirations"] {
                let sum: u64 = markets.iter().map(|market| market[key].as_u64().unwrap()).sum();
                assert_eq!(sum, outcome[key].as_u64().unwrap(), "{key}");
            }
        }
    }
}

#[test]
fn the_spread_of_returns_is_that_of_the_log() {
    let pams = Pams::new();
    sweep(&pams, &["--seeds", "3", "--out", "out"]).success();
    pams.run(&["run", "base.json", "--seed", "3", "--log", "run.jsonl"]).success();
    let log = pams.read("run.jsonl");
    let prices: Vec<f64> = log
        .lines()
        .map(json)
        .filter(|record| record["type"] == "step" && record["market"] == "Spot-0")
        .map(|record| record["market_price"].as_f64().unwrap())
        .collect();
    assert_eq!(prices.len(), 50);
    let returns: Vec<f64> = prices.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect();
    let mean = returns.iter().sum::<f64>() / 49.0;
    let squares: f64 = returns.iter().map(|value| (value - mean).powi(2)).sum();
    let found = &journal(&pams, "out")[0]["outcome"]["markets"][0];
    assert_eq!(found["name"], "Spot-0");
    let (found, expected) = (found["return_std"].as_f64().unwrap(), (squares / 48.0).sqrt());
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn neither_the_number_of_workers_nor_the_order_of_seeds_changes_the_table() {
    let pams = Pams::new();
    let run = |jobs, seeds, out| {
        let options = ["--seeds", seeds, "--jobs", jobs, "--out", out];
        summary(&pams, &[&GRID[..], &options].concat())["points"].clone()
    };
    let one = run("1", "0..6", "one");
    assert_eq!(one, run("3", "5,0..=4", "three"));
    assert_eq!(table(&pams, "one"), table(&pams, "three"));
}

#[test]
fn a_finished_sweep_is_not_repeated_and_more_seeds_are_added() {
    let pams = Pams::new();
    let run = |seeds, out| {
        summary(&pams, &[&GRID[..], &["--seeds", seeds, "--out", out]].concat())["found"].clone()
    };
    assert_eq!(run("0..3", "out"), 0);
    let before = table(&pams, "out");
    assert_eq!(run("0..3", "out"), 12);
    assert_eq!(table(&pams, "out"), before);
    assert_eq!(run("0..5", "out"), 12);
    assert_eq!(run("0..5", "other"), 0);
    assert_eq!(table(&pams, "out"), table(&pams, "other"));
    // And fewer.
    assert_eq!(run("0..3", "out"), 12);
    assert_eq!(table(&pams, "out"), before);
}

/// Starts a sweep that takes for ever, and waits until it has finished some runs.
fn start(pams: &Pams) -> Child {
    let options = ["sweep", "base.json", "--seeds", "0..10000000", "--jobs", "2", "--out", "out"];
    let mut command = pams.command(&options);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let lines = || match fs::read_to_string(pams.path("out/journal.jsonl")) {
        Ok(text) => text.lines().count(),
        Err(_) => 0,
    };
    while lines() < 5 {
        let ended = child.try_wait().expect("the command can be asked");
        assert!(ended.is_none(), "the sweep ended by itself: {ended:?}");
        // The condition is the journal; this only leaves the processor to the sweep.
        thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Goes on with a sweep that was stopped, and sees that its table is that of one go.
fn resume(pams: &Pams) {
    let text = pams.read("out/journal.jsonl");
    let n_lines = text.lines().count() - usize::from(!text.ends_with('\n'));
    let seeds = format!("0..{}", n_lines + 10);
    let resumed = summary(pams, &["--seeds", &seeds, "--out", "out"]);
    let found = resumed["found"].as_u64().expect("a number");
    assert!((1..=n_lines as u64).contains(&found), "{found} of {n_lines}");
    let whole = summary(pams, &["--seeds", &seeds, "--out", "whole"]);
    assert_eq!(whole["found"], 0);
    assert_eq!(table(pams, "out"), table(pams, "whole"));
    assert_eq!(resumed["points"], whole["points"]);
}

#[test]
fn a_sweep_that_is_killed_goes_on_from_where_it_was() {
    let pams = Pams::new();
    let mut child = start(&pams);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert!(!pams.path("out/runs.parquet").exists());
    // As if it had been killed while it wrote.
    let mut text = pams.read("out/journal.jsonl");
    text.push_str("{\"point\":0,\"se");
    pams.write("out/journal.jsonl", text);
    resume(&pams);
}

#[test]
fn a_sweep_that_is_interrupted_ends_in_order_and_says_how_to_go_on() {
    let pams = Pams::new();
    let child = start(&pams);
    let status = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(status.expect("there is a kill command").success());
    let outcome = Outcome::from(child.wait_with_output().expect("the command ends"));
    let message = outcome.failure(130);
    let n_lines = pams.read("out/journal.jsonl").lines().count();
    let n_lines: Vec<char> = n_lines.to_string().chars().collect();
    let n_lines: Vec<String> = n_lines.rchunks(3).rev().map(|part| part.iter().collect()).collect();
    let expected = format!(
        "interrupted: {} of 10,000,000 runs are finished and kept in out\n  the same command goes on \
         from there\n",
        n_lines.join(",")
    );
    assert_eq!(message, expected);
    resume(&pams);
}

#[test]
fn another_sweep_in_the_folder_is_not_mixed_with_this_one() {
    let pams = Pams::new();
    let options = ["--seeds", "0..2", "--set", "Traders.noiseScale=0.001,0.002", "--out", "out"];
    sweep(&pams, &options).success();
    let before = table(&pams, "out");
    let refused = |options: &[&str]| sweep(&pams, options).failure(1);
    let advice = "; choose another `--out`, or `--overwrite` to remove it\n";
    let others: [(&[&str], &str); 4] = [
        (
            &["--set", "Traders.noiseScale=0.001,0.003"],
            "its parameters are Traders.noiseScale=0.001,0.002, and now \
             Traders.noiseScale=0.001,0.003",
        ),
        (&[], "its parameters are Traders.noiseScale=0.001,0.002, and now no parameters"),
        (
            &["--set", "Traders.noiseScale=0.001,0.002", "--prng", "mt19937"],
            "its generator is xoshiro256++, and now mt19937",
        ),
        (
            &["--set", "Traders.noiseScale=0.001,0.002", "--keep"],
            "it does not keep its runs, which has changed",
        ),
    ];
    for (other, what) in others {
        let message = refused(&[&["--seeds", "0..2", "--out", "out"], other].concat());
        assert_eq!(message, format!("error: out holds another sweep: {what}{advice}"));
    }

    // The form of the file does not matter, what it means does.
    pams.write("base.json", json(BASE).to_string());
    assert_eq!(summary(&pams, &options)["found"], 4);
    pams.write("base.json", BASE.replace("\"numAgents\": 10", "\"numAgents\": 11"));
    let what = "the config has changed since (base.json)";
    assert_eq!(refused(&options), format!("error: out holds another sweep: {what}{advice}"));
    let manifest = pams.read("out/sweep.json");
    let version = format!("\"pams_rs\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version), "{manifest}");
    pams.write("out/sweep.json", manifest.replace(&version, "\"pams_rs\": \"0.0.1\""));
    let message = refused(&options);
    assert!(
        message.contains("it was begun by version 0.0.1 of pams-rs, and this is "),
        "{message}"
    );
    assert_eq!(table(&pams, "out"), before);

    let overwritten = summary(&pams, &[&options[..], &["--overwrite"]].concat());
    assert_eq!((&overwritten["runs"], &overwritten["found"]), (&4.into(), &0.into()));
    assert_ne!(table(&pams, "out"), before);

    fs::create_dir(pams.path("mine")).unwrap();
    pams.write("mine/notes.txt", "mine");
    for more in [&[][..], &["--overwrite"]] {
        let message = refused(&[&["--seeds", "0", "--out", "mine"], more].concat());
        let expected =
            "error: mine holds other files and no sweep; choose a new or an empty folder\n";
        assert_eq!(message, expected);
    }
    let message = refused(&["--seeds", "0", "--out", "base.json"]);
    assert_eq!(message, "error: base.json can't be written: a part of its path is no directory\n");
}

/// A config with an agent of the user's that makes trouble.
fn troubled(pams: &Pams) {
    let mut config = json(BASE);
    config["simulation"]["agents"].as_array_mut().expect("a list").push("Trouble".into());
    config["Trouble"] = serde_json::json!({"class": "Troublemaker", "trouble": "none",
        "numAgents": 1, "markets": ["Spot"], "cashAmount": 1000, "assetVolume": 50});
    config["simulation"]["sessions"][1]["maxNormalOrders"] = 20.into();
    pams.write("trouble.json", config.to_string());
}

#[test]
fn runs_that_fail_are_listed_and_the_others_are_in_the_table() {
    let pams = Pams::new();
    troubled(&pams);
    let run = |out: &str, jobs: &str| {
        let options =
            ["--set", "Trouble.trouble=error,none,panic", "--seeds", "0..8", "--out", out];
        pams.run(&[&["sweep", "trouble.json", "--jobs", jobs], &options[..]].concat())
    };
    let outcome = run("out", "2");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let message = &outcome.stderr[outcome.stderr.find("error: ").expect("there is an error")..];
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "error: 16 of 24 runs failed");
    assert!(lines[1].starts_with("  Trouble.trouble=error, seed 0: step "), "{message}");
    assert!(lines[1].ends_with("agent Trouble: no more money"), "{message}");
    assert!(message.contains("agent Trouble: the agent panicked: no more patience"), "{message}");
    assert!(message.contains("Trouble.trouble=panic, seed 0: step "), "{message}");
    assert!(message.ends_with("  and 6 more in out/runs.parquet\n"), "{message}");
    assert!(outcome.stdout.contains("\n  failed    16\n"), "{}", outcome.stdout);

    // Neither who ran what nor trying again makes a difference.
    run("other", "1");
    assert_eq!(table(&pams, "out"), table(&pams, "other"));
    run("out", "2");
    assert_eq!(table(&pams, "out"), table(&pams, "other"));
    let failures = |text: &str| json(text)["failures"].as_array().unwrap().len();
    let options = ["--set", "Trouble.trouble=error,none,panic", "--seeds", "0..8", "--out", "out"];
    let again = ["sweep", "trouble.json", "--format", "json"];
    let outcome = pams.run(&[&again[..], &options].concat());
    assert_eq!(failures(&outcome.stdout), 16);
    assert_eq!(json(&outcome.stdout)["found"], 8);
}

#[test]
fn mistakes_are_found_before_the_first_run() {
    let pams = Pams::new();
    let refused = |parameter: &str| {
        let message =
            sweep(&pams, &["--set", parameter, "--seeds", "0", "--out", "out"]).failure(1);
        assert!(!pams.path("out").exists(), "{parameter}");
        message
    };
    for (parameter, message) in [
        ("Trader.noiseScale=1", "error: Trader: unknown key; did you mean `Traders`?\n"),
        (
            "simulation.sessions.2.iterationSteps=1",
            "error: simulation.sessions.2: the array has elements 0 to 1\n",
        ),
        (
            "Traders.noiseScal=0.1,0.2",
            "error: base.json with Traders.noiseScal=0.1 has a mistake\n  Traders.noiseScal: unknown \
             key; did you mean `noiseScale`?\n",
        ),
        (
            "Spot.MEMO=1,2",
            "error: Spot.MEMO: the config means the same with each of the values, so nothing uses \
             this key\n",
        ),
    ] {
        assert_eq!(refused(parameter), message);
    }
    // Each point is checked, not only the first.
    let message = refused("Traders.noiseScale=0.1,-0.1,0.2,much");
    let start =
        "error: base.json with Traders.noiseScale=much has a mistake\n  Traders.noiseScale: ";
    assert!(message.starts_with(start), "{message}");

    let usage = |options: &[&str]| sweep(&pams, options).failure(2);
    assert!(usage(&["--seeds", "3..3", "--out", "out"]).contains("the range `3..3` is empty"));
    assert!(usage(&["--seeds", "0", "--out", "out", "--set", "Spot"]).contains("has no values"));
    let twice = ["--set", "Traders.noiseScale=1", "--set", "Traders.noiseScale=2"];
    let message =
        sweep(&pams, &[&["--seeds", "0", "--out", "out"], &twice[..]].concat()).failure(1);
    assert_eq!(message, "error: Traders.noiseScale is given twice: put its values into one list\n");
    let message = sweep(&pams, &["--seeds", "0..100000001", "--out", "out"]).failure(1);
    assert_eq!(message, "error: a sweep has at most 100000000 runs: take fewer seeds or values\n");
    let message = pams.run(&["sweep", "missing.json", "--seeds", "0", "--out", "out"]).failure(1);
    assert_eq!(message, "error: missing.json can't be read: there is no such file or directory\n");
}

#[test]
fn kept_runs_can_be_replayed() {
    let pams = Pams::new();
    let options = ["--seeds", "4,5", "--set", "Traders.noiseScale=0.002", "--keep", "--out", "out"];
    sweep(&pams, &options).success();
    let hash = journal(&pams, "out")[1]["outcome"]["records_hash"].clone();
    let folder = "out/runs/point-0-seed-5";
    let replayed = pams.run(&["replay", folder]).success();
    let hash = hash.as_str().unwrap();
    assert_eq!(replayed, format!("{folder} is equal when it is run again: {hash}\n"));
    let names = fs::read_dir(pams.path("out/runs")).unwrap().count();
    assert_eq!(names, 2);
}

#[test]
fn the_summary_for_people() {
    let pams = Pams::new();
    let options = ["--seeds", "0..3", "--set", "Traders.noiseScale=0.001,0.002", "--out", "out"];
    insta::assert_snapshot!(sweep(&pams, &options).success());
    let quiet = sweep(&pams, &[&options[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, &*quiet.stdout, &*quiet.stderr), (Some(0), "", ""));
}

#[test]
fn two_sweeps_do_not_write_into_one_folder() {
    let pams = Pams::new();
    let mut child = start(&pams);
    let message = sweep(&pams, &["--seeds", "0..3", "--out", "out"]).failure(1);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(message, "error: another sweep writes into out now\n");
    assert!(Path::new(&pams.path("out/journal.jsonl")).exists());
}

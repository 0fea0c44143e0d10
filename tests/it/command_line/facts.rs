//! `pams facts` and `pams plot`.

use std::fs;

use serde_json::Value;

use super::Pams;

const ONE_MARKET: &str = r#"{
    "simulation": {
        "markets": ["Market"], "agents": ["Traders"],
        "sessions": [{"sessionName": "day", "iterationSteps": 60, "withOrderPlacement": true,
                      "withOrderExecution": true, "withPrint": false}]
    },
    "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
    "Traders": {"class": "TestAgent", "numAgents": 10, "markets": ["Market"],
                "cashAmount": 10000, "assetVolume": 50}
}"#;

/// Three seeds of one config, kept with the best prices of the book.
fn kept() -> Pams {
    let pams = Pams::new();
    for seed in ["1", "2", "3"] {
        let arguments =
            ["run", "base.json", "--seed", seed, "--out", "kept", "--depth", "3", "--quiet"];
        let run = pams.run(&arguments);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    pams
}

fn json(pams: &Pams, arguments: &[&str]) -> Value {
    let outcome = pams.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

/// The numbers come from the tables: they are those of the log.
#[test]
fn facts_are_those_of_the_log() {
    let pams = kept();
    let facts = json(&pams, &["facts", "kept/base-1", "--format", "json"]);
    let run = pams.run(&["run", "base.json", "--seed", "1", "--log", "log.jsonl", "--quiet"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let log = pams.read("log.jsonl");
    let records: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let markets = facts["runs"][0]["markets"].as_object().expect("markets");
    assert!(!markets.is_empty());
    let mut traded = 0.0;
    for (market, facts) in markets {
        let of = |kind: &'static str| {
            records.iter().filter(move |it| it["type"] == kind && it["market"] == **market)
        };
        let deviations: Vec<f64> = of("step")
            .map(|step| {
                let price = |key: &str| step[key].as_f64().expect("a price");
                (price("market_price") - price("fundamental_price")).abs()
            })
            .collect();
        let steps = deviations.len() as f64;
        let near = |key: &str, known: f64| {
            let ours = facts["facts"][key].as_f64().expect("a value");
            assert!(
                (ours - known).abs() < 1e-9 * known.abs().max(1.0),
                "{key}: {ours}, not {known}"
            );
        };
        near("deviation.mean_absolute", deviations.iter().sum::<f64>() / steps);
        near("returns.count", steps - 1.0);
        let volume: f64 = of("execution").map(|it| it["volume"].as_f64().expect("units")).sum();
        near("volume.mean", volume / steps);
        traded += volume;
    }
    assert!(traded > 0.0, "nothing was traded");
}

#[test]
fn means_over_runs_beside_real_prices() {
    let pams = kept();
    pams.write("prices.csv", "Date,Close\na,100\nb,101\nc,99\nd,100\ne,102\n");
    let runs = ["facts", "kept/base-1", "kept/base-2", "kept/base-3", "--against", "prices.csv"];
    let facts = json(&pams, &[runs.as_slice(), &["--format", "json"]].concat());
    let seeds: Vec<&Value> =
        facts["runs"].as_array().expect("runs").iter().map(|run| &run["seed"]).collect();
    assert_eq!(seeds, [1, 2, 3]);
    assert_eq!(facts["against"]["column"], "Close");
    assert_eq!(facts["against"]["facts"]["returns.count"], 4.0);
    assert_eq!(facts["against"]["facts"]["spread.quoted"], Value::Null);
    let (market, bands) =
        facts["bands"].as_object().expect("markets").iter().next().expect("one market");
    let band = &bands.as_array().expect("facts")[0];
    assert_eq!((&band["key"], &band["count"]), (&"returns.count".into(), &3.into()));
    let table = pams.run(&runs).stdout;
    assert!(table.contains(&format!("{market}: 3 runs, mean with 95 % confidence interval")));
    assert!(table.contains("real: column Close of prices.csv"));
    let longest = table.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(120), "{table}");
}

#[test]
fn a_warm_up_and_a_horizon() {
    let pams = kept();
    let count = |more: &[&str]| {
        let facts = json(&pams, &[&["facts", "kept/base-1", "--format", "json"], more].concat());
        let markets = facts["runs"][0]["markets"].as_object().expect("markets").clone();
        markets.values().next().expect("one")["facts"]["returns.count"].as_f64().expect("a number")
    };
    let all = count(&[]);
    assert_eq!(count(&["--first-step", "4"]).to_bits(), (all - 4.0).to_bits());
    assert_eq!(count(&["--horizon", "2"]).to_bits(), (all / 2.0).floor().to_bits());
}

#[test]
fn what_is_wrong_is_said() {
    let pams = kept();
    pams.write("two.csv", "a,b\n1,2\n");
    for (arguments, message) in [
        (["facts", "nowhere"].as_slice(), "nowhere"),
        (&["facts", "base.json"], "base.json"),
        (&["plot", "."], "."),
        (
            &["facts", "kept/base-1", "--against", "no.csv"],
            "error: no.csv can't be read: there is no such file or directory",
        ),
        (
            &["facts", "kept/base-1", "--against", "two.csv"],
            "error: two.csv: it is not clear which column has the prices; name one of: a, b",
        ),
        (&["plot", "kept/base-1", "--out", "base.json"], "error: base.json can't be written: "),
    ] {
        let outcome = pams.run(arguments);
        assert_eq!(outcome.code, Some(1), "{arguments:?}");
        assert!(outcome.stderr.contains(message), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
    for arguments in [
        ["facts", "kept/base-1", "--horizon", "0"].as_slice(),
        &["facts", "kept/base-1", "--tail", "1.5"],
        &["facts", "kept/base-1", "--column", "Close"],
        &["facts"],
    ] {
        assert_eq!(pams.run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn pictures_of_a_run() {
    let pams = kept();
    let plot = pams.run(&["plot", "kept/base-1", "kept/base-2", "--out", "pictures"]);
    assert_eq!(
        (plot.code, plot.stdout.as_str()),
        (Some(0), "pictures/report.html\n"),
        "{}",
        plot.stderr
    );
    let page = pams.read("pictures/report.html");
    assert!(page.contains("<title>base, seed 1</title>") && page.contains("mean over runs"));
    for ending in ["-prices.svg", "-depth.svg", "-report.svg", "-report.png"] {
        let files = fs::read_dir(pams.path("pictures")).expect("a folder");
        let names: Vec<String> = files
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(names.iter().any(|name| name.ends_with(ending)), "{ending} is not in {names:?}");
    }
    // What is marked comes from the config, and where from the sessions.
    assert!(page.contains("session "));
    let events = ["Shock", "Halt", "Mistake"];
    assert!(events.iter().any(|event| page.contains(event)), "no event is marked");
}

/// A report inside of a run folder leaves the run what it is.
#[test]
fn a_report_does_not_change_a_run() {
    let pams = Pams::new();
    pams.write("one.json", ONE_MARKET);
    pams.run(&["run", "one.json", "--seed", "1", "--out", "kept", "--quiet"]).success();
    let plot = pams.run(&["plot", "kept/one-1"]);
    assert_eq!(plot.stdout, "kept/one-1/report/report.html\n", "{}", plot.stderr);
    // Without depth there is no map of it, and one market needs no name.
    assert!(pams.path("kept/one-1/report/prices.svg").exists());
    assert!(!pams.path("kept/one-1/report/depth.svg").exists());
    let replay = pams.run(&["replay", "kept/one-1"]);
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

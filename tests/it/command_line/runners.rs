//! `pams run --runner …`: the choice never changes a result.

use serde_json::Value as Json;

use super::{Pams, shipped_config};

/// The hash and the number of workers of a run of the maker's sample, which has high-frequency
/// agents too.
fn run(arguments: &[&str]) -> (Json, Json) {
    let summary = summary("market_share-mm.json", arguments);
    (summary["records_hash"].clone(), summary["workers"].clone())
}

fn summary(config: &str, arguments: &[&str]) -> Json {
    let pams = Pams::new();
    pams.write("config.json", shipped_config(config));
    let mut all = vec!["run", "config.json", "--seed", "3", "--summary", "json", "--quiet"];
    all.extend_from_slice(arguments);
    let text = pams.run(&all).success();
    serde_json::from_str(&text).expect("a summary")
}

#[test]
fn every_runner_and_start_method_gives_the_same_hash() {
    let (expected, workers) = run(&[]);
    assert_eq!(workers, 0);
    for arguments in [
        &["--runner", "threads", "--num-parallel", "2"][..],
        &["--runner", "processes", "--num-parallel", "2"],
        &["--runner", "processes", "--num-parallel", "2", "--start-method", "spawn"],
        &["--runner", "processes", "--num-parallel", "2", "--start-method", "forkserver"],
        &["--runner", "processes", "--num-parallel", "2", "--start-method", "fork"],
        &["--runner", "torch", "--num-parallel", "2"],
    ] {
        let (hash, workers) = run(arguments);
        assert_eq!(hash, expected, "{arguments:?}");
        assert_eq!(workers, 2, "{arguments:?}");
    }
}

#[test]
fn neural_agents_give_the_same_hash_under_every_runner() {
    let expected = summary("candle.json", &["--torch-threads", "1"]);
    assert_eq!(expected.get("torch_threads"), None);
    for arguments in [
        &["--runner", "sequential"][..],
        &["--runner", "threads", "--num-parallel", "2"],
        &["--runner", "processes", "--num-parallel", "2"],
        &["--runner", "processes", "--num-parallel", "2", "--sharing-strategy", "file_system"],
    ] {
        let found = summary("candle.json", arguments);
        assert_eq!(found["records_hash"], expected["records_hash"], "{arguments:?}");
    }
    for (strategy, method) in
        [("file_system", "spawn"), ("file_descriptor", "fork"), ("file_system", "forkserver")]
    {
        let mut arguments = vec!["--runner", "torch", "--num-parallel", "2"];
        arguments.extend(["--torch-threads", "3"]);
        arguments.extend(["--sharing-strategy", strategy, "--start-method", method]);
        let found = summary("candle.json", &arguments);
        assert_eq!(found["records_hash"], expected["records_hash"], "{arguments:?}");
        assert_eq!(found["torch_threads"], 3, "{arguments:?}");
        assert_eq!(found["sharing_strategy"], strategy, "{arguments:?}");
    }
}

#[test]
fn candle_finds_its_threads_in_the_environment() {
    let pams = Pams::new();
    pams.write("config.json", shipped_config("candle.json"));
    for (set, arguments, expected) in [
        (None, &["--torch-threads", "2"][..], "2"),
        (Some("3"), &[], "3"),
        (Some("3"), &["--torch-threads", "2"], "2"),
    ] {
        // The log goes to a pipe that nobody reads, so that the run stands still.
        let mut command = pams.command(&["run", "config.json", "--seed", "1", "--log", "-"]);
        command.args(arguments).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::null());
        command.env_remove("RAYON_NUM_THREADS").env_remove("CANDLE_NUM_THREADS");
        if let Some(threads) = set {
            command.env("CANDLE_NUM_THREADS", threads);
        }
        let mut child = command.spawn().expect("the command starts");
        let mut first = [0];
        let output = child.stdout.as_mut().expect("a pipe");
        std::io::Read::read_exact(output, &mut first).expect("the log begins");
        let environment = std::fs::read(format!("/proc/{}/environ", child.id()));
        child.kill().expect("it stands still");
        child.wait().expect("it has ended");
        let environment = String::from_utf8_lossy(&environment.expect("it lives")).into_owned();
        for variable in ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"] {
            let found: Vec<_> = environment
                .split('\0')
                .filter_map(|entry| entry.strip_prefix(variable)?.strip_prefix('='))
                .collect();
            assert_eq!(found, [expected], "{variable} {set:?} {arguments:?}");
        }
    }
}

#[test]
fn neural_agents_from_standard_input_are_read_once() {
    let pams = Pams::new();
    pams.write("config.json", shipped_config("candle.json"));
    let mut command = pams.command(&["run", "-", "--seed", "3", "--summary", "json", "--quiet"]);
    command.stdin(std::fs::File::open(pams.path("config.json")).expect("the config is there"));
    let found: Json =
        serde_json::from_str(&super::Outcome::of(&mut command).success()).expect("a summary");
    assert_eq!(found["records_hash"], summary("candle.json", &[])["records_hash"]);
}

#[test]
fn a_run_whose_runner_is_chosen_has_the_same_hash_and_says_why() {
    for config in ["market_share-mm.json", "candle.json"] {
        let expected = summary(config, &[]);
        assert_eq!(expected.get("chosen"), None);
        let found = summary(config, &["--runner", "auto", "--num-parallel", "2"]);
        assert_eq!(found["records_hash"], expected["records_hash"], "{config}");
        assert_eq!(found["runner"], "auto");
        let chosen = found["chosen"].as_str().expect("a name");
        assert!(["sequential", "threads", "torch"].contains(&chosen), "{chosen}");
        let workers = if chosen == "sequential" { 0 } else { 2 };
        assert_eq!(found["workers"], workers, "{found}");
        let reason = found["reason"].as_str().expect("a reason");
        let facts = ["asking an agent takes", "no two agents are asked at the same time"];
        assert!(facts.iter().any(|fact| reason.starts_with(fact)), "{reason}");
    }
}

#[test]
fn the_choice_is_told_and_a_config_that_wants_fork_can_be_run() {
    let pams = Pams::new();
    let arguments =
        ["run", "base.json", "--seed", "1", "--runner", "auto", "--start-method", "fork"];
    let outcome = pams.run(&[&arguments[..], &["--num-parallel", "1"]].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(
        outcome.stderr.starts_with("runner sequential: ") && outcome.stderr.contains("elsewhere"),
        "{outcome:#?}"
    );
    assert!(outcome.stdout.contains(", auto: sequential)"), "{outcome:#?}");
}

#[test]
fn looking_whether_agents_are_pure_changes_no_hash() {
    let (expected, _) = run(&[]);
    for runner in ["sequential", "threads", "processes", "torch", "auto"] {
        let (hash, _) = run(&["--check-pure", "--runner", runner, "--num-parallel", "2"]);
        assert_eq!(hash, expected, "{runner}");
    }
}

#[test]
fn an_agent_that_is_not_pure_is_named_by_every_runner() {
    let pams = Pams::new();
    pams.write(
        "impure.json",
        r#"{
        "simulation": {"markets": ["Market"], "agents": ["Agents"], "sessions": [
            {"sessionName": 0, "iterationSteps": 20, "withOrderPlacement": true,
             "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 2}]},
        "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
        "Agents": {"class": "Troublemaker", "numAgents": 2, "markets": ["Market"],
                   "cashAmount": 10000, "assetVolume": 50, "trouble": "constant"}
    }"#,
    );
    let message = |runner: &str| {
        let arguments = ["run", "impure.json", "--seed", "1", "--num-parallel", "2", "--quiet"];
        let more = ["--check-pure", "--runner", runner];
        pams.run(&[&arguments[..], &more].concat()).failure(1)
    };
    let expected = message("sequential");
    assert!(
        expected.contains("agent Agents-") && expected.contains("class Troublemaker is not pure")
    );
    for runner in ["threads", "processes", "torch", "auto"] {
        assert_eq!(message(runner), expected, "{runner}");
    }
}

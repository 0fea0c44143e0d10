//! Processes that are killed, and systems that have little to give.

use std::process::Command;

use serde_json::Value as Json;

use crate::command_line::Pams;

/// A config of a hundred agents with networks of their own, each of 6 tensors.
const NETWORKS: &str = r#"{
    "simulation": {"markets": ["Market"], "agents": ["Networks"], "sessions": [
        {"sessionName": 0, "iterationSteps": 10, "withOrderPlacement": true,
         "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 8}]},
    "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
    "Networks": {"class": "CandleAgent", "numAgents": 100, "markets": ["Market"],
                 "cashAmount": 10000, "assetVolume": 50, "hiddenSizes": [64, 64]}
}"#;

/// Runs the program that kills.
#[track_caller]
fn faults(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_pams-faults"))
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {output:#?}");
}

#[test]
fn workers_killed_at_random_moments_change_nothing() {
    faults(&["workers", "500", "processes", "2"]);
    faults(&["workers", "500", "torch", "3"]);
}

#[test]
fn nothing_is_left_of_a_run_that_was_killed() {
    if is_root() {
        faults(&["main", "50", "2"]);
    }
}

/// The command behind a shell's preparations, whose mounts are its own.
fn prepared(pams: &Pams, preparation: &str, arguments: &[&str]) -> std::process::Output {
    let words = ["run", "config.json", "--seed", "1", "--runner", "torch", "--num-parallel", "2"];
    let run = pams.command(&[&words[..], arguments].concat());
    let shell: &[&str] = if is_root() { &["unshare", "--mount", "sh"] } else { &["sh"] };
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", &format!("{preparation} && exec \"$0\" \"$@\"")]);
    command.arg(run.get_program()).args(run.get_args());
    command.current_dir(run.get_current_dir().expect("it has a folder"));
    command.output().expect("there is a shell")
}

fn hash(output: &std::process::Output) -> Json {
    assert!(output.status.success(), "{output:#?}");
    let summary: Json = serde_json::from_slice(&output.stdout).expect("a summary");
    summary["records_hash"].clone()
}

#[test]
fn a_full_dev_shm_is_an_error_with_both_sizes() {
    let pams = Pams::new();
    pams.write("config.json", NETWORKS);
    if !is_root() {
        // Mounting needs it.
        return;
    }
    let small = "mount -t tmpfs -o size=1m tmpfs /dev/shm";
    let full = prepared(&pams, small, &["--sharing-strategy", "file_system"]);
    let message = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(1), "{full:#?}");
    for words in ["config.json: Networks: no room for arena", "asked ", " bytes, free "] {
        assert!(message.contains(words), "{words} in {message}");
    }
    // Memory without a name does not lie there.
    let summary = ["--sharing-strategy", "file_descriptor", "--summary", "json", "--quiet"];
    assert_eq!(hash(&prepared(&pams, small, &summary)), hash(&prepared(&pams, "true", &summary)));
}

#[test]
fn six_hundred_tensors_need_few_descriptors() {
    let pams = Pams::new();
    pams.write("config.json", NETWORKS);
    let summary = ["--summary", "json", "--quiet"];
    let expected = hash(&prepared(&pams, "true", &summary));
    for strategy in ["file_system", "file_descriptor"] {
        let arguments = [&summary[..], &["--sharing-strategy", strategy]].concat();
        let found = prepared(&pams, "ulimit -n 64", &arguments);
        assert_eq!(hash(&found), expected, "{strategy}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

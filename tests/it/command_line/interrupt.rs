//! Ctrl-C ends a run in order.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::{BASE, Outcome, Pams};

/// A run that is much longer than a test may be.
fn start(pams: &Pams, arguments: &[&str]) -> Child {
    let long = BASE.replace("\"iterationSteps\": 30", "\"iterationSteps\": 1000000000");
    pams.write("long.json", long);
    let mut command = pams.command(&[&["run", "long.json"], arguments].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(status.expect("there is a kill command").success());
}

#[test]
fn the_log_has_all_records_up_to_there() {
    let pams = Pams::new();
    let mut child = start(&pams, &["--seed", "1", "--log", "run.jsonl"]);
    let log = pams.path("run.jsonl");
    while fs::metadata(&log).map_or(0, |metadata| metadata.len()) == 0 {
        let ended = child.try_wait().expect("the command can be asked");
        assert!(ended.is_none(), "the run ended by itself: {ended:?}");
        // The condition is the log; this only leaves the processor to the run.
        thread::sleep(Duration::from_millis(1));
    }
    interrupt(&child);
    let outcome = Outcome::from(child.wait_with_output().expect("the command ends"));
    let message = outcome.failure(130);
    let (first, rest) = message.split_once('\n').expect("there are two lines");
    let step = first.strip_prefix("interrupted at step ").expect("it says where");
    assert_eq!(rest, "  run.jsonl has all records up to there\n");

    let log = pams.read("run.jsonl");
    assert!(log.ends_with("}\n"), "the last line is complete");
    let records = log.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    let is_step = |record: &Json| record["type"] == "step";
    let last = records.rev().find(is_step).expect("there are steps");
    let step: u64 = step.parse().expect("a step is a number");
    assert_eq!(last["time"], step - 1, "the last step of the log is over");
    assert_eq!(last["market"], "Index");
}

#[test]
fn the_steps_are_complete_and_the_drawn_seed_is_told() {
    let pams = Pams::new();
    let mut child = start(&pams, &["--print", "steps"]);
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("there is a line");
    interrupt(&child);
    // Reading goes on, or the run could not write what it still holds.
    let mut last = String::new();
    for line in output.lines() {
        last = line.expect("the steps are text");
    }
    assert_eq!(last.split(' ').count(), 6, "{last}");
    let outcome = Outcome::from(child.wait_with_output().expect("the command ends"));
    let message = outcome.failure(130);
    assert!(message.contains("\n  the seed was "), "{message}");
}

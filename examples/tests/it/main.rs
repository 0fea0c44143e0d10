//! The examples run and tell what they promise, and their config has no mistakes.

use std::process::Command;

use pams_examples::{config_path, registry};
use pams_runner::SequentialRunner;

/// The output of an example that ends well.
#[track_caller]
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the example starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[test]
fn run_config_runs_the_default_and_any_other() {
    let program = env!("CARGO_BIN_EXE_run_config");
    insta::assert_snapshot!(run(program, &[]));
    insta::assert_snapshot!(run(program, &[&config_path("configs/shock_transfer.json")]));
}

#[test]
fn run_config_fails_in_order() {
    let output = Command::new(env!("CARGO_BIN_EXE_run_config")).arg("missing.json").output();
    let output = output.expect("the example starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing.json"), "{output:?}");
}

#[test]
fn own_classes_shows_what_the_fee_does() {
    insta::assert_snapshot!(run(env!("CARGO_BIN_EXE_own_classes"), &[]));
}

#[test]
fn user_class_runs_a_class_under_an_old_name() {
    insta::assert_snapshot!(run(env!("CARGO_BIN_EXE_user_class"), &[]));
}

/// The lines of an output, each as what it is about and the hash behind it.
fn hashes(output: &str) -> Vec<(&str, &str)> {
    let lines = output.lines().filter_map(|line| line.split_once("blake3:"));
    lines.map(|(before, hash)| (before, hash.trim())).collect()
}

#[test]
fn thread_runner_has_the_same_records_with_any_number_of_threads() {
    let output = run(env!("CARGO_BIN_EXE_thread_runner"), &[]);
    let lines = hashes(&output);
    assert_eq!(lines.len(), 3, "{output}");
    for (before, hash) in &lines {
        assert!(before.contains(" 1200 orders, "), "{output}");
        assert_eq!(*hash, lines[0].1, "{output}");
    }
}

#[test]
fn process_runner_loses_a_worker_and_no_record() {
    let program = env!("CARGO_BIN_EXE_process_runner");
    let output = Command::new(program).output().expect("the example starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("a worker was killed by SIGABRT"), "{errors}");
    let output = String::from_utf8(output.stdout).expect("output is UTF-8");
    let [(_, sequential), (processes, hash)] = hashes(&output)[..] else {
        panic!("two runs: {output}");
    };
    assert!(processes.starts_with("processes    1200 orders, "), "{output}");
    assert_eq!(hash, sequential);
}

#[test]
fn the_configs_with_own_classes_have_no_mistakes_and_no_warnings() {
    for name in ["own_classes.json", "deliberation.json"] {
        check(&config_path(name));
    }
}

#[track_caller]
fn check(path: &str) {
    let builder = SequentialRunner::builder().registry(registry()).config_path(path);
    let settings = builder.check().expect("the config has no mistakes");
    assert_eq!(settings.warnings, []);

    let text = std::fs::read_to_string(path).expect("the config is there");
    let config: serde_json::Value = serde_json::from_str(&text).expect("the config is JSON");
    let schema = pams_config::schema(&registry());
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<_> = validator.iter_errors(&config).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
}

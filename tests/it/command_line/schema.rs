//! `pams schema` and the shipped configs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value as Json;

use super::{BASE, Pams, shipped_configs};

fn errors(schema: &Json, text: &str) -> Vec<String> {
    let config = serde_json::from_str(text).expect("the config is JSON");
    let validator = jsonschema::validator_for(schema).expect("the schema is one");
    validator.iter_errors(&config).map(|error| error.to_string()).collect()
}

fn schema() -> Json {
    serde_json::from_str(&Pams::new().run(&["schema"]).success()).expect("a schema is JSON")
}

#[test]
fn every_shipped_config_is_valid() {
    let schema = schema();
    jsonschema::meta::validate(&schema).expect("the schema is one");
    for path in shipped_configs() {
        let text = fs::read_to_string(&path).expect("the config is readable");
        assert_eq!(errors(&schema, &text), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn a_mistake_is_not_valid() {
    let schema = schema();
    assert_eq!(errors(&schema, BASE), Vec::<String>::new());
    for (from, to) in [
        ("\"noiseScale\"", "\"noiseScales\""),
        ("\"tickSize\": 0.01", "\"tickSize\": \"0.01\""),
        ("\"FCNAgent\"", "\"FCNAgents\""),
        ("\"iterationSteps\": 20", "\"iterationSteps\": -20"),
        ("\"withPrint\": true}", "\"withPrint\": 1}"),
    ] {
        assert!(BASE.contains(from));
        let text = BASE.replacen(from, to, 1);
        assert_ne!(errors(&schema, &text), Vec::<String>::new(), "{to}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let pams = Pams::new();
    let mut command = pams.command(&["schema"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut first = String::new();
    let mut output = BufReader::with_capacity(2, child.stdout.take().expect("it is piped"));
    output.read_line(&mut first).expect("there is a line");
    assert_eq!(first, "{\n");
    drop(output);
    let outcome = child.wait_with_output().expect("the command ends");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, b"");
}

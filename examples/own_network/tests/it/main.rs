//! The agent runs on every runner, its config has no mistakes, and its weights come from a file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use candle_core::{Device, Tensor};
use pams_candle::SharedModel;
use pams_own_network::{Convolution, Sizes, config_path, registry};
use pams_runner::SequentialRunner;
use serde_json::Value as Json;

fn config() -> Json {
    let text = std::fs::read_to_string(config_path()).expect("the config is there");
    serde_json::from_str(&text).expect("the config is JSON")
}

/// Weights all of whose answers follow by hand: both convolutions pass on their newest value in the
/// first channel, and the output doubles it.
fn write_weights(path: &Path) {
    let tensor = |values: &[f32], shape: &[usize]| {
        Tensor::from_slice(values, shape, &Device::Cpu).expect("a tensor")
    };
    let newest = [0.0, 0.0, 0.0, 0.0, 1.0];
    let mut second = [0.0; 20];
    second[..5].copy_from_slice(&newest);
    let mut first = [0.0; 10];
    first[..5].copy_from_slice(&newest);
    let tensors = BTreeMap::from([
        ("first.weight", tensor(&first, &[2, 1, 5])),
        ("first.bias", tensor(&[0.0, 0.0], &[2])),
        ("second.weight", tensor(&second, &[2, 2, 5])),
        ("second.bias", tensor(&[0.0, 0.0], &[2])),
        ("output.weight", tensor(&[2.0, 0.0], &[1, 2])),
        ("output.bias", tensor(&[0.25], &[1])),
        ("optimizer.step", tensor(&[7.0], &[1])),
    ]);
    safetensors::serialize_to_file(tensors, None, path).expect("it is written");
}

#[test]
fn every_runner_has_the_same_records() {
    let output = Command::new(env!("CARGO_BIN_EXE_pams-own-network"))
        .env("RAYON_NUM_THREADS", "1")
        .env("CANDLE_NUM_THREADS", "1")
        .output()
        .expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let output = String::from_utf8(output.stdout).expect("output is UTF-8");
    let lines: Vec<_> = output.lines().filter_map(|line| line.split_once(' ')).collect();
    let names: Vec<_> = lines.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["sequential", "threads", "processes", "torch"]);
    let records = lines[0].1.trim();
    assert!(records.starts_with("2400 orders, ") && records.contains("blake3:"), "{output}");
    assert!(lines.iter().all(|(_, line)| line.trim() == records), "{output}");
}

#[test]
fn the_config_has_no_mistakes_and_fits_the_schema() {
    let builder = SequentialRunner::builder().registry(registry()).config_path(config_path());
    let settings = builder.check().expect("the config has no mistakes");
    assert_eq!(settings.warnings, []);
    let schema = pams_config::schema(&registry());
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<_> = validator.iter_errors(&config()).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn mistakes_in_the_sizes_are_named() {
    for (key, value, expected) in [
        ("historyLength", 8, "Convolutions.historyLength: two convolutions need at least 9 steps"),
        ("channels", 0, "Convolutions.channels: a convolution has at least 1 channel"),
    ] {
        let mut config = config();
        config["Convolutions"][key] = value.into();
        let builder = SequentialRunner::builder().registry(registry()).config_value(config);
        let error = builder.check().expect_err("a mistake").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn weights_are_loaded_by_name_and_give_the_answers_that_follow() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    write_weights(&path);
    let model = SharedModel::<Convolution>::load(&Sizes { channels: 2 }, &path);
    let model = model.expect("the weights fit");
    // The last value of nine meets both newest places: one pattern remains.
    let series = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5];
    let answer = model.get().expect("it is built").ask(&series).expect("it is long enough");
    let expected = 0.25 + 2.0 * 0.5f64.tanh().tanh();
    assert!((f64::from(answer) - expected).abs() < 1e-6, "{answer}, expected {expected}");

    let error = SharedModel::<Convolution>::load(&Sizes { channels: 3 }, &path);
    let error = error.expect_err("another number of channels").to_string();
    assert!(error.contains("model.safetensors: shape mismatch for first.weight"), "{error}");
}

#[test]
fn a_config_may_name_the_weights() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    write_weights(&path);
    let mut config = config();
    config["Convolutions"]["channels"] = 2.into();
    config["Convolutions"]["weights"] = path.to_str().expect("the path is UTF-8").into();
    let run = |config: Json| {
        let builder = SequentialRunner::builder().registry(registry()).config_value(config);
        builder.build().and_then(pams_runner::Runner::run).expect("it runs").records_hash
    };
    let loaded = run(config.clone());
    config["Convolutions"].as_object_mut().expect("a block").remove("weights");
    assert_ne!(loaded, run(config));
}

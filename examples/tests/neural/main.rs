//! The examples with neural agents run and tell what they promise.

use std::path::Path;
use std::process::Command;

use pams_agent::Registry;
use pams_candle::Networks;
use pams_core::random::GeneratorKind;
use pams_examples::config_path;
use pams_runner::{MemorySaver, SequentialRunner};
use serde_json::Value as Json;

/// The output of an example that ends well.
#[track_caller]
fn run(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).env("RAYON_NUM_THREADS", "1").env("CANDLE_NUM_THREADS", "1");
    let output = command.output().expect("the example starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[test]
fn both_runners_have_the_same_records() {
    let output = run(env!("CARGO_BIN_EXE_torch_runner"), &[]);
    let [torch, sequential] = output.lines().collect::<Vec<_>>()[..] else {
        panic!("two lines: {output}");
    };
    assert!(torch.contains(" 4000 orders, "), "{output}");
    let records = |line: &str| line.split_once(' ').map(|(_, records)| records.trim().to_owned());
    assert_eq!(records(torch), records(sequential));
}

#[test]
fn the_model_of_each_worker_is_asked() {
    let output = run(env!("CARGO_BIN_EXE_worker_initializer"), &[]);
    assert!(output.starts_with("800 orders, "), "{output}");
}

#[test]
fn a_network_learns_and_two_hundred_agents_share_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("the path is UTF-8");
    let output = run(env!("CARGO_BIN_EXE_train_network"), &[path, "5"]);
    let losses: Vec<f64> = output
        .lines()
        .filter_map(|line| line.strip_prefix("epoch ")?.split_once("loss ")?.1.split(',').next())
        .map(|loss| loss.parse().expect("a number"))
        .collect();
    assert_eq!(losses.len(), 6, "{output}");
    assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{output}");
    assert!(output.contains("200 agents share it: 4000 orders, "), "{output}");
    // What it left behind runs again, with the same records.
    let (_, hash) = output.trim_end().rsplit_once('\n').expect("several lines");
    let report = sequential(folder.path().join("config.json"));
    assert_eq!(report.records_hash.expect("it is made").to_string(), hash);
}

fn sequential(config: impl AsRef<Path>) -> pams_runner::RunReport {
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    let builder = SequentialRunner::builder().registry(registry).config_path(config).seed(42);
    builder.build().and_then(pams_runner::Runner::run).expect("it runs")
}

#[test]
fn networks_of_pytorch_answer_as_they_do_there() {
    let text = std::fs::read_to_string(config_path("pytorch/expected.json"));
    let expected: Vec<Json> =
        serde_json::from_str(&text.expect("it is there")).expect("it is JSON");
    let text = std::fs::read_to_string(config_path("configs/pytorch.json"));
    let config: Json = serde_json::from_str(&text.expect("it is there")).expect("it is JSON");
    let names: Vec<String> =
        serde_json::from_value(config["Named"]["layerNames"].clone()).expect("names");

    let (sizes, path) = ([16, 8, 8, 1], |name| config_path(&format!("pytorch/{name}.pth")));
    let sequential = Networks::load(Path::new(&path("sequential")), &sizes);
    let named = Networks::load_layers(Path::new(&path("named")), &names, &sizes);
    for (key, networks) in [("sequential", sequential), ("named", named)] {
        let network = networks.unwrap_or_else(|error| panic!("{error}")).network(0);
        assert_eq!(expected.len(), 6);
        for one in &expected {
            let row: Vec<f32> = serde_json::from_value(one["row"].clone()).expect("floats");
            let answer = f64::from(network.ask(&row).expect("it fits"));
            let theirs = one[key].as_f64().expect("a number");
            assert!((answer - theirs).abs() < 1e-6, "{key}: {answer}, PyTorch: {theirs}");
        }
    }
    // Without the names, what belongs to training is in the way.
    let error = Networks::load(Path::new(&path("named")), &sizes).expect_err("a layer too many");
    assert!(error.to_string().contains("layerNames"), "{error}");
}

/// Orders are for whole ticks of 0.01; answers of the two libraries differ in the last bits at most.
#[test]
fn prices_are_those_of_the_same_agents_with_pytorch_on_pams() {
    let text = std::fs::read_to_string(config_path("pytorch/prices.json"));
    let theirs: Vec<f64> = serde_json::from_str(&text.expect("it is there")).expect("floats");
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    let mut saver = MemorySaver::default();
    let builder = SequentialRunner::builder()
        .registry(registry)
        .config_path(config_path("configs/follower.json"))
        .generator(GeneratorKind::Mt19937)
        .seed(42)
        .logger(&mut saver);
    builder.build().and_then(pams_runner::Runner::run).expect("it runs");
    let ours: Vec<f64> = saver.market_prices("Market").map(|(_, price)| price).collect();
    assert_eq!(ours.len(), theirs.len());
    for (step, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!((ours - theirs).abs() < 1e-5, "step {step}: {ours}, PyTorch on PAMS: {theirs}");
    }
}

#[test]
fn the_config_with_networks_of_pytorch_runs() {
    let report = sequential(config_path("configs/pytorch.json"));
    assert_eq!(report.steps, 500);
    assert!(report.executions > 0);
}

//! Networks from files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use pams_candle::{ErrorKind, Networks};

const SIZES: [usize; 3] = [4, 3, 1];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data").join(name)
}

/// What the network of the files answers to a row, computed in 64 bits.
fn expected(row: [f64; 4]) -> f64 {
    let neuron = |first: f64, bias: f64| {
        let weights = (0..4).map(|index| f64::from(index) / 10.0 + first);
        weights.zip(row).map(|(weight, x)| weight * x).sum::<f64>() + bias
    };
    let hidden = [neuron(0.1, -0.1), neuron(0.5, 0.0), neuron(0.9, 0.1)].map(f64::tanh);
    0.5 * hidden[0] - 0.25 * hidden[1] + hidden[2] + 0.75
}

fn check(networks: &Networks) {
    let answer = networks.network(0).ask(&[0.5, -1.0, 0.25, 0.0]).expect("it fits");
    let expected = expected([0.5, -1.0, 0.25, 0.0]);
    assert!((f64::from(answer) - expected).abs() < 1e-6, "{answer}, expected {expected}");
}

fn write_safetensors(path: &Path, names: [&str; 4]) {
    let tensor = |values: &[f32], shape: &[usize]| {
        Tensor::from_slice(values, shape, &Device::Cpu).expect("a tensor")
    };
    let weights: Vec<f32> = (1u8..13).map(|n| f32::from(n) / 10.0).collect();
    let tensors = [
        tensor(&weights, &[3, 4]),
        tensor(&[-0.1, 0.0, 0.1], &[3]),
        tensor(&[0.5, -0.25, 1.0], &[1, 3]),
        tensor(&[0.75], &[1]),
    ];
    let named: BTreeMap<&str, Tensor> = names.into_iter().zip(tensors).collect();
    safetensors::serialize_to_file(named, None, path).expect("it can be written");
}

#[test]
fn state_dicts_of_pytorch_are_loaded_at_the_top_and_below_a_key() {
    for name in ["sequential.pth", "checkpoint.pth"] {
        check(&Networks::load(&data(name), &SIZES).unwrap_or_else(|error| panic!("{error}")));
    }
}

#[test]
fn safetensors_are_loaded_whatever_their_layers_are_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    for names in [
        ["0.weight", "0.bias", "2.weight", "2.bias"],
        ["net.9.weight", "net.9.bias", "net.10.weight", "net.10.bias"],
        ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"],
    ] {
        write_safetensors(&path, names);
        check(&Networks::load(&path, &SIZES).unwrap_or_else(|error| panic!("{error}")));
    }
}

#[test]
fn what_is_no_such_network_is_refused_with_file_layers_and_shapes() {
    let text = |name: &str, sizes: &[usize]| {
        let error = Networks::load(&data(name), sizes).expect_err("another network");
        assert_eq!(error.kind(), ErrorKind::Shape);
        error.to_string()
    };
    let error = text("sequential.pth", &[32, 64, 64, 1]);
    for part in [
        "sequential.pth: its layers (0.weight, 2.weight)",
        "[[3, 4], [1, 3]], expected [[64, 32], [64, 64], [1, 64]]",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let error = text("normalized.pth", &SIZES);
    assert!(error.contains("normalized.pth: 1.weight belongs to no linear layer; "), "{error}");
}

/// Two hidden layers that could change places.
fn write_square(path: &Path, names: [&str; 3]) {
    let layer = |first: f32, n_outputs: usize| {
        let values = (0u8..).map(|n| f32::from(n) / 8.0 + first).take(4 * n_outputs).collect();
        Tensor::from_vec(values, (n_outputs, 4), &Device::Cpu).expect("a tensor")
    };
    let tensors = [layer(0.0, 4), layer(-1.0, 4), layer(0.5, 1)];
    let named = names.map(|name| format!("{name}.weight")).into_iter().zip(tensors);
    let named: BTreeMap<String, Tensor> = named.collect();
    safetensors::serialize_to_file(named, None, path).expect("it can be written");
}

fn ask(networks: &Networks) -> u32 {
    networks.network(0).ask(&[0.5, -1.0, 0.25, 0.0]).expect("it fits").to_bits()
}

#[test]
fn an_order_that_names_do_not_tell_is_asked_for() {
    const SQUARE: [usize; 4] = [4, 4, 4, 1];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    write_square(&path, ["encoder", "body", "head"]);
    let error = Networks::load(&path, &SQUARE).expect_err("a guess").to_string();
    let expected = "body.weight and encoder.weight do not tell which comes first: layerNames";
    assert!(error.contains(expected), "{error}");

    let names = |names: [&str; 3]| names.map(str::to_owned);
    let load = |order: [&str; 3]| Networks::load_layers(&path, &names(order), &SQUARE);
    let right = ask(&load(["encoder", "body", "head"]).expect("the layers fit"));
    let other = ask(&load(["body", "encoder", "head"]).expect("the layers fit"));
    assert_ne!(right, other);
    // Numbers do tell it.
    write_square(&path, ["net.0", "net.2", "net.10"]);
    assert_eq!(ask(&Networks::load(&path, &SQUARE).expect("the layers fit")), right);
}

#[test]
fn layers_that_are_named_leave_the_rest_of_a_file_alone() {
    let names = ["0", "2"].map(str::to_owned);
    let load = |name: &str| Networks::load_layers(&data(name), &names, &SIZES);
    check(&load("normalized.pth").unwrap_or_else(|error| panic!("{error}")));
    check(&load("checkpoint.pth").unwrap_or_else(|error| panic!("{error}")));
}

#[test]
fn names_that_are_not_in_a_file_or_do_not_fit_are_refused() {
    let error = |names: [&str; 2]| {
        let names = names.map(str::to_owned);
        let loaded = Networks::load_layers(&data("normalized.pth"), &names, &SIZES);
        let error = loaded.expect_err("another network");
        assert_eq!(error.kind(), ErrorKind::Shape);
        error.to_string()
    };
    let missing = error(["0", "head"]);
    assert!(missing.contains("normalized.pth: there is no head.weight among "), "{missing}");
    assert!(missing.ends_with(": 1.weight, 2.bias, 2.weight"), "{missing}");
    let vector = error(["0", "1"]);
    assert!(vector.ends_with("1.weight has the shape [3], and a linear layer is a matrix"));
    let swapped = error(["2", "0"]);
    assert!(swapped.contains("its layers (2.weight, 0.weight) have the shapes"), "{swapped}");
}

#[test]
fn files_that_are_not_there_or_of_another_kind_are_named() {
    let text = |path: &Path| {
        let error = Networks::load(path, &SIZES).expect_err("no weights");
        assert_eq!(error.kind(), ErrorKind::File);
        error.to_string()
    };
    for name in ["missing.pth", "missing.safetensors"] {
        assert!(text(&data(name)).contains(name), "{}", text(&data(name)));
    }
    let error = text(&data("write_pth.py"));
    assert!(error.ends_with("weights are read from .safetensors, .pt and .pth files"), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["no.pth", "no.safetensors"] {
        let path = folder.path().join(name);
        std::fs::write(&path, "these are no weights").expect("it can be written");
        assert!(text(&path).contains(name), "{}", text(&path));
    }
}

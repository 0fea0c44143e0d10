//! Models of one's own: drawn from seeds, loaded from files, sent as handles.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Module as _, Result, Tensor};
use candle_nn::{Init, LayerNorm, Linear, VarBuilder, layer_norm, linear};
use pams_candle::{ErrorKind, Model, SharedModel};
use tensor_share::ZeroCopy;

/// Has tensors of all kinds of beginnings.
#[derive(Debug)]
struct Mixed {
    norm: LayerNorm,
    output: Linear,
    normal: Tensor,
}

impl Model for Mixed {
    type Sizes = usize;

    fn build(&inputs: &usize, weights: VarBuilder<'static>) -> Result<Self> {
        let init = Init::Randn { mean: 3.0, stdev: 0.5 };
        Ok(Self {
            norm: layer_norm(inputs, 1e-5, weights.pp("norm"))?,
            output: linear(inputs, 1, weights.pp("output"))?,
            normal: weights.get_with_hints(10_000, "normal", init)?,
        })
    }
}

fn ask(model: &SharedModel<Mixed>) -> u32 {
    let model = model.get().expect("it is built");
    let x = Tensor::new(&[[0.5f32, -1.0, 2.0, 0.0]], &Device::Cpu).expect("a row");
    let answer = model.norm.forward(&x).and_then(|x| model.output.forward(&x));
    let answer = answer.and_then(|y| y.reshape(())).and_then(|y| y.to_scalar::<f32>());
    answer.expect("it fits").to_bits()
}

fn draw(seeds: &[u64]) -> Vec<SharedModel<Mixed>> {
    SharedModel::draw(&4, seeds).expect("there is room")
}

#[test]
fn a_model_depends_on_its_seed_alone() {
    let (few, many) = (draw(&[1, 2]), draw(&[3, 2, 1]));
    assert_eq!(ask(&few[0]), ask(&many[2]));
    assert_eq!(ask(&few[1]), ask(&many[1]));
    assert_ne!(ask(&few[0]), ask(&few[1]));
    assert_eq!(many[0].arena().id(), many[2].arena().id());
    assert_eq!(many[0].arena().zero_copy(), ZeroCopy::Shared);
}

#[test]
fn tensors_begin_as_the_model_asks() {
    let models = draw(&[7]);
    let model = models[0].get().expect("it is built");
    assert_eq!(model.norm.weight().to_vec1::<f32>().expect("floats"), [1.0; 4]);
    let values: Vec<f64> =
        model.normal.to_vec1::<f32>().expect("floats").into_iter().map(f64::from).collect();
    let mean = values.iter().sum::<f64>() / 1e4;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1e4;
    assert!((mean - 3.0).abs() < 0.02 && (variance.sqrt() - 0.5).abs() < 0.02, "{mean} {variance}");
    // Uniform within one over the root of four inputs.
    let bias = model.output.bias().expect("a bias").to_vec1::<f32>().expect("floats")[0];
    assert!(bias.abs() <= 0.5 && bias != 0.0, "{bias}");
}

#[test]
fn a_model_travels_as_a_few_dozen_bytes() {
    let models = draw(&[1, 2]);
    let written = serde_json::to_string(&models[1]).expect("it can be written");
    assert!(written.len() < 150, "{written}");
    let copy: SharedModel<Mixed> = serde_json::from_str(&written).expect("the arena is open here");
    assert_eq!(ask(&copy), ask(&models[1]));
    assert_eq!(ask(&copy.clone()), ask(&models[1]));
}

/// Asks for what can't be drawn or shared.
#[derive(Debug)]
struct Odd;

impl Model for Odd {
    type Sizes = u8;

    fn build(&kind: &u8, weights: VarBuilder<'static>) -> Result<Self> {
        match kind {
            0 => weights.get_with_hints_dtype(2, "wide", Init::Const(0.0), DType::F64)?,
            1 => weights.get_unchecked("shapeless")?,
            _ => {
                weights.get(2, "twice")?;
                weights.get(3, "twice")?
            }
        };
        Ok(Self)
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    for (kind, expected) in [
        (0, "wide is asked for as F64: shared models are in 32 bits"),
        (1, "shapeless is asked for without a shape, with which it can't be drawn"),
        (2, "twice is asked for with the shapes [2] and [3]"),
    ] {
        let error = SharedModel::<Odd>::draw(&kind, &[1]).expect_err("it is odd").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_model_is_loaded_by_the_names_of_its_tensors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    let drawn = draw(&[5]).remove(0);
    let names = ["norm.weight", "norm.bias", "output.weight", "output.bias", "normal"];
    let tensor = |name: &str| drawn.arena().tensor(&format!("0.{name}")).expect("it is there");
    // In more bits than are needed, and beside something else.
    let mut tensors: BTreeMap<String, Tensor> = names
        .iter()
        .map(|name| ((*name).to_owned(), tensor(name).to_dtype(DType::F64).expect("floats")))
        .collect();
    tensors.insert("step".to_owned(), Tensor::new(7u32, &Device::Cpu).expect("a number"));
    safetensors::serialize_to_file(&tensors, None, &path).expect("it can be written");
    let loaded = SharedModel::<Mixed>::load(&4, &path).expect("the tensors fit");
    assert_eq!(ask(&loaded), ask(&drawn));
    assert_eq!(loaded.arena().n_tensors(), names.len());

    tensors.remove("output.bias");
    safetensors::serialize_to_file(&tensors, None, &path).expect("it can be written");
    let error = SharedModel::<Mixed>::load(&4, &path).expect_err("a tensor is missing");
    assert_eq!(error.kind(), ErrorKind::Shape);
    let text = error.to_string();
    assert!(text.contains("model.safetensors: ") && text.contains("output.bias"), "{text}");
    let error = SharedModel::<Mixed>::load(&5, &path).expect_err("other shapes").to_string();
    assert!(error.contains("shape mismatch for norm.weight"), "{error}");
}

//! Arenas from maps and files.

use std::path::PathBuf;

use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap, linear};
use tensor_share::{Arena, ErrorKind};

use crate::util::{elements, range};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/data").join(name)
}

#[test]
fn a_var_map_becomes_an_arena_in_the_order_of_its_names() {
    let variables = VarMap::new();
    let builder = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
    linear(3, 2, builder.pp("b")).unwrap();
    linear(2, 1, builder.pp("a")).unwrap();
    let arena = Arena::from_var_map(&variables).unwrap();
    assert_eq!(arena.names().collect::<Vec<_>>(), ["a.bias", "a.weight", "b.bias", "b.weight"]);
    let variables = variables.data().lock().unwrap();
    for name in arena.names() {
        let var = &variables[name];
        assert_eq!(elements::<f32>(&arena.tensor(name).unwrap()), elements::<f32>(var.as_tensor()));
    }
}

#[test]
fn a_safetensors_file_becomes_an_arena() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let (x, y) = (range(12).reshape((3, 4)).unwrap(), range(3).to_dtype(DType::BF16).unwrap());
    let tensors = [("x".to_owned(), x.clone()), ("y".to_owned(), y.clone())].into_iter().collect();
    candle_core::safetensors::save(&tensors, &path).unwrap();
    let arena = Arena::from_safetensors(&path).unwrap();
    assert_eq!(arena.n_tensors(), 2);
    assert_eq!(elements::<f32>(&arena.tensor("x").unwrap()), elements::<f32>(&x));
    assert_eq!(arena.tensor("y").unwrap().dtype(), DType::BF16);

    let bytes = std::fs::read(&path).unwrap();
    for length in [0, 5, 8, 30, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = Arena::from_safetensors(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File, "{length}");
        assert!(error.to_string().contains("model.safetensors"), "{error}");
    }
    std::fs::write(&path, [0xff; 100]).unwrap();
    let error = Arena::from_safetensors(&path).unwrap_err().to_string();
    assert!(error.ends_with("18446744073709551615 bytes, the file has 100"), "{error}");
    assert_eq!(
        Arena::from_safetensors(folder.path().join("none")).unwrap_err().kind(),
        ErrorKind::File
    );
}

#[test]
fn a_pytorch_file_becomes_an_arena_and_nothing_in_it_runs() {
    let arenas = [
        Arena::from_pth(data("state.pth"), None),
        Arena::from_pth(data("checkpoint.pth"), Some("model")),
    ];
    for arena in arenas.map(Result::unwrap) {
        assert_eq!(
            arena.names().collect::<Vec<_>>(),
            ["linear.bias", "linear.weight", "transposed"]
        );
        let weight = arena.tensor("linear.weight").unwrap();
        assert_eq!(weight.to_vec2::<f32>().unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
        assert_eq!(elements::<f32>(&arena.tensor("linear.bias").unwrap()), [0.5, -0.5]);
        let transposed = arena.tensor("transposed").unwrap();
        assert_eq!(transposed.to_vec2::<f32>().unwrap(), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]);
    }
    assert!(!PathBuf::from("/tmp/tensor-share-was-here").exists());
}

#[test]
fn a_file_that_pytorch_wrote_becomes_an_arena() {
    let arena = Arena::from_pth(data("torch.pth"), None).unwrap();
    let mut names: Vec<_> = arena.names().collect();
    names.sort_unstable();
    let expected = "0.bias 0.weight 1.bias 1.num_batches_tracked 1.running_mean 1.running_var \
                    1.weight brain half row transposed";
    assert_eq!(names.join(" "), expected);
    let weight = arena.tensor("0.weight").unwrap();
    assert_eq!(weight.to_vec2::<f32>().unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    assert_eq!(elements::<f32>(&arena.tensor("0.bias").unwrap()), [0.5, -0.5]);
    assert_eq!(elements::<f32>(&arena.tensor("1.running_var").unwrap()), [1.0, 1.0]);
    let counter = arena.tensor("1.num_batches_tracked").unwrap();
    assert_eq!(counter.to_scalar::<i64>().unwrap(), 0);
    for (name, dtype) in [("half", DType::F16), ("brain", DType::BF16)] {
        let tensor = arena.tensor(name).unwrap();
        assert_eq!(tensor.dtype(), dtype);
        assert_eq!(elements::<f32>(&tensor.to_dtype(DType::F32).unwrap()), [1.0, -2.0, 0.5]);
    }
    let transposed = arena.tensor("transposed").unwrap();
    assert_eq!(transposed.to_vec2::<f32>().unwrap(), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]);
    assert_eq!(elements::<f32>(&arena.tensor("row").unwrap()), [3.0, 4.0, 5.0]);
}

#[test]
fn pytorch_files_without_tensors_say_where_none_were_found() {
    let error = Arena::from_pth(data("checkpoint.pth"), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(error.to_string().ends_with("is the state dict under another key?"), "{error}");
    let error = Arena::from_pth(data("checkpoint.pth"), Some("other")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(Arena::from_pth(data("write_pth.py"), None).is_err());
}

#[test]
fn a_name_may_be_any_text() {
    let tensor = Tensor::ones(2, DType::F32, &Device::Cpu).unwrap();
    let long = "x".repeat(65_535);
    let names = ["", "größe/..", &long];
    let arena = Arena::from_tensors(names.map(|name| (name, &tensor))).unwrap();
    assert_eq!(arena.names().collect::<Vec<_>>(), names);
    let error = Arena::from_tensors([(format!("{long}x"), &tensor)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a name of 65536 bytes is longer than the 65535 bytes that an arena keeps"
    );
}

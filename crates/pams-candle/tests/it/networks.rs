//! Drawing networks and asking them.

use std::collections::BTreeSet;

use candle_core::{DType, Device, Tensor};
use pams_candle::{ErrorKind, Network, Networks};
use tensor_share::ZeroCopy;

const ROW: [f32; 4] = [0.5, -1.0, 2.0, 0.0];

#[test]
fn a_network_depends_on_its_seed_alone() {
    let few = Networks::draw(&[1, 2], &[4, 8, 1]).expect("there is room");
    let many = Networks::draw(&[5, 4, 3, 2, 1], &[4, 8, 1]).expect("there is room");
    let ask = |networks: &Networks, number| networks.network(number).ask(&ROW).expect("it fits");
    assert_eq!(ask(&few, 0).to_bits(), ask(&many, 4).to_bits());
    assert_eq!(ask(&few, 1).to_bits(), ask(&many, 3).to_bits());
    let answers: BTreeSet<u32> = (0..5).map(|number| ask(&many, number).to_bits()).collect();
    assert_eq!(answers.len(), 5);
}

#[test]
fn weights_are_normals_over_the_root_of_the_inputs() {
    let networks = Networks::draw(&[3], &[400, 100, 1]).expect("there is room");
    let network = networks.network(0);
    let layers = network.layers().expect("they are there");
    assert_eq!(layers[0].weight().dims(), [100, 400]);
    let squares = layers[0].weight().sqr().and_then(|squares| squares.mean_all());
    let variance = squares.and_then(|mean| mean.to_scalar::<f32>()).expect("a number");
    assert!((variance * 400.0 - 1.0).abs() < 0.03, "{variance}");
}

#[test]
fn a_network_travels_as_a_few_dozen_bytes() {
    for sizes in [&[4, 8, 1][..], &[4, 256, 256, 1]] {
        let networks = Networks::draw(&[1, 2, 3], sizes).expect("there is room");
        let network = networks.network(2);
        let bytes = serde_json::to_string(&network).expect("it can be written");
        assert!(bytes.len() < 150, "{bytes}");
        let copy: Network = serde_json::from_str(&bytes).expect("the arena is open here");
        let bits = |network: &Network| network.ask(&ROW).expect("it fits").to_bits();
        assert_eq!(bits(&copy), bits(&network));
    }
}

#[test]
fn networks_lie_on_the_shared_pages() {
    let networks = Networks::draw(&[1, 2, 3], &[4, 8, 1]).expect("there is room");
    assert_eq!(networks.network(0).arena().zero_copy(), ZeroCopy::Shared);
    assert_eq!(networks.network(0).arena().id(), networks.network(2).arena().id());
}

#[test]
fn a_row_of_another_length_is_an_error() {
    let networks = Networks::draw(&[1], &[4, 8, 1]).expect("there is room");
    let error = networks.network(0).ask(&[1.0, 2.0]).expect_err("it does not fit");
    assert_eq!(error.kind(), ErrorKind::Compute);
}

#[test]
fn other_floats_are_converted_and_other_numbers_refused() {
    let layer = |dtype| {
        let weight = Tensor::ones((1, 2), dtype, &Device::Cpu).expect("a tensor");
        Networks::from_layers(&[("head".to_owned(), weight, None)])
    };
    let networks = layer(DType::F64).expect("floats");
    assert_eq!(networks.network(0).ask(&[1.0, 2.0]).expect("it fits").to_bits(), 3f32.to_bits());
    let error = layer(DType::U8).expect_err("no floats");
    assert_eq!(error.to_string(), "head holds U8, not floats");
}

//! xoshiro256++ mode: fixed bits on every machine.

use pams_core::random::{Arithmetic, Generator, GeneratorKind, NormalStream};
use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::assert_same_bits;

const KIND: GeneratorKind = GeneratorKind::Xoshiro256PlusPlus;

/// First outputs of the reference implementation `xoshiro256plusplus.c` from the state 1, 2, 3, 4.
#[test]
fn repeats_the_reference_output() {
    let text = r#"{"engine":{"Xoshiro":{"s":[1,2,3,4]}}}"#;
    let mut generator: Generator = serde_json::from_str(text).unwrap();
    let expected = [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
        9_973_669_472_204_895_162,
        14_011_001_112_246_962_877,
        12_406_186_145_184_390_807,
        15_849_039_046_786_891_736,
        10_450_023_813_501_588_000,
    ];
    assert_eq!(expected.map(|_| generator.next_u64()), expected);
}

#[test]
fn normals_are_those_of_rand_distr() {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut generator = Generator::new(KIND, 3);
    let mut stream = NormalStream::new(KIND, 3);
    let (mut same, mut tail) = (0, 0);
    for _ in 0..400_000 {
        let expected: f64 = StandardNormal.sample(&mut source);
        let mut of_stream = [0.0];
        stream.fill(&mut of_stream);
        let drawn = generator.standard_normal();
        assert_same_bits(&of_stream, &[drawn], "stream and generator");
        if drawn.abs() > 3.654_152_885_361_009 {
            // Only here the last bits are those of a logarithm, and rand_distr's may be another one.
            assert!((drawn - expected).abs() < 1e-14, "{drawn}, expected {expected}");
            tail += 1;
        } else {
            assert_same_bits(&[drawn], &[expected], "rand_distr");
            same += 1;
        }
    }
    assert!(tail > 50 && same > 399_000, "{tail} from the tail, {same} others");
}

#[test]
fn draws_have_fixed_bits() {
    let mut generator = Generator::new(KIND, 42);
    let drawn = [
        generator.random(),
        generator.uniform(-1.0, 3.5),
        generator.exponential(2.5),
        generator.normal(1.5, 0.25),
        generator.normal(-2.0, 3.0),
        generator.child().random(),
    ];
    assert_same_bits(
        &drawn,
        &[
            0.8143051451229099,
            0.43469468027747515,
            0.0405923509480999,
            1.616113715306309,
            0.8610006106381913,
            0.2883281663747179,
        ],
        "seed 42",
    );
    let numbers = [1, 2, 3, 100, (1 << 31) + 1, u64::MAX].map(|n| generator.below(n));
    assert_eq!(numbers, [0, 1, 0, 93, 1201601868, 15680282660304795148]);
    let mut items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    generator.shuffle(&mut items);
    assert_eq!(items, [6, 1, 5, 0, 2, 4, 8, 3, 7, 9]);
}

#[test]
fn functions_have_fixed_bits() {
    let arguments = [-700.25, -1.0, -1e-9, 1e-300, 0.1, 0.5, 1.0, 3.0, 10.75, 700.5];
    // A NaN has no fixed sign.
    let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    let check = |function: fn(Arithmetic, f64) -> f64, expected: [u64; 10], what: &str| {
        let values = arguments.map(|x| function(Arithmetic::Portable, x));
        assert_eq!(values.map(bits), expected, "{what}: {values:?}");
        for (x, portable) in arguments.into_iter().zip(values) {
            let platform = function(Arithmetic::Platform, x);
            let close = (portable - platform).abs() <= 1e-15 * platform.abs();
            assert!(
                close || portable.is_nan() && platform.is_nan(),
                "{what}({x}): {portable} and {platform}"
            );
        }
    };
    check(
        Arithmetic::exp,
        [
            0x00ca_f5fe_9a48_5c8e,
            0x3fd7_8b56_362c_ef38,
            0x3fef_ffff_ff76_8fa1,
            0x3ff0_0000_0000_0000,
            0x3ff1_aec7_b35a_00d4,
            0x3ffa_6129_8e1e_069c,
            0x4005_bf0a_8b14_576a,
            0x4034_15e5_bf6f_b106,
            0x40e6_c4c0_e917_5d8e,
            0x7f18_625c_7d4f_56c2,
        ],
        "exp",
    );
    check(
        Arithmetic::ln,
        [
            0x7ff8_0000_0000_0000,
            0x7ff8_0000_0000_0000,
            0x7ff8_0000_0000_0000,
            0xc085_9634_47f8_7fb5,
            0xc002_6bb1_bbb5_5515,
            0xbfe6_2e42_fefa_39ef,
            0x0000_0000_0000_0000,
            0x3ff1_93ea_7aad_030a,
            0x4002_ffce_9697_cf1a,
            0x401a_3509_950c_84a7,
        ],
        "ln",
    );
    check(
        Arithmetic::sin,
        [
            0xbfd4_7211_0407_7214,
            0xbfea_ed54_8f09_0cee,
            0xbe11_2e0b_e826_d695,
            0x01a5_6e1f_c2f8_f359,
            0x3fb9_8eae_cb8b_cb2c,
            0x3fde_aee8_744b_05f0,
            0x3fea_ed54_8f09_0cee,
            0x3fc2_1038_6db6_d55b,
            0xbfef_0a38_f7fd_16df,
            0x3fb3_3929_f644_71c2,
        ],
        "sin",
    );
    check(
        Arithmetic::cos,
        [
            0xbfee_52bb_4696_a584,
            0x3fe1_4a28_0fb5_068c,
            0x3ff0_0000_0000_0000,
            0x3ff0_0000_0000_0000,
            0x3fef_d712_f9a8_17c1,
            0x3fec_1528_065b_7d50,
            0x3fe1_4a28_0fb5_068c,
            0xbfef_ae04_be85_e5d2,
            0xbfcf_1e57_338f_22e5,
            0xbfef_e8df_1461_6bc1,
        ],
        "cos",
    );
    check(
        Arithmetic::tanh,
        [
            0xbff0_0000_0000_0000,
            0xbfe8_5efa_b514_f394,
            0xbe11_2e0b_e826_d695,
            0x01a5_6e1f_c2f8_f359,
            0x3fb9_83d7_795f_413a,
            0x3fdd_9353_d756_8af3,
            0x3fe8_5efa_b514_f394,
            0x3fef_d77d_111a_0b00,
            0x3fef_ffff_ff81_9506,
            0x3ff0_0000_0000_0000,
        ],
        "tanh",
    );
}

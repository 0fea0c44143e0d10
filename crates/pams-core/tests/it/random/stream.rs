//! What holds for a stream of either generator: journeys, kinds, edges.

use pams_core::random::{
    Arithmetic, Generator, GeneratorKind, NormalStream, Permutation, RandomValue,
};
use rand_core::Rng;

use super::{KINDS, assert_same_bits};

#[test]
fn a_stream_survives_a_journey_between_two_normals() {
    for kind in KINDS {
        for drawn in [0, 1, 2, 701] {
            let mut here = Generator::new(kind, 9);
            for _ in 0..drawn {
                here.normal(0.0, 1.0);
            }
            let text = serde_json::to_string(&here).unwrap();
            let mut there: Generator = serde_json::from_str(&text).unwrap();
            assert_eq!(there, here);
            for _ in 0..1500 {
                assert_same_bits(
                    &[there.standard_normal()],
                    &[here.standard_normal()],
                    "after the journey",
                );
            }
        }
    }
}

#[test]
fn a_waiting_normal_is_part_of_what_is_compared() {
    let mut drawn = Generator::new(GeneratorKind::Mt19937, 9);
    let mut other = drawn.clone();
    drawn.standard_normal();
    other.random();
    other.random();
    assert_ne!(drawn, other);
}

#[test]
fn a_normal_stream_survives_a_journey() {
    for kind in KINDS {
        let mut here = NormalStream::new(kind, 9);
        here.fill(&mut [0.0; 77]);
        let text = serde_json::to_string(&here).unwrap();
        let mut there: NormalStream = serde_json::from_str(&text).unwrap();
        assert_eq!(there, here);
        let (mut expected, mut actual) = ([0.0; 500], [0.0; 500]);
        here.fill(&mut expected);
        there.fill(&mut actual);
        assert_same_bits(&actual, &expected, "after the journey");
    }
}

#[test]
fn a_normal_stream_does_not_mind_how_it_is_cut() {
    for kind in KINDS {
        let (mut whole, mut parts) = ([0.0; 300], [0.0; 300]);
        NormalStream::new(kind, 4).fill(&mut whole);
        let mut stream = NormalStream::new(kind, 4);
        parts.chunks_mut(7).for_each(|part| stream.fill(part));
        assert_same_bits(&parts, &whole, "in parts");
    }
}

#[test]
fn the_kind_decides_and_is_inherited() {
    for (kind, arithmetic) in KINDS.into_iter().zip([Arithmetic::Portable, Arithmetic::Platform]) {
        let mut parent = Generator::new(kind, 8);
        assert_eq!(parent.kind(), kind);
        assert_eq!(parent.arithmetic(), arithmetic);
        let mut seeds = parent.clone();
        let child = parent.child();
        let seed = u64::try_from(seeds.integer(0, 1 << 31)).unwrap();
        assert_eq!(child, Generator::new(kind, seed));
        assert_eq!(parent, seeds);
    }
}

#[test]
fn a_constant_draws_nothing() {
    for kind in KINDS {
        let mut generator = Generator::new(kind, 8);
        let before = generator.clone();
        assert_same_bits(&[RandomValue::Constant(2.5).draw(&mut generator)], &[2.5], "constant");
        assert_eq!(generator, before);
    }
}

#[test]
fn configured_values_survive_a_journey() {
    for value in [
        RandomValue::Constant(0.1),
        RandomValue::Uniform { low: 3.0, high: -1.0 },
        RandomValue::Normal { mean: 0.1, deviation: 0.2 },
        RandomValue::Exponential { mean: -1.0 },
    ] {
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<RandomValue>(&text).unwrap(), value);
    }
}

#[test]
fn integers_stay_in_their_range_and_reach_its_ends() {
    for kind in KINDS {
        let mut generator = Generator::new(kind, 2);
        let drawn: Vec<_> = (0..200).map(|_| generator.integer(-2, 2)).collect();
        assert_eq!(drawn.iter().min(), Some(&-2), "{kind}");
        assert_eq!(drawn.iter().max(), Some(&2), "{kind}");
        assert_eq!(generator.integer(i64::MAX, i64::MAX), i64::MAX);
        assert!((0..64).any(|_| generator.integer(i64::MIN, i64::MAX) < 0), "{kind}");
    }
}

#[test]
fn a_weight_of_zero_is_never_chosen() {
    for kind in KINDS {
        let mut generator = Generator::new(kind, 2);
        let mut counts = [0; 4];
        for _ in 0..4000 {
            counts[generator.weighted_index(&[0.0, 1.0, 0.0, 3.0])] += 1;
        }
        assert_eq!((counts[0], counts[2]), (0, 0), "{kind}");
        // Five standard deviations around 1000.
        assert!((863..1137).contains(&counts[1]), "{kind}: {counts:?}");
    }
}

#[test]
fn weights_without_a_sum_choose_the_last_and_draw_once() {
    for kind in KINDS {
        for weights in [&[0.0, 0.0, 0.0][..], &[f64::NAN, 1.0, 1.0], &[0.0, 1.0, f64::INFINITY]] {
            let mut generator = Generator::new(kind, 2);
            let mut other = generator.clone();
            assert_eq!(generator.weighted_index(weights), 2, "{kind}: {weights:?}");
            other.random();
            assert_eq!(generator, other);
        }
        assert_eq!(Generator::new(kind, 2).weighted_index(&[5.0]), 0);
    }
}

#[test]
#[should_panic(expected = "there is no number below 0")]
fn no_number_is_below_zero() {
    Generator::new(GeneratorKind::Mt19937, 1).below(0);
}

#[test]
#[should_panic(expected = "no integer from 2 to 1")]
fn a_range_has_a_beginning_and_an_end() {
    Generator::new(GeneratorKind::Mt19937, 1).integer(2, 1);
}

#[test]
#[should_panic(expected = "no weights to choose by")]
fn without_weights_there_is_no_choice() {
    Generator::new(GeneratorKind::Mt19937, 1).weighted_index(&[]);
}

#[test]
fn bytes_are_those_of_whole_words() {
    for kind in KINDS {
        let mut generator = Generator::new(kind, 6);
        let mut words = generator.clone();
        let mut bytes = [0; 16];
        generator.fill_bytes(&mut bytes);
        let expected = [words.next_u64().to_le_bytes(), words.next_u64().to_le_bytes()].concat();
        assert_eq!(bytes.as_slice(), expected, "{kind}");
    }
}

#[test]
fn debug_output_is_short() {
    let generator = Generator::new(GeneratorKind::Mt19937, 1);
    assert_eq!(format!("{generator:?}"), "Generator { kind: Mt19937, .. }");
    let stream = NormalStream::new(GeneratorKind::Mt19937, 1);
    assert_eq!(format!("{stream:?}"), r#"NormalStream { source: "pcg64", .. }"#);
}

#[test]
fn a_generator_is_small_and_may_change_threads() {
    fn assert_send_sync<T: Send + Sync>() {}
    assert_send_sync::<Generator>();
    assert_send_sync::<NormalStream>();
    assert_send_sync::<Permutation>();
    assert!(size_of::<Generator>() <= 40);
}

//! mt19937 mode draws what CPython and NumPy draw.

use pams_core::random::{Generator, GeneratorKind, NormalStream, Permutation, RandomValue};
use rand_core::Rng;

use super::reference::{CPYTHON, NUMPY, NUMPY_TAILS, WEIGHTS};
use super::{CPython, assert_same_bits};

/// Runs `compare` with a fresh generator for every seed.
#[track_caller]
fn check(compare: impl Fn(Generator, &CPython)) {
    for expected in CPYTHON {
        compare(Generator::new(GeneratorKind::Mt19937, expected.seed), expected);
    }
}

#[test]
fn random() {
    check(|mut generator, expected| {
        let drawn: Vec<_> = expected.random.iter().map(|_| generator.random()).collect();
        assert_same_bits(&drawn, expected.random, "random()");
    });
}

#[test]
fn words_of_32_and_64_bits() {
    check(|mut generator, expected| {
        let mut words: Vec<_> = (0..3).map(|_| u64::from(generator.next_u32())).collect();
        words.extend((0..2).map(|_| generator.next_u64()));
        assert_eq!(words, expected.words, "seed {}", expected.seed);
    });
}

#[test]
fn numbers_below_a_bound() {
    check(|mut generator, expected| {
        for (bound, numbers) in expected.below {
            let drawn: Vec<_> = numbers.iter().map(|_| generator.below(*bound)).collect();
            assert_eq!(&drawn, numbers, "below {bound}, seed {}", expected.seed);
        }
    });
}

#[test]
fn integers_in_a_range() {
    check(|mut generator, expected| {
        for &(low, high, drawn) in expected.integer {
            assert_eq!(
                generator.integer(low, high),
                drawn,
                "{low} to {high}, seed {}",
                expected.seed
            );
        }
    });
}

#[test]
fn normals_come_in_pairs() {
    check(|mut generator, expected| {
        let mut drawn = vec![generator.normal(1.5, 0.25)];
        drawn.push(RandomValue::Normal { mean: -2.0, deviation: 3.0 }.draw(&mut generator));
        drawn.push(generator.standard_normal());
        drawn.push(generator.random());
        assert_same_bits(&drawn, expected.normal, "gauss");
    });
}

#[test]
fn uniforms() {
    check(|mut generator, expected| {
        let value = RandomValue::Uniform { low: -1.0, high: 3.5 };
        let drawn: Vec<_> = expected.uniform.iter().map(|_| value.draw(&mut generator)).collect();
        assert_same_bits(&drawn, expected.uniform, "uniform");
    });
}

#[test]
fn exponentials() {
    check(|mut generator, expected| {
        let value = RandomValue::Exponential { mean: 2.5 };
        let drawn: Vec<_> =
            expected.exponential.iter().map(|_| value.draw(&mut generator)).collect();
        assert_same_bits(&drawn, expected.exponential, "expon");
    });
}

#[test]
fn choices_by_weight() {
    check(|mut generator, expected| {
        let drawn: Vec<_> =
            expected.chosen.iter().map(|_| generator.weighted_index(WEIGHTS)).collect();
        assert_eq!(drawn, expected.chosen, "seed {}", expected.seed);
    });
}

#[test]
fn samples_of_everything() {
    check(|mut generator, expected| {
        let mut other = generator.clone();
        for &order in expected.orders {
            let mut items: Vec<_> = (0..).take(order.len()).collect();
            generator.shuffle(&mut items);
            assert_eq!(items, order, "shuffle, seed {}", expected.seed);

            let mut permutation = Permutation::new(order.len());
            permutation.start(&mut other);
            let places: Vec<_> = std::iter::from_fn(|| permutation.next(&mut other)).collect();
            assert_eq!(places, order, "permutation, seed {}", expected.seed);
        }
        let after = [generator.random(), other.random()];
        assert_same_bits(&after, &[expected.random_after_orders; 2], "random() after sample");
    });
}

#[test]
fn children() {
    check(|mut generator, expected| {
        let random = generator.child().random();
        assert_same_bits(&[random], &[expected.random_of_child], "random() of a child");
    });
}

#[test]
fn numpy_normals() {
    for expected in NUMPY {
        let mut normals = vec![0.0; expected.normals.len()];
        NormalStream::new(GeneratorKind::Mt19937, expected.seed).fill(&mut normals);
        assert_same_bits(&normals, expected.normals, "default_rng");
    }
}

#[test]
fn numpy_normals_from_the_tail() {
    for &(seed, before, expected) in NUMPY_TAILS {
        let mut stream = NormalStream::new(GeneratorKind::Mt19937, seed);
        stream.fill(&mut vec![0.0; before]);
        let mut normals = vec![0.0; expected.len()];
        stream.fill(&mut normals);
        assert_same_bits(&normals, expected, "default_rng");
    }
}

#[test]
fn numpy_seed_sequence() {
    for expected in NUMPY {
        let stream = NormalStream::new(GeneratorKind::Mt19937, expected.seed);
        let state = serde_json::to_string(&stream).unwrap();
        let pcg64 = format!(r#"{{"state":{},"increment":{}}}"#, expected.state, expected.increment);
        assert!(state.contains(&pcg64), "seed {}: {state}, expected {pcg64}", expected.seed);
    }
}

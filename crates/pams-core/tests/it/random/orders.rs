//! Shuffles and permutations of both generators.

use pams_core::random::{Generator, Permutation};

use super::KINDS;

fn places(n: usize) -> Vec<u32> {
    (0..).take(n).collect()
}

fn whole_order(permutation: &mut Permutation, generator: &mut Generator) -> Vec<u32> {
    permutation.start(generator);
    std::iter::from_fn(|| permutation.next(generator)).collect()
}

#[test]
fn a_permutation_is_a_shuffle() {
    for kind in KINDS {
        let mut shuffling = Generator::new(kind, 11);
        let mut permuting = shuffling.clone();
        for n in (0..80).chain([100, 128, 255, 256, 257, 1000, 5000]) {
            let mut expected = places(n);
            shuffling.shuffle(&mut expected);
            assert_eq!(
                whole_order(&mut Permutation::new(n), &mut permuting),
                expected,
                "{kind}, n = {n}"
            );
            assert_eq!(permuting, shuffling, "{kind}, as many draws for n = {n}");
        }
    }
}

#[test]
fn an_order_does_not_depend_on_what_was_taken_of_earlier_ones() {
    for kind in KINDS {
        for n in [1, 2, 7, 33, 100] {
            let mut reused = Permutation::new(n);
            let mut generator = Generator::new(kind, 5);
            for taken in (0..=n).chain([0, n, 0]) {
                reused.start(&mut generator);
                for _ in 0..taken {
                    reused.next(&mut generator);
                }
                let mut copy = generator.clone();
                let order = whole_order(&mut reused, &mut generator);
                assert_eq!(
                    order,
                    whole_order(&mut Permutation::new(n), &mut copy),
                    "{kind}, n = {n}"
                );
                let mut sorted = order;
                sorted.sort_unstable();
                assert_eq!(sorted, places(n), "{kind}, n = {n}: every place once");
            }
        }
    }
}

#[test]
fn nothing_comes_before_the_start_or_after_the_end() {
    for kind in KINDS {
        let mut generator = Generator::new(kind, 5);
        let before = generator.clone();
        let mut permutation = Permutation::new(3);
        assert_eq!(permutation.next(&mut generator), None);
        assert_eq!(generator, before);
        assert_eq!(whole_order(&mut permutation, &mut generator).len(), 3);
        let after = generator.clone();
        assert_eq!(permutation.next(&mut generator), None);
        assert_eq!(generator, after);
        assert_eq!(permutation.len(), 3);
        assert!(!permutation.is_empty());
        assert!(Permutation::new(0).is_empty());
    }
}

#[test]
fn every_order_of_three_is_equally_likely() {
    for kind in KINDS {
        let mut generator = Generator::new(kind, 1);
        let mut permutation = Permutation::new(3);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            *counts.entry(whole_order(&mut permutation, &mut generator)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6, "{kind}");
        for (order, count) in counts {
            // Five standard deviations around 10 000.
            assert!((9_540..10_460).contains(&count), "{kind}: {order:?} came {count} times");
        }
    }
}

//! Random numbers: references, distributions, orders and what must survive a journey.

mod orders;
mod portable;
#[rustfmt::skip]
mod reference;
mod repeats_python;
mod stream;

use pams_core::random::GeneratorKind;

const KINDS: [GeneratorKind; 2] = [GeneratorKind::Xoshiro256PlusPlus, GeneratorKind::Mt19937];

/// Draws of `random.Random(seed)`; each list begins with a fresh generator.
struct CPython {
    seed: u64,
    random: &'static [f64],
    /// Three times `getrandbits(32)`, twice `getrandbits(64)`.
    words: &'static [u64],
    /// Bounds and what `_randbelow` draws below each.
    below: &'static [(u64, &'static [u64])],
    /// Bounds of `randint` and its draw.
    integer: &'static [(i64, i64, i64)],
    /// `gauss(1.5, 0.25)`, `gauss(-2.0, 3.0)`, `gauss(0.0, 1.0)` and `random()`.
    normal: &'static [f64],
    /// `uniform(-1.0, 3.5)`.
    uniform: &'static [f64],
    /// `-2.5 * log(random())`.
    exponential: &'static [f64],
    /// `choices` by [`reference::WEIGHTS`].
    chosen: &'static [usize],
    /// `sample(range(n), n)` for several n, one after the other.
    orders: &'static [&'static [u32]],
    random_after_orders: f64,
    /// The first `random()` of a generator seeded with `randint(0, 2**31)`.
    random_of_child: f64,
}

/// `default_rng(seed)`: state of the bit generator and first normals.
struct NumPy {
    seed: u64,
    state: u128,
    increment: u128,
    normals: &'static [f64],
}

#[track_caller]
fn assert_same_bits(actual: &[f64], expected: &[f64], what: &str) {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(actual), bits(expected), "{what}: {actual:?}, expected {expected:?}");
}

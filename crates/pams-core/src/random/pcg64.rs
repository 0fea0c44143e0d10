//! NumPy's default bit generator: PCG64 seeded through a `SeedSequence`.
//!
//! The generator is PCG XSL-RR 128/64 of O'Neill (2014); the seed sequence hashes the seed into 128 bits of pool and
//! spreads them over state and increment, after the `seed_seq` of O'Neill (2015).

use serde::{Deserialize, Serialize};

use super::mersenne_twister::halves;

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const POOL_WORDS: usize = 4;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pcg64 {
    state: u128,
    increment: u128,
}

impl Pcg64 {
    /// The bit generator of `numpy.random.default_rng(seed)`.
    pub(super) fn new(seed: u64) -> Self {
        let [high, low, stream_high, stream_low] = expand(entropy_pool(seed));
        let increment = join(stream_high, stream_low) << 1 | 1;
        let mut generator = Self { state: increment.wrapping_add(join(high, low)), increment };
        generator.step();
        generator
    }

    #[inline]
    pub(super) fn next_u64(&mut self) -> u64 {
        self.step();
        let [low, high] = words(self.state);
        let rotation = high >> 58;
        (high ^ low).rotate_right(halves(rotation)[0])
    }

    #[inline]
    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }
}

/// Mixes the 32-bit words of `seed` into a pool in which every bit depends on all of them.
fn entropy_pool(seed: u64) -> [u32; POOL_WORDS] {
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let [low, high] = halves(seed);
    let mut pool = [low, high, 0, 0].map(|word| hash.of(word));
    for source in 0..POOL_WORDS {
        for destination in (0..POOL_WORDS).filter(|&destination| destination != source) {
            let addend = hash.of(pool[source]).wrapping_mul(0x4973_f715);
            let mixed = pool[destination].wrapping_mul(0xca01_f9dd).wrapping_sub(addend);
            pool[destination] = mixed ^ (mixed >> 16);
        }
    }
    pool
}

/// `generate_state(4, uint64)` of the seed sequence.
fn expand(pool: [u32; POOL_WORDS]) -> [u64; 4] {
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let mut source = pool.into_iter().cycle();
    [(); 4].map(|()| {
        let [low, high] =
            [(); 2].map(|()| hash.of(source.next().expect("invariant: a cycle has no end")));
        u64::from(low) | u64::from(high) << 32
    })
}

/// A hash of single words that changes with each word it is given.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let keyed = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let scrambled = keyed.wrapping_mul(self.constant);
        scrambled ^ (scrambled >> 16)
    }
}

fn join(high: u64, low: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "cutting a word in two is the point")]
fn words(state: u128) -> [u64; 2] {
    [state as u64, (state >> 64) as u64]
}

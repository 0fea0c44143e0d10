//! MT19937 as CPython's `random.Random` has it, without the distributions.
//!
//! The 624 words of the recurrence are renewed all at once, in loops that the compiler turns into vector code. They are
//! kept untempered, which halves a generator's memory; tempering happens on the way out, for a whole piece of the block
//! where many draws are needed at a time.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::descending::draw_with_bits_of;

const WORDS: usize = 624;
const MIDDLE: usize = 397;
/// How many words are tempered at a time for the draws of a permutation, at most.
pub(super) const PIECE: usize = 192;
/// As many upper bits the last step of tempering leaves as they are.
const NEARLY_TEMPERED_BITS: u32 = 18;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MersenneTwister {
    #[serde(serialize_with = "serialize_words", deserialize_with = "deserialize_words")]
    words: [u32; WORDS],
    /// Index of the next word to hand out; `WORDS` when the block is used up.
    #[serde(deserialize_with = "deserialize_next")]
    next: usize,
}

impl MersenneTwister {
    /// Seeds as CPython seeds from an integer: the 32-bit words of `seed`, little end first, are the key.
    pub(super) fn new(seed: u64) -> Self {
        let [low, high] = halves(seed);
        if high == 0 { Self::from_key(&[low]) } else { Self::from_key(&[low, high]) }
    }

    /// The reference implementation's `init_by_array`, for keys of less than 624 words.
    fn from_key(key: &[u32]) -> Self {
        let mut words = UNKEYED;
        let mut i = 1;
        for (j, &part) in key.iter().enumerate().cycle().take(WORDS) {
            let spread = words[i] ^ mixed(words[i - 1]).wrapping_mul(1_664_525);
            words[i] = spread.wrapping_add(part).wrapping_add(index(j));
            i = following(&mut words, i);
        }
        for _ in 1..WORDS {
            let spread = words[i] ^ mixed(words[i - 1]).wrapping_mul(1_566_083_941);
            words[i] = spread.wrapping_sub(index(i));
            i = following(&mut words, i);
        }
        words[0] = 1 << 31;
        Self { words, next: WORDS }
    }

    /// The next 32 random bits.
    #[inline]
    pub(super) fn next_u32(&mut self) -> u32 {
        if self.next >= WORDS {
            self.renew();
        }
        let word = self.words[self.next];
        self.next += 1;
        tempered(word)
    }

    /// The next 64 random bits, CPython's `getrandbits(64)`: the low half is drawn first.
    #[inline]
    pub(super) fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        u64::from(low) | u64::from(self.next_u32()) << 32
    }

    /// CPython's `random()`: 53 random bits as a fraction of 1.
    #[inline]
    pub(super) fn random(&mut self) -> f64 {
        let high = f64::from(self.next_u32() >> 5);
        let low = f64::from(self.next_u32() >> 6);
        (high * 67_108_864.0 + low) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// CPython's `_randbelow(bound)`: as many bits as `bound` itself has, until the number is below it.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let Ok(bound) = u32::try_from(bound) else { return self.below_wide(bound) };
        let shift = bound.leading_zeros();
        loop {
            let draw = self.next_u32() >> shift;
            if draw < bound {
                return u64::from(draw);
            }
        }
    }

    #[cold]
    fn below_wide(&mut self, bound: u64) -> u64 {
        let shift = bound.leading_zeros();
        loop {
            let low = self.next_u32();
            let draw = u64::from(low) | u64::from(self.next_u32() >> shift) << 32;
            if draw < bound {
                return draw;
            }
        }
    }

    /// CPython's `_randbelow(2**64)`: 65 bits, until the top one is clear.
    #[cold]
    pub(super) fn any_u64(&mut self) -> u64 {
        loop {
            let draw = self.next_u64();
            if self.next_u32() >> 31 == 0 {
                return draw;
            }
        }
    }

    /// Draws `below(n)`, `below(n - 1)`, …, `below(1)` into `draws` from its end to its beginning, where n is its
    /// length. What is left in `piece` means nothing.
    ///
    /// A piece is as long as the rest will need in most cases, since where it ends is no pattern that a processor could
    /// foresee.
    pub(super) fn draw_descending(&mut self, draws: &mut [u32], piece: &mut [u32; PIECE]) {
        let mut bound =
            u32::try_from(draws.len()).expect("invariant: permutations are counted in 32 bits");
        while bound > 0 {
            if self.next >= WORDS {
                self.renew();
            }
            let wanted = (bound as usize + bound as usize / 2 + 16).min(PIECE);
            let block = &self.words[self.next..WORDS.min(self.next + wanted)];
            if 32 - bound.leading_zeros() <= NEARLY_TEMPERED_BITS {
                for (out, &word) in piece.iter_mut().zip(block) {
                    *out = nearly_tempered(word);
                }
            } else {
                for (out, &word) in piece.iter_mut().zip(block) {
                    *out = tempered(word);
                }
            }
            let mut rest = &piece[..block.len()];
            while bound > 0 && !rest.is_empty() {
                let used;
                (bound, used) = draw_with_bits_of(bound, rest, draws);
                rest = &rest[used..];
            }
            self.next += block.len() - rest.len();
        }
    }

    /// Computes the next 624 words from the last 624.
    #[cold]
    #[inline(never)]
    fn renew(&mut self) {
        let words = &mut self.words;
        for i in 0..WORDS - MIDDLE {
            words[i] = words[i + MIDDLE] ^ twisted(words[i], words[i + 1]);
        }
        for i in WORDS - MIDDLE..WORDS - 1 {
            words[i] = words[i + MIDDLE - WORDS] ^ twisted(words[i], words[i + 1]);
        }
        words[WORDS - 1] = words[MIDDLE - 1] ^ twisted(words[WORDS - 1], words[0]);
        self.next = 0;
    }
}

fn twisted(word: u32, next: u32) -> u32 {
    let joined = (word & 0x8000_0000) | (next & 0x7fff_ffff);
    (joined >> 1) ^ ((joined & 1).wrapping_neg() & 0x9908_b0df)
}

#[inline]
fn tempered(word: u32) -> u32 {
    let word = nearly_tempered(word);
    word ^ (word >> NEARLY_TEMPERED_BITS)
}

/// Tempered but for the last step, which leaves the upper [`NEARLY_TEMPERED_BITS`] as they are.
#[inline]
fn nearly_tempered(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^ ((word << 15) & 0xefc6_0000)
}

const fn mixed(word: u32) -> u32 {
    word ^ (word >> 30)
}

/// The reference implementation's `init_genrand(19650218)`, which every key is mixed into.
const UNKEYED: [u32; WORDS] = {
    let mut words = [19_650_218; WORDS];
    let mut i = 1;
    while i < WORDS {
        words[i] = 1_812_433_253_u32.wrapping_mul(mixed(words[i - 1])).wrapping_add(index(i));
        i += 1;
    }
    words
};

/// The place after `i` while seeding, where the last word also stands before the first.
fn following(words: &mut [u32; WORDS], i: usize) -> usize {
    if i + 1 < WORDS {
        return i + 1;
    }
    words[0] = words[WORDS - 1];
    1
}

#[expect(clippy::cast_possible_truncation, reason = "an index into 624 words or a key of two")]
const fn index(i: usize) -> u32 {
    i as u32
}

#[expect(clippy::cast_possible_truncation, reason = "cutting a word in two is the point")]
pub(super) fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn serialize_words<S: Serializer>(words: &[u32; WORDS], serializer: S) -> Result<S::Ok, S::Error> {
    words.as_slice().serialize(serializer)
}

fn deserialize_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u32; WORDS], D::Error> {
    let words = Vec::<u32>::deserialize(deserializer)?;
    words.try_into().map_err(|words: Vec<u32>| {
        D::Error::custom(format!("mt19937 state has {} words, expected {WORDS}", words.len()))
    })
}

fn deserialize_next<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let next = usize::deserialize(deserializer)?;
    if next > WORDS {
        return Err(D::Error::custom(format!(
            "mt19937 position is {next}, expected at most {WORDS}"
        )));
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of `mt19937ar.out`, published with the reference implementation.
    #[test]
    fn repeats_the_reference_output() {
        let mut twister = MersenneTwister::from_key(&[0x123, 0x234, 0x345, 0x456]);
        let expected = [
            1_067_595_299,
            955_945_823,
            477_289_528,
            4_107_218_783,
            4_228_976_476,
            3_344_332_714,
            3_355_579_695,
            227_628_506,
            810_200_273,
            2_591_290_167,
        ];
        assert_eq!(expected.map(|_| twister.next_u32()), expected);
    }

    #[test]
    fn descending_draws_are_draws_below_each_bound() {
        let mut one_by_one = MersenneTwister::new(7);
        let mut at_once = one_by_one.clone();
        for n in (0..70).chain([127, 128, 129, 255, 256, 257, 700, 5000, 16_383, 16_384, 20_000]) {
            let mut draws = vec![0; n];
            at_once.draw_descending(&mut draws, &mut [0; PIECE]);
            let bounds = (1..=n as u64).rev();
            let mut expected: Vec<_> =
                bounds.map(|bound| halves(one_by_one.below(bound))[0]).collect();
            expected.reverse();
            assert_eq!(draws, expected, "{n} draws");
            assert!(at_once == one_by_one, "state after {n} draws");
        }
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let twister = MersenneTwister::new(1);
        let state = serde_json::to_value(&twister).unwrap();
        let mut short = state.clone();
        short["words"].as_array_mut().unwrap().pop();
        let error = serde_json::from_value::<MersenneTwister>(short).err().unwrap();
        assert_eq!(error.to_string(), "mt19937 state has 623 words, expected 624");
        let mut beyond = state;
        beyond["next"] = 625.into();
        let error = serde_json::from_value::<MersenneTwister>(beyond).err().unwrap();
        assert_eq!(error.to_string(), "mt19937 position is 625, expected at most 624");
    }
}

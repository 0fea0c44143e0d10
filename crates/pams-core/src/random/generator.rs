//! The random stream of one decision maker.

use std::f64::consts::PI;
use std::fmt;

use rand_core::{Infallible, Rng, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::mersenne_twister::{MersenneTwister, PIECE};
use super::{Arithmetic, GeneratorKind, ziggurat};

/// A random stream, owned by one decision maker.
///
/// The stream is a function of kind and seed, and of nothing else. What has been drawn is part of the state: a
/// generator that was written with serde and read back, also between the two normals of a pair, goes on where it was.
///
/// For the distributions of other crates it is an infallible [`rand_core::Rng`]. What a distribution draws from there
/// is that crate's choice; results that must not change with its version should use the methods below.
///
/// ```
/// use pams_core::random::{Generator, GeneratorKind};
///
/// // As `random.Random(42)` in Python.
/// let mut generator = Generator::new(GeneratorKind::Mt19937, 42);
/// assert_eq!(generator.random(), 0.6394267984578837);
/// assert_eq!(generator.integer(1, 6), 1);
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    engine: Engine,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
enum Engine {
    Xoshiro(Xoshiro256PlusPlus),
    /// In a box, so that a generator of the default kind is five words.
    Twister(Box<Twister>),
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Twister {
    source: MersenneTwister,
    /// The second normal of the last pair.
    spare_normal: Option<f64>,
}

impl Generator {
    /// A generator of that `kind`, seeded as `random.Random(seed)` is, or through `SplitMix64` for xoshiro256++.
    #[must_use]
    pub fn new(kind: GeneratorKind, seed: u64) -> Self {
        let engine = match kind {
            GeneratorKind::Xoshiro256PlusPlus => {
                Engine::Xoshiro(Xoshiro256PlusPlus::seed_from_u64(seed))
            }
            GeneratorKind::Mt19937 => Engine::Twister(Box::new(Twister {
                source: MersenneTwister::new(seed),
                spare_normal: None,
            })),
        };
        Self { engine }
    }

    /// Which generator this is.
    #[must_use]
    pub fn kind(&self) -> GeneratorKind {
        match self.engine {
            Engine::Xoshiro(_) => GeneratorKind::Xoshiro256PlusPlus,
            Engine::Twister(_) => GeneratorKind::Mt19937,
        }
    }

    /// The `exp`, `ln`, `sin` and `cos` that belong to this kind of generator, for the owner's own formulas.
    #[inline]
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        match self.engine {
            Engine::Xoshiro(_) => Arithmetic::Portable,
            Engine::Twister(_) => Arithmetic::Platform,
        }
    }

    /// A number from [0, 1) with 53 random bits, every multiple of 2⁻⁵³ equally likely.
    ///
    /// mt19937: CPython's `random()`, two words of 32 bits. xoshiro256++: the upper 53 bits of one word.
    #[inline]
    pub fn random(&mut self) -> f64 {
        match &mut self.engine {
            Engine::Xoshiro(source) => unit_interval(source.next_u64()),
            Engine::Twister(twister) => twister.source.random(),
        }
    }

    /// A whole number from 0 to `n` − 1, all equally likely.
    ///
    /// mt19937: CPython's `_randbelow`, which takes as many bits as `n` has until the number is small enough.
    /// xoshiro256++: the multiplication of Lemire (2019), one word and very rarely more.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below 0");
        match &mut self.engine {
            Engine::Xoshiro(source) => below(source, n),
            Engine::Twister(twister) => twister.source.below(n),
        }
    }

    /// A whole number from `low` to `high`, both included: CPython's `randint`.
    ///
    /// # Panics
    ///
    /// If `low` is greater than `high`.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "no integer from {low} to {high}");
        let offset = match low.abs_diff(high).checked_add(1) {
            Some(n) => self.below(n),
            None => self.any_u64(),
        };
        low.wrapping_add_unsigned(offset)
    }

    /// A new generator of the same kind, seeded with `integer(0, 2³¹)` of this one, as PAMS derives them.
    #[must_use = "a child that is dropped has still moved its parent on"]
    pub fn child(&mut self) -> Self {
        let seed = self.below((1 << 31) + 1);
        Self::new(self.kind(), seed)
    }

    /// A number between `low` and `high`: exactly `random() · (high − low) + low`, in that order of rounding.
    ///
    /// The bounds may be equal or the wrong way round.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.random() * (high - low) + low
    }

    /// A normal with mean 0 and deviation 1.
    ///
    /// mt19937: CPython's `gauss(0, 1)`. Normals come in pairs by the Box–Muller transform (1958), and the second is
    /// kept for the next call. xoshiro256++: the ziggurat of `rand_distr::StandardNormal` with portable `exp` and `ln`.
    #[inline]
    pub fn standard_normal(&mut self) -> f64 {
        self.normal(0.0, 1.0)
    }

    /// A normal with that `mean` and standard `deviation`: mean + [standard normal](Self::standard_normal) · deviation.
    ///
    /// A negative deviation mirrors the value; 0 gives the mean and still draws.
    #[inline]
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let normal = match &mut self.engine {
            Engine::Xoshiro(source) => ziggurat::zignor(|| source.next_u64()),
            Engine::Twister(twister) => twister.standard_normal(),
        };
        mean + normal * deviation
    }

    /// An exponential with that `mean`: exactly `−mean · ln(random())`, as PAMS draws it. The mean may be negative.
    ///
    /// `random()` is 0 once in 2⁵³ draws. CPython raises an error there; here the value is ±∞, or NaN for a mean of 0.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let uniform = self.random();
        -mean * self.arithmetic().ln(uniform)
    }

    /// An index into `weights`, each as likely as its share of their sum: CPython's `choices`.
    ///
    /// That is the smallest i with `random()` · total < weight 0 + … + weight i, and the last index if there is none.
    /// Weights are finite and not negative. Where all are 0, or one is not finite, CPython raises an error; here the
    /// rule above holds all the same, and gives the last index for zeros. One number is drawn in any case.
    ///
    /// # Panics
    ///
    /// If there are no weights.
    pub fn weighted_index(&mut self, weights: &[f64]) -> usize {
        assert!(!weights.is_empty(), "no weights to choose by");
        let total = weights.iter().fold(0.0, |sum, weight| sum + weight);
        let target = self.random() * total;
        let mut cumulative = 0.0;
        weights
            .iter()
            .position(|weight| {
                cumulative += weight;
                target < cumulative
            })
            .unwrap_or(weights.len() - 1)
    }

    /// Puts `items` into a random order, all equally likely.
    ///
    /// mt19937: the order of CPython's `sample(items, len(items))`, with every draw it makes, also that below 1.
    /// xoshiro256++: Fisher–Yates from the front, without a draw for the last place. A
    /// [`Permutation`](super::Permutation) of as many places gives the same order.
    ///
    /// ```
    /// use pams_core::random::{Generator, GeneratorKind};
    ///
    /// let mut names = ["a", "b", "c", "d"];
    /// // random.Random(42).sample(["a", "b", "c", "d"], 4)
    /// Generator::new(GeneratorKind::Mt19937, 42).shuffle(&mut names);
    /// assert_eq!(names, ["a", "d", "b", "c"]);
    /// ```
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        match &mut self.engine {
            Engine::Xoshiro(source) => {
                for i in 1..items.len() {
                    let rest = &mut items[i - 1..];
                    let chosen = below(source, rest.len() as u64);
                    rest.swap(0, index(chosen));
                }
            }
            Engine::Twister(twister) => {
                for left in (1..=items.len()).rev() {
                    let chosen = twister.source.below(left as u64);
                    items.swap(index(chosen), left - 1);
                }
                items.reverse();
            }
        }
    }

    /// The draws of [`shuffle`](Self::shuffle) for as many items as there are `draws`, the first at the end, if it needs them all
    /// beforehand. `piece` is room to work in.
    pub(super) fn draw_descending(&mut self, draws: &mut [u32], piece: &mut [u32; PIECE]) -> bool {
        match &mut self.engine {
            Engine::Xoshiro(_) => false,
            Engine::Twister(twister) => {
                twister.source.draw_descending(draws, piece);
                true
            }
        }
    }

    fn any_u64(&mut self) -> u64 {
        match &mut self.engine {
            Engine::Xoshiro(source) => source.next_u64(),
            Engine::Twister(twister) => twister.source.any_u64(),
        }
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Generator").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

impl TryRng for Generator {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(match &mut self.engine {
            Engine::Xoshiro(source) => source.next_u32(),
            Engine::Twister(twister) => twister.source.next_u32(),
        })
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(match &mut self.engine {
            Engine::Xoshiro(source) => source.next_u64(),
            Engine::Twister(twister) => twister.source.next_u64(),
        })
    }

    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Infallible> {
        rand_core::utils::fill_bytes_via_next_word(destination, || self.try_next_u64())
    }
}

impl Twister {
    fn standard_normal(&mut self) -> f64 {
        if let Some(normal) = self.spare_normal.take() {
            return normal;
        }
        let angle = self.source.random() * (2.0 * PI);
        let radius = (-2.0 * Arithmetic::Platform.ln(1.0 - self.source.random())).sqrt();
        self.spare_normal = Some(Arithmetic::Platform.sin(angle) * radius);
        Arithmetic::Platform.cos(angle) * radius
    }
}

/// The upper 53 bits of `word` as a fraction of 1.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "53 bits fit a float")]
pub(super) fn unit_interval(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// A whole number below `n` by Lemire's multiplication: the upper half of word · n, where the lower half is fair.
#[inline]
fn below(source: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    let mut product = u128::from(source.next_u64()) * u128::from(n);
    if lower(product) < n {
        let unfair = n.wrapping_neg() % n;
        while lower(product) < unfair {
            product = u128::from(source.next_u64()) * u128::from(n);
        }
    }
    lower(product >> 64)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
fn lower(product: u128) -> u64 {
    product as u64
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "below the length of a slice")]
fn index(chosen: u64) -> usize {
    chosen as usize
}

//! The normals that move fundamental prices.

use std::fmt;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::pcg64::Pcg64;
use super::{GeneratorKind, ziggurat};

/// A stream of independent standard normals.
///
/// It continues over calls: filling a table row by row gives the same numbers as filling it at once.
///
/// ```
/// use pams_core::random::{GeneratorKind, NormalStream};
///
/// // numpy.random.default_rng(42).standard_normal(2)
/// let mut normals = [0.0; 2];
/// NormalStream::new(GeneratorKind::Mt19937, 42).fill(&mut normals);
/// assert_eq!(normals, [0.30471707975443135, -1.0399841062404955]);
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct NormalStream {
    source: Source,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
enum Source {
    Xoshiro(Xoshiro256PlusPlus),
    Numpy(Pcg64),
}

impl NormalStream {
    /// A stream of its own, not of a generator: seeded by the number alone.
    ///
    /// mt19937: `numpy.random.default_rng(seed).standard_normal` of NumPy 1.26, with the platform's `exp` and `log1p`.
    /// xoshiro256++: that generator, seeded through `SplitMix64`, with the normals of
    /// [`Generator::standard_normal`](super::Generator::standard_normal).
    #[must_use]
    pub fn new(kind: GeneratorKind, seed: u64) -> Self {
        let source = match kind {
            GeneratorKind::Xoshiro256PlusPlus => {
                Source::Xoshiro(Xoshiro256PlusPlus::seed_from_u64(seed))
            }
            GeneratorKind::Mt19937 => Source::Numpy(Pcg64::new(seed)),
        };
        Self { source }
    }

    /// Fills `normals` from the front with the next numbers of the stream.
    pub fn fill(&mut self, normals: &mut [f64]) {
        match &mut self.source {
            Source::Xoshiro(source) => normals.fill_with(|| ziggurat::zignor(|| source.next_u64())),
            Source::Numpy(source) => normals.fill_with(|| ziggurat::numpy(|| source.next_u64())),
        }
    }
}

impl fmt::Debug for NormalStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.source {
            Source::Xoshiro(_) => "xoshiro256++",
            Source::Numpy(_) => "pcg64",
        };
        formatter.debug_struct("NormalStream").field("source", &name).finish_non_exhaustive()
    }
}

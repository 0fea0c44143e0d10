//! Random numbers: one stream per decision maker, the same draws on every run.
//!
//! A [`Generator`] belongs to one decision maker (the runner, a market, an agent, a session, an event) and is never
//! shared. Everything it hands out is a function of its [`GeneratorKind`], its seed and the calls so far:
//!
//! - [`GeneratorKind::Xoshiro256PlusPlus`], the default, is fast and gives the same bits on every machine: `exp`, `ln`,
//!   `sin` and `cos` are [`Arithmetic::Portable`].
//! - [`GeneratorKind::Mt19937`] repeats CPython's `random.Random` and NumPy's `default_rng` draw by draw, so that a run
//!   equals PAMS 0.3.0. `exp` and `ln` are the platform's, as they are in CPython.
//!
//! New generators come from [`Generator::child`], which draws the seed from the parent; so the order in which children
//! are made is part of the result.
//!
//! Beside the generator stand the orders in which things take their turn ([`Permutation`]), values that a config gives
//! as a distribution ([`RandomValue`]) and the normals that move fundamental prices ([`NormalStream`]).
//!
//! ```
//! use pams_core::random::{Generator, GeneratorKind};
//!
//! let mut runner = Generator::new(GeneratorKind::Mt19937, 42);
//! let mut agent = runner.child();
//! assert_eq!(agent.kind(), GeneratorKind::Mt19937);
//! assert!((0.0..1.0).contains(&agent.random()));
//! ```

mod arithmetic;
mod descending;
mod generator;
mod kind;
mod mersenne_twister;
mod normal_stream;
mod pcg64;
mod permutation;
mod value;
mod ziggurat;
mod ziggurat_tables;

pub use arithmetic::Arithmetic;
pub use generator::Generator;
pub use kind::{GeneratorKind, ParseGeneratorKindError};
pub use normal_stream::NormalStream;
pub use permutation::Permutation;
pub use value::RandomValue;

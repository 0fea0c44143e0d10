//! The Rust examples of the README and the book, compiled and run by `cargo test --doc`.
//!
//! They are tested here because this crate sees all the others.

#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc = include_str!("../../../docs/src/guide/library.md")]
struct Library;

#[doc = include_str!("../../../docs/src/guide/results.md")]
struct Results;

#[doc = include_str!("../../../docs/src/guide/sweeps.md")]
struct Sweeps;

#[doc = include_str!("../../../docs/src/guide/own-classes.md")]
struct OwnClasses;

#[cfg(feature = "torch")]
#[doc = include_str!("../../../docs/src/guide/neural-agents.md")]
struct NeuralAgents;

#[doc = include_str!("../../../docs/src/semantics.md")]
struct Semantics;

#[doc = include_str!("../../../docs/src/runners.md")]
struct Runners;

#[doc = include_str!("../../../docs/src/records.md")]
struct Records;

#[doc = include_str!("../../../docs/src/pams-names.md")]
struct Names;

#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;

//! The agent trait, the registry of classes and the built-in trading agents.
#![forbid(unsafe_code)]

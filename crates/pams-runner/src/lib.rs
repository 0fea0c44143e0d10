//! Runs a configured market simulation and shows its records to loggers.
#![forbid(unsafe_code)]

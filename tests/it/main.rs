//! Tests that cross crates.
mod equality;

//! Tests that cross crates.
mod equality;
mod identity;

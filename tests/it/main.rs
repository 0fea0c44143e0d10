//! Tests that cross crates.
mod docs;
mod equality;
mod identity;

//! Tests that cross crates.
mod command_line;
mod docs;
mod equality;
mod faults;
mod identity;
mod results;

//! One binary for all tests of the crate's interface.

mod catalog;
mod declaring;
mod errors;
mod meaning;
mod robust;
mod samples;
mod schema;

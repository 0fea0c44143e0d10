//! The `pams` command.
fn main() {}

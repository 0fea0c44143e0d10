//! The crate from outside, in a program that installs its allocator.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod child;
mod conformance;
mod corpus;
mod faults;
mod killed;
mod loading;
mod models;
mod processes;
mod same_bits;
mod soundness;
mod util;

#[global_allocator]
static ALLOCATOR: tensor_share::ShareAlloc = tensor_share::ShareAlloc::new(std::alloc::System);

#[test]
fn this_program_shares_without_copies() {
    assert_eq!(tensor_share::zero_copy(), tensor_share::ZeroCopy::Shared);
}

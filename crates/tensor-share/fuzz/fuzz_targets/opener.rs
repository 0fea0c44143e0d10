//! Any bytes as a segment. See `harness.rs`, which tests run over the corpus too.
//!
//! ```text
//! cd crates/tensor-share && cargo +nightly fuzz run opener -- -max_total_time=600
//! ```
#![no_main]

use tensor_share::ShareAlloc;

#[path = "../harness.rs"]
mod harness;

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(std::alloc::System);

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::open(input));

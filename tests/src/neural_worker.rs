//! What worker processes of the neural tests run.
#![forbid(unsafe_code)]

use std::alloc::System;

use tensor_share::ShareAlloc;

#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

fn main() {
    pams_tests::neural::init();
}

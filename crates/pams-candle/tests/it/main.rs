//! Tests of the crate as its users see it.

use std::alloc::System;

use tensor_share::ShareAlloc;

mod agent;
mod loading;
mod models;
mod networks;

#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

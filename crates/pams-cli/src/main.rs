//! The `pams` command with the built-in classes.
#![forbid(unsafe_code)]

#[cfg(feature = "torch")]
use std::alloc::System;
use std::process::ExitCode;

#[cfg(feature = "torch")]
use tensor_share::ShareAlloc;

/// Tensors lie on the shared pages themselves; without it every process would have a copy.
#[cfg(feature = "torch")]
#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

fn main() -> ExitCode {
    pams_cli::main(pams_agent::Registry::builtin())
}

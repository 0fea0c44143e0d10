//! Loads a PyTorch file into an arena.
//!
//! ```text
//! cargo run -p tensor-share --example load_pytorch -- model.pth [key]
//! ```
//!
//! Without a file it takes a small one of the tests. The tensors are read by candle; nothing in the
//! file is run.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::alloc::System;

use tensor_share::{Arena, ShareAlloc};

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(System);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/state.pth");
    let path = arguments.first().map_or(sample, String::as_str);
    let arena = Arena::from_pth(path, arguments.get(1).map(String::as_str))?;
    println!("arena {}, {} bytes, {:?}", arena.id(), arena.bytes(), arena.zero_copy());
    for (name, shared) in arena.iter() {
        println!("{name:<20} {:<5} {:?}", shared.dtype().as_str(), shared.dims());
    }
    Ok(())
}

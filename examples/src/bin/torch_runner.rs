//! Runs neural agents on the torch-style runner, and once more sequentially: the records are the
//! same.
//!
//! `RAYON_NUM_THREADS=1 CANDLE_NUM_THREADS=1 cargo run --release -p pams-examples --bin torch_runner [CONFIG]`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::alloc::System;
use std::num::NonZeroUsize;

use pams_agent::Registry;
use pams_runner::SequentialRunner;
use pams_torch::TorchAgentParallelRunner;
use tensor_share::ShareAlloc;

/// With this line workers read the networks where they are; without it each has a copy.
#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

fn main() -> anyhow::Result<()> {
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    // A worker is this program, run again: it runs `main` up to here.
    pams_torch::init(&registry);

    let path = std::env::args_os().nth(1);
    let path =
        path.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/configs/candle.json").into());
    let parallel = TorchAgentParallelRunner::new()
        .builder()
        .num_parallel(NonZeroUsize::MIN.saturating_add(1))
        .registry(registry.clone())
        .config_path(&path)
        .seed(42)
        .build()?
        .run()?;
    let sequential = SequentialRunner::builder()
        .registry(registry)
        .config_path(&path)
        .seed(42)
        .build()?
        .run()?;
    for (runner, report) in [("torch", &parallel), ("sequential", &sequential)] {
        let hash = report.records_hash.map(|hash| hash.to_string()).unwrap_or_default();
        println!("{runner:10} {} orders, {} executions, {hash}", report.orders, report.executions);
    }
    anyhow::ensure!(parallel == sequential, "the records differ");
    Ok(())
}

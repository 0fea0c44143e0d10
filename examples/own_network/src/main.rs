//! Runs agents with networks of one's own on every runner: the records are the same.
//!
//! `RAYON_NUM_THREADS=1 CANDLE_NUM_THREADS=1 cargo run --release -p pams-own-network [CONFIG]`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::alloc::System;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;

use pams_own_network::{config_path, registry};
use pams_runner::{
    MultiProcessAgentParallelRunner, MultiThreadAgentParallelRunner, SequentialRunner,
};
use pams_torch::TorchAgentParallelRunner;
use tensor_share::ShareAlloc;

/// With this line workers read the weights where they are; without it each has a copy.
#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

fn main() -> anyhow::Result<()> {
    // A worker is this program, run again: it runs `main` up to here.
    pams_torch::init(&registry());

    let path = std::env::args_os().nth(1).unwrap_or_else(|| OsString::from(config_path()));
    let runners = [
        ("sequential", SequentialRunner::builder()),
        ("threads", MultiThreadAgentParallelRunner::builder()),
        ("processes", MultiProcessAgentParallelRunner::builder()),
        ("torch", TorchAgentParallelRunner::new().builder()),
    ];
    let mut hashes = BTreeSet::new();
    for (name, builder) in runners {
        let two = NonZeroUsize::MIN.saturating_add(1);
        let builder = builder.num_parallel(two).registry(registry()).config_path(&path).seed(42);
        let report = builder.build()?.run()?;
        let hash = report.records_hash.map(|hash| hash.to_string()).unwrap_or_default();
        println!("{name:10} {} orders, {} executions, {hash}", report.orders, report.executions);
        hashes.insert(hash);
    }
    anyhow::ensure!(hashes.len() == 1, "the records differ");
    Ok(())
}

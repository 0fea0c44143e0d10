//! Two processes share one network.
//!
//! ```text
//! cargo run -p tensor-share --example two_processes                  # file_descriptor
//! cargo run -p tensor-share --example two_processes -- file_system
//! ```
//!
//! The first process makes a network and starts the second by running itself again. What travels is
//! a handle of a few dozen bytes; with `file_descriptor` also a descriptor, here as the standard
//! input of the second process.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::alloc::System;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use candle_core::{DType, Device, Module as _, Tensor};
use candle_nn::{Sequential, VarBuilder, VarMap, linear, seq};
use tensor_share::{
    Arena, ShareAlloc, SharingStrategy, attach, collect, set_sharing_strategy, zero_copy,
};

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(System);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => first(SharingStrategy::FileDescriptor),
        [strategy] => first(strategy.parse()?),
        [handle, key] => second(handle, key.parse()?),
        _ => anyhow::bail!("usage: two_processes [file_descriptor|file_system]"),
    }
}

/// The same code builds the network for training and on shared weights.
fn network(weights: &VarBuilder<'_>) -> candle_core::Result<Sequential> {
    let layers = seq().add(linear(8, 1024, weights.pp("wide"))?);
    Ok(layers.add_fn(|x| x.relu()).add(linear(1024, 2, weights.pp("narrow"))?))
}

fn first(strategy: SharingStrategy) -> anyhow::Result<()> {
    set_sharing_strategy(strategy);
    let variables = VarMap::new();
    let trained = network(&VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu))?;
    let arena = Arena::from_var_map(&variables)?;

    let (handle, attachments) = collect(|| serde_json::to_string(&arena));
    let attachment = &attachments[0];
    let input = match attachment.descriptor() {
        Some(descriptor) => descriptor.try_clone_to_owned()?.into(),
        None => Stdio::null(),
    };
    println!("{} bytes of parameters, sent as {}", arena.bytes(), handle.as_deref().unwrap_or(""));
    println!("here:  {}", trained.forward(&input_row()?)?);
    let key = attachment.key().to_string();
    let status =
        Command::new(std::env::current_exe()?).args([handle?, key]).stdin(input).status()?;
    anyhow::ensure!(status.success(), "the second process ended with {status}");
    Ok(())
}

fn second(handle: &str, key: u128) -> anyhow::Result<()> {
    // With file_system there is no descriptor to attach, and none was sent.
    if std::fs::read_link("/proc/self/fd/0")?.to_string_lossy().contains("memfd") {
        attach(key, std::io::stdin().as_fd().try_clone_to_owned()?)?;
    }
    let arena: Arena = serde_json::from_str(handle)?;
    let shared = network(&arena.var_builder(DType::F32, &Device::Cpu))?;
    println!("there: {}", shared.forward(&input_row()?)?);
    println!("there, the weights are {:?}", zero_copy());
    Ok(())
}

fn input_row() -> candle_core::Result<Tensor> {
    Tensor::new(&[[1f32, -1.0, 2.0, 0.0, 0.5, 1.0, -2.0, 3.0]], &Device::Cpu)
}

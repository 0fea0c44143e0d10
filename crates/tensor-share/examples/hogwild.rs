//! Two processes train the same weights without waiting for each other (Hogwild).
//!
//! ```text
//! cargo run -p tensor-share --example hogwild
//! ```
//!
//! The task is a linear regression. Each worker reads the weights as they are, computes a gradient
//! on samples of its own, and adds its step to what the weights are by then.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::alloc::System;
use std::process::{Child, Command};

use candle_core::{DType, Device, Tensor, Var};
use tensor_share::{Arena, MutableArena, ShareAlloc, SharingStrategy, set_sharing_strategy};

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(System);

const WIDTH: usize = 16;
const N_WORKERS: u64 = 2;
const N_STEPS: u64 = 300;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [handle, seed] = &arguments[..] {
        return worker(&serde_json::from_str(handle)?, seed.parse()?);
    }
    set_sharing_strategy(SharingStrategy::FileSystem);
    let mut builder = Arena::builder();
    builder.add("weight", DType::F32, (WIDTH, 1))?.add("bias", DType::F32, 1)?;
    let mut writer = builder.create()?;
    writer.slice_mut::<f32>("weight")?.fill(0.0);
    writer.slice_mut::<f32>("bias")?.fill(0.0);
    // Asked for by name: from here on every process that gets the arena may change it.
    let arena = writer.open_to_all()?;

    let before = loss_of_snapshot(&arena)?;
    let handle = serde_json::to_string(&arena)?;
    let start = |seed: u64| {
        Command::new(std::env::current_exe()?).args([handle.clone(), seed.to_string()]).spawn()
    };
    let workers = (1..=N_WORKERS).map(start).collect::<std::io::Result<Vec<Child>>>()?;
    for mut worker in workers {
        anyhow::ensure!(worker.wait()?.success(), "a worker failed");
    }
    let after = loss_of_snapshot(&arena)?;
    println!("version {}, loss {before:.4} -> {after:.6}", arena.version()?);
    anyhow::ensure!(arena.version()? == N_WORKERS * N_STEPS, "every step was counted");
    anyhow::ensure!(after < before / 100.0, "the loss did not fall");
    Ok(())
}

fn worker(arena: &MutableArena, seed: u64) -> anyhow::Result<()> {
    let (weight, bias) = (arena.var("weight")?, arena.var("bias")?);
    for step in 0..N_STEPS {
        let (x, y) = samples(32, seed * N_STEPS + step)?;
        let own = [Var::from_tensor(&weight.tensor()?)?, Var::from_tensor(&bias.tensor()?)?];
        let gradients = loss(&x, &y, own[0].as_tensor(), own[1].as_tensor())?.backward()?;
        // One step for both, so that a snapshot has both or none.
        let step = arena.step()?;
        for (shared, own) in [&weight, &bias].into_iter().zip(&own) {
            if let Some(gradient) = gradients.get(own.as_tensor()) {
                step.add(shared, &gradient.affine(-0.05, 0.0)?)?;
            }
        }
    }
    Ok(())
}

fn loss(x: &Tensor, y: &Tensor, weight: &Tensor, bias: &Tensor) -> candle_core::Result<Tensor> {
    candle_nn::loss::mse(&x.matmul(weight)?.broadcast_add(bias)?, y)
}

fn loss_of_snapshot(arena: &MutableArena) -> anyhow::Result<f32> {
    let snapshot = arena.snapshot()?;
    let (x, y) = samples(200, 0)?;
    Ok(loss(&x, &y, &snapshot.tensors["weight"], &snapshot.tensors["bias"])?.to_scalar()?)
}

/// Rows of numbers, and what a linear function makes of them.
fn samples(n: usize, seed: u64) -> candle_core::Result<(Tensor, Tensor)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let numbers = (0..n * WIDTH).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [.., low, high] = state.to_le_bytes();
        f32::from(u16::from_le_bytes([low, high])) / 32768.0 - 1.0
    });
    let x = Tensor::from_iter(numbers, &Device::Cpu)?.reshape((n, WIDTH))?;
    let truth: Vec<f32> = (0..WIDTH).map(|i| if i % 2 == 0 { 1.0 } else { -0.5 }).collect();
    let y = x.matmul(&Tensor::from_vec(truth, (WIDTH, 1), &Device::Cpu)?)?.affine(1.0, 0.25)?;
    Ok((x, y))
}

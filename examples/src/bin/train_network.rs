//! Trains a network on simulated prices, saves it, and lets two hundred agents share it.
//!
//! `RAYON_NUM_THREADS=1 CANDLE_NUM_THREADS=1 cargo run --release -p pams-examples --bin train_network [FOLDER] [EPOCHS]`
//!
//! FOLDER keeps the weights and a config that names them, for `pams run FOLDER/config.json`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::alloc::System;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use candle_core::{DType, Device, Module as _, Result, Tensor, Var};
use candle_nn::{AdamW, Linear, Optimizer as _, ParamsAdamW, loss};
use pams_agent::Registry;
use pams_candle::Networks;
use pams_examples::config_path;
use pams_runner::{MemorySaver, SequentialRunner};
use pams_torch::TorchAgentParallelRunner;
use serde_json::{Value as Json, json};
use tensor_share::ShareAlloc;

/// With this line workers read the network where it is; without it each has a copy.
#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

/// The sizes that `configs/shared_network.json` says.
const SIZES: [usize; 4] = [32, 32, 32, 1];

/// The runs to learn from, and those that are held back. Each has a seed of its own.
const TRAINING: std::ops::Range<u64> = 1..17;
const HELD_BACK: std::ops::Range<u64> = 17..21;

fn main() -> anyhow::Result<()> {
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    // A worker is this program, run again: it runs `main` up to here.
    pams_torch::init(&registry);

    let mut arguments = std::env::args_os().skip(1);
    let temporary = tempfile::tempdir()?;
    let folder = arguments.next().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let epochs = match arguments.next() {
        Some(number) => number.to_str().and_then(|number| number.parse().ok()).context("EPOCHS")?,
        None => 40,
    };

    let (training, held_back) = (Examples::simulate(TRAINING)?, Examples::simulate(HELD_BACK)?);
    println!("{} examples, {} more held back", training.len()?, held_back.len()?);
    let network = Trained::new()?;
    network.train(&training, &held_back, epochs)?;

    fs::create_dir_all(&folder)?;
    network.save(&folder.join("network.safetensors"))?;
    write_config(&folder.join("config.json"))?;

    let report = TorchAgentParallelRunner::new()
        .builder()
        .num_parallel(NonZeroUsize::MIN.saturating_add(1))
        .registry(registry)
        .config_path(folder.join("config.json"))
        .seed(42)
        .build()?
        .run()?;
    println!("200 agents share it: {} orders, {} executions", report.orders, report.executions);
    for market in &report.markets {
        println!("{} ends at {:.2}", market.name, market.market_price);
    }
    println!("{}", report.records_hash.context("it is made by default")?);
    Ok(())
}

/// What a network sees, one row each, and whether the price rose next.
struct Examples {
    rows: Tensor,
    rose: Tensor,
}

impl Examples {
    /// Watches markets without networks.
    fn simulate(seeds: std::ops::Range<u64>) -> anyhow::Result<Self> {
        let (mut rows, mut rose) = (Vec::new(), Vec::new());
        for seed in seeds {
            let mut saver = MemorySaver::default();
            SequentialRunner::builder()
                .config_path(config_path("configs/CI2002.json"))
                .seed(seed)
                .logger(&mut saver)
                .build()?
                .run()?;
            let prices: Vec<f64> = saver.market_prices("Market").map(|(_, price)| price).collect();
            // As `CandleAgent` sees them: in per cent.
            let returns: Vec<f64> =
                prices.windows(2).map(|pair| 100.0 * (pair[1] / pair[0]).ln()).collect();
            for window in returns.windows(SIZES[0] + 1) {
                let (next, past) = window.split_last().context("no window is empty")?;
                if *next != 0.0 {
                    rows.extend_from_slice(past);
                    rose.push(f64::from(u8::from(*next > 0.0)));
                }
            }
        }
        let n = rose.len();
        Ok(Self {
            rows: Tensor::from_vec(rows, (n, SIZES[0]), &Device::Cpu)?.to_dtype(DType::F32)?,
            rose: Tensor::from_vec(rose, (n, 1), &Device::Cpu)?.to_dtype(DType::F32)?,
        })
    }

    fn len(&self) -> Result<usize> {
        self.rose.dim(0)
    }
}

/// A network that learns: the layers of a `CandleAgent`, as variables.
struct Trained(Vec<(Var, Var)>);

impl Trained {
    /// Begins with weights from a seed. candle's own initialisation is another one in each run.
    fn new() -> anyhow::Result<Self> {
        let drawn = Networks::draw(&[1], &SIZES)?.network(0);
        let variables = drawn.layers()?.iter().map(|layer| {
            let bias = layer.bias().context("drawn layers have one")?;
            Ok((Var::from_tensor(layer.weight())?, Var::from_tensor(bias)?))
        });
        Ok(Self(variables.collect::<anyhow::Result<_>>()?))
    }

    /// The network's answers before a threshold: above 0 it expects the price to rise.
    fn ask(&self, rows: &Tensor) -> Result<Tensor> {
        let mut value = rows.clone();
        for (index, (weight, bias)) in self.0.iter().enumerate() {
            if index > 0 {
                value = value.tanh()?;
            }
            let layer = Linear::new(weight.as_tensor().clone(), Some(bias.as_tensor().clone()));
            value = layer.forward(&value)?;
        }
        Ok(value)
    }

    fn train(&self, training: &Examples, held_back: &Examples, epochs: usize) -> Result<()> {
        let variables = self.0.iter().flat_map(|(weight, bias)| [weight.clone(), bias.clone()]);
        let settings = ParamsAdamW { lr: 0.003, ..ParamsAdamW::default() };
        let mut optimizer = AdamW::new(variables.collect(), settings)?;
        for epoch in 0..=epochs {
            let loss =
                loss::binary_cross_entropy_with_logit(&self.ask(&training.rows)?, &training.rose)?;
            if epoch * 5 % epochs.max(1) == 0 {
                let right = self.share_right(held_back)?;
                let loss = loss.to_scalar::<f32>()?;
                println!("epoch {epoch:3}: loss {loss:.4}, {right:.1} % of those held back right");
            }
            if epoch < epochs {
                optimizer.backward_step(&loss)?;
            }
        }
        Ok(())
    }

    /// How often the network's side is the side to which the price went, in per cent.
    fn share_right(&self, examples: &Examples) -> Result<f32> {
        let rises = self.ask(&examples.rows)?.gt(0f32)?.to_dtype(DType::F32)?;
        let right = rises.eq(&examples.rose)?.to_dtype(DType::F32)?;
        Ok(100.0 * right.mean_all()?.to_scalar::<f32>()?)
    }

    /// Under the names that PyTorch gives the layers of an `nn.Sequential`.
    fn save(&self, path: &Path) -> anyhow::Result<()> {
        let mut tensors = BTreeMap::new();
        for (place, (weight, bias)) in self.0.iter().enumerate() {
            tensors.insert(format!("{}.weight", 2 * place), weight.as_tensor().clone());
            tensors.insert(format!("{}.bias", 2 * place), bias.as_tensor().clone());
        }
        safetensors::serialize_to_file(&tensors, None, path)?;
        Ok(())
    }
}

/// The shipped config with the weights beside it.
fn write_config(path: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(config_path("configs/shared_network.json"))?;
    let mut config: Json = serde_json::from_str(&text)?;
    config["Networks"]["weights"] = json!("network.safetensors");
    fs::write(path, serde_json::to_string_pretty(&config)?)?;
    Ok(())
}

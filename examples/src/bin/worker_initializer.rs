//! Loads a model once per worker, onto a device, instead of into every agent.
//!
//! `cargo run --release -p pams-examples --bin worker_initializer`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::path::PathBuf;
use std::sync::OnceLock;

use candle_core::{DType, Device, Module, Tensor};
use candle_nn::{Linear, VarBuilder, VarMap, linear};
use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, Registry, Turn};
use pams_candle::log_returns;
use pams_core::{OrderRequest, Side};
use pams_runner::WorkerInitializer;
use pams_torch::TorchAgentParallelRunner;
use serde::{Deserialize, Serialize};

const HISTORY: u64 = 16;

const CONFIG: &str = r#"{
    "simulation": {"markets": ["Market"], "agents": ["Traders"], "sessions": [
        {"sessionName": "day", "iterationSteps": 200, "withOrderPlacement": true,
         "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 4}]},
    "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
    "Traders": {"class": "Follower", "numAgents": 20, "markets": ["Market"],
                "cashAmount": 10000, "assetVolume": 50}
}"#;

/// The model of this process and where it is computed.
static MODEL: OnceLock<Model> = OnceLock::new();

#[derive(Debug)]
struct Model {
    hidden: Linear,
    output: Linear,
    device: Device,
}

impl Model {
    fn new(weights: &VarBuilder<'_>) -> candle_core::Result<Self> {
        let inputs = usize::try_from(HISTORY)?;
        Ok(Self {
            hidden: linear(inputs, 32, weights.pp("hidden"))?,
            output: linear(32, 1, weights.pp("output"))?,
            device: weights.device().clone(),
        })
    }

    fn ask(&self, row: Vec<f32>) -> candle_core::Result<f32> {
        let row = Tensor::from_vec(row, (1, usize::try_from(HISTORY)?), &self.device)?;
        let hidden = self.hidden.forward(&row)?.tanh()?;
        self.output.forward(&hidden)?.get(0)?.get(0)?.to_scalar()
    }
}

/// Runs in each worker before it is asked anything.
#[derive(Debug)]
struct LoadModel;

impl WorkerInitializer for LoadModel {
    const NAME: &'static str = "load the model";
    type Arguments = PathBuf;

    fn initialize(path: PathBuf) -> Result<(), AgentError> {
        // A GPU if candle was built with one (the feature `cuda`).
        let device = Device::cuda_if_available(0)?;
        let mut variables = VarMap::new();
        let model = Model::new(&VarBuilder::from_varmap(&variables, DType::F32, &device))?;
        variables.load(path)?;
        MODEL.set(model).map_err(|_| "the model is loaded already".into())
    }
}

/// Buys or sells a unit as the model says. The model is no part of the agent.
#[derive(Debug, Serialize, Deserialize)]
struct Follower {}

impl Agent for Follower {
    type Settings = NoSettings;
    type State = ();

    fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(
        &self,
        _: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let model = MODEL.get().ok_or("this process has no model: run it with workers")?;
        for &market in turn.markets() {
            let row = log_returns(&markets[market], HISTORY, 100.0, turn.arithmetic())?;
            let opinion = f64::from(model.ask(row)?) + turn.generator().standard_normal();
            let side = if opinion > 0.0 { Side::Buy } else { Side::Sell };
            let price = markets[market].market_price() * (1.0 + 0.001 * opinion);
            turn.submit(OrderRequest::limit(market, side, price, 1).with_time_to_live(20));
        }
        Ok(())
    }

    fn look_back(&self) -> u64 {
        HISTORY
    }
}

fn main() -> anyhow::Result<()> {
    let mut registry = Registry::builtin();
    registry.agent::<Follower>("Follower");
    // The initializer is named here for the workers, and below with its argument.
    pams_torch::init_with(&registry, &[pams_torch::worker_service::<LoadModel>()]);

    // A model that somebody has trained; here it is as it was drawn.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    let variables = VarMap::new();
    Model::new(&VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu))?;
    variables.save(&path)?;

    let report = TorchAgentParallelRunner::<LoadModel>::with_initializer(path)
        .builder()
        .registry(registry)
        .config_text(CONFIG)
        .seed(42)
        .build()?
        .run()?;
    println!("{} orders, {} executions", report.orders, report.executions);
    Ok(())
}

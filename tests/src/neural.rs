//! Agents with tensors, an initializer, and what workers need to know of them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;

use candle_core::{DType, Device, Tensor, Var};
use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, Registry, Turn};
use pams_candle::log_returns;
use pams_core::{OrderRecord, OrderRequest, Side};
use pams_runner::WorkerInitializer;
use parking_lot::Mutex;
use process_pool::BoxError;
use serde::{Deserialize, Serialize};
use tensor_share::{Arena, MutableArena, SharedTensor, sharing_strategy};

use crate::cancel_agent::CancelAgent;
use crate::simple::{Deed, Simple};
use crate::troublemaker::Troublemaker;

/// The built-in classes, `CandleAgent`, and those below.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    registry
        .agent::<Simple<Doomed>>("Doomed")
        .agent::<Simple<Informer>>("Informer")
        .agent::<Simple<Scribbler>>("Scribbler")
        .agent::<Simple<Counter>>("Counter")
        .agent::<Simple<Historian>>("Historian")
        .agent::<Simple<Trainer>>("Trainer")
        .agent::<Learner>("Learner")
        .agent::<CancelAgent>("CancelAgent")
        .agent::<Troublemaker>("Troublemaker");
    registry
}

/// The line at the top of `main`.
pub fn init() {
    let services = [
        pams_torch::worker_service::<()>(),
        pams_torch::worker_service::<Marking>(),
        pams_runner::worker_service::<Marking>(),
        pams_torch::worker_service::<Faulty>(),
        pams_runner::worker_service::<Faulty>(),
    ];
    pams_runner::init_with(&registry(), &services);
}

/// What a worker was told at its start.
static MARK: OnceLock<PathBuf> = OnceLock::new();

/// Keeps a path for the agents of the worker.
#[derive(Debug)]
pub struct Marking;

impl WorkerInitializer for Marking {
    const NAME: &'static str = "keeps a path";
    type Arguments = PathBuf;

    fn initialize(path: PathBuf) -> Result<(), BoxError> {
        MARK.set(path).map_err(|_| "the initializer ran twice".into())
    }
}

/// Goes wrong as it is told: `panic`, `exit`, `hang`, or else with an error.
#[derive(Debug)]
pub struct Faulty;

impl WorkerInitializer for Faulty {
    const NAME: &'static str = "goes wrong";
    type Arguments = String;

    #[expect(clippy::disallowed_methods, reason = "that is what goes wrong")]
    fn initialize(fault: String) -> Result<(), BoxError> {
        match fault.as_str() {
            "panic" => panic!("the model is no model"),
            "exit" => std::process::exit(7),
            "hang" => loop {
                std::thread::park();
            },
            _ => Err("there is no model".into()),
        }
    }
}

/// The first one that is asked in a worker ends it; in the main process nothing happens.
#[derive(Debug, Serialize, Deserialize)]
pub struct Doomed {}

impl Deed for Doomed {
    fn make() -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(&self, markets: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError> {
        let late = markets.iter().all(|market| market.time().since_start() > 10);
        if late && MARK.get().is_some_and(|path| File::create_new(path).is_ok()) {
            std::process::abort();
        }
        turn.generator().standard_normal();
        Ok(())
    }
}

/// Fails with what it knows of its process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Informer {}

impl Deed for Informer {
    fn make() -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(&self, _: &Markets<'_>, _: &mut Turn<'_>) -> Result<(), AgentError> {
        let threads = candle_core::utils::get_num_threads();
        Err(format!("{}, {threads} threads, {:?}", sharing_strategy(), MARK.get()).into())
    }
}

/// Changes a tensor in place that it should only read.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scribbler {
    tensor: SharedTensor,
}

impl Deed for Scribbler {
    fn make() -> Result<Self, AgentError> {
        let tensor = Tensor::ones(64, DType::F32, &Device::Cpu)?;
        Ok(Self { tensor: SharedTensor::copy_of(&tensor)? })
    }

    fn submit_orders(&self, _: &Markets<'_>, _: &mut Turn<'_>) -> Result<(), AgentError> {
        self.tensor.tensor()?.zero_set()?;
        Ok(())
    }
}

/// Trains a variable of its own when it is asked, and trades by it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Trainer {
    #[serde(skip)]
    weight: OnceLock<Var>,
}

impl Deed for Trainer {
    fn make() -> Result<Self, AgentError> {
        Ok(Self { weight: OnceLock::new() })
    }

    fn submit_orders(&self, _: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError> {
        let zero = Var::from_tensor(&Tensor::zeros((), DType::F64, &Device::Cpu)?)?;
        let weight = self.weight.get_or_init(|| zero);
        weight.set(&(weight.as_tensor() + 1.0)?)?;
        let price = 100.0 + weight.to_scalar::<f64>()?;
        for &market in turn.markets() {
            turn.submit(OrderRequest::limit(market, Side::Buy, price, 1));
        }
        Ok(())
    }
}

/// The arena of the counters that were made last in this process.
pub static COUNTS: Mutex<Option<MutableArena>> = Mutex::new(None);

/// Counts its turns in a variable that all processes see.
#[derive(Debug, Serialize, Deserialize)]
pub struct Counter {
    arena: MutableArena,
}

impl Deed for Counter {
    fn make() -> Result<Self, AgentError> {
        let mut builder = Arena::builder();
        builder.add("turns", DType::F32, 1)?;
        let mut writer = builder.create()?;
        writer.slice_mut::<f32>("turns")?[0] = 0.0;
        let arena = writer.open_to_all()?;
        *COUNTS.lock() = Some(arena.clone());
        Ok(Self { arena })
    }

    fn submit_orders(&self, _: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError> {
        let one = Tensor::ones(1, DType::F32, &Device::Cpu)?;
        self.arena.var("turns")?.add(&one)?;
        for &market in turn.markets() {
            turn.submit(OrderRequest::market(market, Side::Buy, 1));
        }
        Ok(())
    }
}

/// Fails when the returns are not what the prices say.
#[derive(Debug, Serialize, Deserialize)]
pub struct Historian {}

impl Deed for Historian {
    const LOOK_BACK: u64 = 4;

    fn make() -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(&self, markets: &Markets<'_>, turn: &mut Turn<'_>) -> Result<(), AgentError> {
        for market in markets.iter() {
            let price = |step| market.values_at(step).map(|values| values.market_price);
            let returns = log_returns(market, 4, 100.0, turn.arithmetic())?;
            for (age, &found) in returns.iter().rev().enumerate() {
                let step = market.time().saturating_sub(u64::try_from(age)?);
                let expected = if step.since_start() == 0 {
                    0.0
                } else {
                    100.0 * (price(step)? / price(step.saturating_sub(1))?).ln()
                };
                if (f64::from(found) - expected).abs() > 1e-6 {
                    return Err(format!("age {age} of {returns:?}: expected {expected}").into());
                }
            }
        }
        Ok(())
    }
}

/// Keeps the price of its last order in a tensor of its own, made by a callback.
#[derive(Debug, Serialize, Deserialize)]
pub struct Learner {}

/// What the agent learned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Learned {
    price: Option<SharedTensor>,
}

impl Agent for Learner {
    type Settings = NoSettings;
    type State = Learned;

    fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(
        &self,
        learned: &Learned,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let last = learned.price.as_ref().map(SharedTensor::tensor).transpose()?;
        let last = last.map(|tensor| tensor.to_scalar::<f64>()).transpose()?;
        for &market in turn.markets() {
            let price = last.unwrap_or(markets[market].market_price());
            let price = price * (1.0 + 0.01 * turn.generator().standard_normal());
            turn.submit(OrderRequest::limit(market, Side::Buy, price, 1).with_time_to_live(5));
        }
        Ok(())
    }

    fn accepted(&self, learned: &mut Learned, order: &OrderRecord) {
        let tensor = order.price.map(|price| Tensor::new(price, &Device::Cpu));
        learned.price =
            tensor.and_then(Result::ok).and_then(|one| SharedTensor::copy_of(&one).ok());
    }
}

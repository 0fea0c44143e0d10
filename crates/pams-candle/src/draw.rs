//! Drawing the weights of any model of candle-nn from seeds.

use std::sync::Arc;

use candle_core::{DType, Device, Shape, Tensor};
use candle_nn::init::NormalOrUniform;
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use pams_core::random::{Generator, GeneratorKind};
use parking_lot::Mutex;
use tensor_share::Arena;

use crate::error::Result;

/// The tensors that a model asks for, in this order.
#[derive(Debug, Default)]
pub(crate) struct Plan(Vec<Wanted>);

#[derive(Debug)]
struct Wanted {
    name: String,
    shape: Shape,
    init: Init,
}

impl Plan {
    /// What `build` asks for.
    pub(crate) fn of<M>(
        build: impl FnOnce(VarBuilder<'static>) -> candle_core::Result<M>,
    ) -> Result<Self> {
        let wanted = Arc::new(Mutex::new(Self::default()));
        let backend = Box::new(Planner(Arc::clone(&wanted)));
        build(VarBuilder::from_backend(backend, DType::F32, Device::Cpu))?;
        let plan = std::mem::take(&mut *wanted.lock());
        Ok(plan)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|wanted| wanted.name.as_str())
    }

    /// One memory with the tensors drawn from each seed; their names have the seed's place in front.
    pub(crate) fn draw(&self, seeds: &[u64]) -> Result<Arena> {
        let mut builder = Arena::builder();
        let name = |number: usize, wanted: &Wanted| format!("{number}.{}", wanted.name);
        for number in 0..seeds.len() {
            for wanted in &self.0 {
                builder.add(&name(number, wanted), DType::F32, wanted.shape.clone())?;
            }
        }
        let mut writer = builder.create()?;
        for (number, &seed) in seeds.iter().enumerate() {
            let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, seed);
            for wanted in &self.0 {
                let elements = writer.slice_mut::<f32>(&name(number, wanted))?;
                fill(elements, &wanted.shape, wanted.init, &mut generator);
            }
        }
        Ok(writer.seal()?)
    }
}

/// Writes down what it is asked for and answers with zeros.
struct Planner(Arc<Mutex<Plan>>);

impl SimpleBackend for Planner {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        if dtype != DType::F32 {
            candle_core::bail!("{name} is asked for as {dtype:?}: shared models are in 32 bits");
        }
        let zeros = Tensor::zeros(shape.clone(), dtype, device)?;
        let mut plan = self.0.lock();
        match plan.0.iter().find(|wanted| wanted.name == name) {
            None => plan.0.push(Wanted { name: name.to_owned(), shape, init }),
            Some(known) if known.shape == shape => {}
            Some(known) => {
                let known = &known.shape;
                candle_core::bail!("{name} is asked for with the shapes {known:?} and {shape:?}")
            }
        }
        Ok(zeros)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> candle_core::Result<Tensor> {
        candle_core::bail!("{name} is asked for without a shape, with which it can't be drawn")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        false
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "networks compute in 32 bits, and no layer has 2^53 inputs"
)]
fn fill(elements: &mut [f32], shape: &Shape, init: Init, generator: &mut Generator) {
    match init {
        Init::Const(value) => elements.fill(value as f32),
        Init::Randn { mean, stdev } => {
            elements.fill_with(|| (mean + stdev * generator.standard_normal()) as f32);
        }
        Init::Uniform { lo, up } => elements.fill_with(|| generator.uniform(lo, up) as f32),
        Init::Kaiming { dist, fan, non_linearity } => {
            let deviation = non_linearity.gain() / (fan.for_shape(shape) as f64).sqrt();
            let bound = 3f64.sqrt() * deviation;
            elements.fill_with(|| match dist {
                NormalOrUniform::Normal => (deviation * generator.standard_normal()) as f32,
                NormalOrUniform::Uniform => generator.uniform(-bound, bound) as f32,
            });
        }
    }
}

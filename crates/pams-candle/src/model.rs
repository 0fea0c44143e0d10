//! Models of one's own whose weights live once for all agents of a group and all processes.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tensor_share::Arena;

use crate::draw::Plan;
use crate::error::{Error, ErrorKind, Result};
use crate::load;
use crate::network::to_shared_floats;

/// A model of candle-nn that agents can hold as a [`SharedModel`].
///
/// Both items are required. `build` may be called in any process and any number of times; it asks
/// for the same tensors each time, each with its shape, as all layers of candle-nn do.
///
/// ```
/// use candle_core::{Module, Result, Tensor};
/// use candle_nn::{Linear, VarBuilder, linear};
/// use pams_candle::{Model, SharedModel};
///
/// /// A hidden layer whose result is added to its input.
/// #[derive(Debug)]
/// struct Residual {
///     hidden: Linear,
///     output: Linear,
/// }
///
/// impl Model for Residual {
///     type Sizes = usize;
///
///     fn build(&inputs: &usize, weights: VarBuilder<'static>) -> Result<Self> {
///         Ok(Self {
///             hidden: linear(inputs, inputs, weights.pp("hidden"))?,
///             output: linear(inputs, 1, weights.pp("output"))?,
///         })
///     }
/// }
///
/// impl Module for Residual {
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         self.output.forward(&(x + self.hidden.forward(x)?.tanh()?)?)
///     }
/// }
///
/// // Two models from two seeds, in one memory. serde writes where that is.
/// let models = SharedModel::<Residual>::draw(&8, &[1, 2])?;
/// let written = serde_json::to_string(&models[1])?;
/// let copy: SharedModel<Residual> = serde_json::from_str(&written)?;
/// # let x = Tensor::ones((1, 8), candle_core::DType::F32, &candle_core::Device::Cpu)?;
/// # let ask = |model: &SharedModel<Residual>| model.get().unwrap().forward(&x)?.to_vec2::<f32>();
/// # assert_eq!(ask(&copy)?, ask(&models[1])?);
/// # assert_ne!(ask(&copy)?, ask(&models[0])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Model: fmt::Debug + Send + Sync + Sized + 'static {
    /// What the shapes of the tensors follow from.
    type Sizes: Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static;

    /// Puts the model together from its weights, in 32 bits and in CPU memory.
    ///
    /// # Errors
    ///
    /// Those of candle, such as a tensor that is not there or has another shape.
    fn build(sizes: &Self::Sizes, weights: VarBuilder<'static>) -> candle_core::Result<Self>;
}

/// A model whose weights lie in shared memory, with those of other models or alone.
///
/// serde writes the sizes and where the weights are, a few dozen bytes whatever there is of them. A
/// copy builds the model when it is first asked for; its tensors are the shared ones. Clones are
/// cheap.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct SharedModel<M: Model> {
    sizes: M::Sizes,
    arena: Arena,
    /// The model's number in the arena, where it is one of several.
    number: Option<usize>,
    #[serde(skip)]
    model: Arc<OnceLock<M>>,
}

impl<M: Model> SharedModel<M> {
    /// Draws a model from each seed, all into one memory. Each tensor is drawn as the model asks
    /// for it ([`candle_nn::Init`]), in the order in which `build` does, from a xoshiro256++
    /// generator. candle's own variables are drawn from another seed in each run.
    ///
    /// # Errors
    ///
    /// When the model can't be built, asks for other tensors than those of 32 bits, or there is no
    /// room.
    pub fn draw(sizes: &M::Sizes, seeds: &[u64]) -> Result<Vec<Self>> {
        let plan = Plan::of(|weights| M::build(sizes, weights))?;
        let arena = plan.draw(seeds)?;
        let models = (0..seeds.len()).map(|number| Self {
            sizes: sizes.clone(),
            arena: arena.clone(),
            number: Some(number),
            model: Arc::default(),
        });
        Ok(models.collect())
    }

    /// Loads a model from a safetensors file or a PyTorch file (`.pt`, `.pth`), in which its
    /// tensors have the names that `build` asks for, at the top or under `state_dict`,
    /// `model_state_dict` or `model`. Other floats than 32 bits are converted; other tensors of the
    /// file are left out.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or the model can't be built from it.
    pub fn load(sizes: &M::Sizes, path: &Path) -> Result<Self> {
        let mismatch = |error: candle_core::Error| {
            Error::new(ErrorKind::Shape, format!("{}: {error}", path.display()))
        };
        let mut found = load::read(path)?;
        let plan = Plan::of(|weights| M::build(sizes, weights))?;
        let mut tensors = Vec::new();
        for name in plan.names() {
            let Some(tensor) = found.remove(name) else { continue };
            tensors.push((name, to_shared_floats(name, &tensor)?));
        }
        let arena = Arena::from_tensors(tensors.iter().map(|(name, tensor)| (*name, tensor)))?;
        let mut model = Self { sizes: sizes.clone(), arena, number: None, model: Arc::default() };
        model.model = Arc::new(OnceLock::from(model.build().map_err(mismatch)?));
        Ok(model)
    }

    /// The model, which is built when this is first called.
    ///
    /// # Errors
    ///
    /// When its memory can't be read.
    pub fn get(&self) -> Result<&M> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let built = self.build()?;
        Ok(self.model.get_or_init(|| built))
    }

    /// The shared memory that holds the weights.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    fn build(&self) -> candle_core::Result<M> {
        let weights = self.arena.var_builder(DType::F32, &Device::Cpu);
        let weights = match self.number {
            Some(number) => weights.pp(number),
            None => weights,
        };
        M::build(&self.sizes, weights)
    }
}

impl<M: Model> Clone for SharedModel<M> {
    fn clone(&self) -> Self {
        Self {
            sizes: self.sizes.clone(),
            arena: self.arena.clone(),
            number: self.number,
            model: Arc::clone(&self.model),
        }
    }
}

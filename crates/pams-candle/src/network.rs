//! Networks whose weights live once for all agents of a group and all processes.

use std::sync::OnceLock;

use candle_core::{DType, Device, Module, Tensor};
use candle_nn::Linear;
use pams_core::random::{Generator, GeneratorKind};
use serde::{Deserialize, Serialize};
use tensor_share::{Arena, ArenaWriter};

use crate::device::check_location;
use crate::error::{Error, ErrorKind, Result};

/// A multi-layer perceptron in 32 bits: linear layers with tanh between them.
///
/// The weights lie in shared memory together with those of other networks; serde writes where they
/// are, a few dozen bytes whatever the size of the network. Clones are cheap.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Network {
    arena: Arena,
    /// The network's number in the arena.
    number: usize,
    n_layers: usize,
    /// Made when the network is first asked in a process.
    #[serde(skip)]
    layers: OnceLock<Vec<Linear>>,
}

impl Network {
    /// What the network, which has one output, answers to one row of input.
    ///
    /// Networks are asked one row at a time: a product with several rows is rounded differently.
    ///
    /// # Errors
    ///
    /// When the row does not fit to the network, or its memory can't be read.
    pub fn ask(&self, row: &[f32]) -> Result<f32> {
        let mut value = Tensor::from_slice(row, (1, row.len()), &Device::Cpu)?;
        for (index, layer) in self.layers()?.iter().enumerate() {
            if index > 0 {
                value = value.tanh()?;
            }
            value = layer.forward(&value)?;
        }
        Ok(value.reshape(())?.to_scalar()?)
    }

    /// The layers, on the shared memory, for models that are put together otherwise.
    ///
    /// # Errors
    ///
    /// When the memory can't be read.
    pub fn layers(&self) -> Result<&[Linear]> {
        if let Some(layers) = self.layers.get() {
            return Ok(layers);
        }
        let layers = (0..self.n_layers).map(|layer| {
            let (weight, bias) = names(self.number, layer);
            let bias = self.arena.contains(&bias).then(|| self.arena.tensor(&bias)).transpose()?;
            Ok(Linear::new(self.arena.tensor(&weight)?, bias))
        });
        let layers = layers.collect::<Result<_>>()?;
        Ok(self.layers.get_or_init(|| layers))
    }

    /// The shared memory that holds the weights.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }
}

/// Networks of the same shape whose weights lie in one arena.
///
/// ```
/// use pams_candle::Networks;
///
/// // Two networks with 4 inputs, a hidden layer of 8 and one output, from two seeds.
/// let networks = Networks::draw(&[1, 2], &[4, 8, 1])?;
/// let [first, second] = [networks.network(0), networks.network(1)];
/// assert_eq!(first.arena().id(), second.arena().id());
/// assert_ne!(first.ask(&[1.0, 0.0, 0.0, 0.0])?, second.ask(&[1.0, 0.0, 0.0, 0.0])?);
/// # Ok::<(), pams_candle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Networks {
    arena: Arena,
    len: usize,
    n_layers: usize,
}

impl Networks {
    /// Draws a network from each seed: weights and biases are normals over the square root of the
    /// layer's number of inputs, from a xoshiro256++ generator, layer by layer, weights first. The
    /// sizes are those of input, hidden layers and output. The weights are written in place, so
    /// they exist once.
    ///
    /// # Errors
    ///
    /// When there is no room for the weights.
    ///
    /// # Panics
    ///
    /// If there are less than two sizes.
    pub fn draw(seeds: &[u64], sizes: &[usize]) -> Result<Self> {
        assert!(sizes.len() >= 2, "a network has an input and an output");
        let mut builder = Arena::builder();
        for number in 0..seeds.len() {
            for (layer, size) in sizes.windows(2).enumerate() {
                let (weight, bias) = names(number, layer);
                builder.add(&weight, DType::F32, (size[1], size[0]))?;
                builder.add(&bias, DType::F32, size[1])?;
            }
        }
        let mut writer = builder.create()?;
        for (number, &seed) in seeds.iter().enumerate() {
            let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, seed);
            for (layer, size) in sizes.windows(2).enumerate() {
                let (weight, bias) = names(number, layer);
                fill(&mut writer, &weight, size[0], &mut generator)?;
                fill(&mut writer, &bias, size[0], &mut generator)?;
            }
        }
        Ok(Self { arena: writer.seal()?, len: seeds.len(), n_layers: sizes.len() - 1 })
    }

    /// Copies one network from tensors: for each layer its name, its weight and its bias, if it has
    /// one. Other floats than 32 bits are converted.
    ///
    /// # Errors
    ///
    /// When a tensor is not on the CPU or there is no room.
    pub fn from_layers(layers: &[(String, Tensor, Option<Tensor>)]) -> Result<Self> {
        let mut tensors = Vec::new();
        for (layer, (name, weight, bias)) in layers.iter().enumerate() {
            let (weight_name, bias_name) = names(0, layer);
            for (new_name, tensor) in [(weight_name, Some(weight)), (bias_name, bias.as_ref())] {
                let Some(tensor) = tensor else { continue };
                tensors.push((new_name, to_shared_floats(name, tensor)?));
            }
        }
        let arena = Arena::from_tensors(tensors.iter().map(|(name, tensor)| (name, tensor)))?;
        Ok(Self { arena, len: 1, n_layers: layers.len() })
    }

    /// A network.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[must_use]
    pub fn network(&self, number: usize) -> Network {
        assert!(number < self.len, "network {number} of {}", self.len);
        Network {
            arena: self.arena.clone(),
            number,
            n_layers: self.n_layers,
            layers: OnceLock::new(),
        }
    }

    /// How many networks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The tensor in 32 bits, if it can be shared.
pub(crate) fn to_shared_floats(name: &str, tensor: &Tensor) -> Result<Tensor> {
    check_location(name, tensor.device().location())?;
    if !tensor.dtype().is_float() {
        let text = format!("{name} holds {:?}, not floats", tensor.dtype());
        return Err(Error::new(ErrorKind::Shape, text));
    }
    Ok(tensor.to_dtype(DType::F32)?)
}

/// The names of a layer's weight and bias in an arena, as PyTorch names those of a sequence of
/// linear layers with an activation between them.
fn names(number: usize, layer: usize) -> (String, String) {
    let place = 2 * layer;
    (format!("{number}.{place}.weight"), format!("{number}.{place}.bias"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "networks compute in 32 bits, and no layer has 2^53 inputs"
)]
fn fill(
    writer: &mut ArenaWriter,
    name: &str,
    n_inputs: usize,
    generator: &mut Generator,
) -> Result<()> {
    let scale = (n_inputs as f64).sqrt().recip();
    for element in writer.slice_mut::<f32>(name)? {
        *element = (generator.standard_normal() * scale) as f32;
    }
    Ok(())
}

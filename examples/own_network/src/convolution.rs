//! The model: two convolutions over time, their mean, and a linear layer.

use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::{Conv1d, Conv1dConfig, Linear, VarBuilder, conv1d, linear};
use pams_candle::Model;
use serde::{Deserialize, Serialize};

/// How many steps a convolution sees.
const KERNEL: usize = 5;

/// What the shapes of the weights follow from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// The channels of both convolutions.
    pub channels: usize,
}

/// Finds short patterns in a series, wherever they are.
///
/// In PyTorch the same model has the layers `nn.Conv1d(1, channels, 5)`,
/// `nn.Conv1d(channels, channels, 5)` and `nn.Linear(channels, 1)`, called `first`, `second` and
/// `output`. Its state dict can be loaded.
#[derive(Debug)]
pub struct Convolution {
    first: Conv1d,
    second: Conv1d,
    output: Linear,
}

impl Convolution {
    /// The shortest series that it can be asked about.
    pub const SHORTEST: usize = 2 * (KERNEL - 1) + 1;

    /// What the model makes of a series, the newest value last.
    ///
    /// # Errors
    ///
    /// When the series is too short.
    pub fn ask(&self, series: &[f32]) -> Result<f32> {
        // One series with one channel.
        let series = Tensor::from_slice(series, (1, 1, series.len()), &Device::Cpu)?;
        let patterns = self.second.forward(&self.first.forward(&series)?.tanh()?)?.tanh()?;
        self.output.forward(&patterns.mean(D::Minus1)?)?.reshape(())?.to_scalar()
    }
}

impl Model for Convolution {
    type Sizes = Sizes;

    fn build(&Sizes { channels }: &Sizes, weights: VarBuilder<'static>) -> Result<Self> {
        let config = Conv1dConfig::default();
        Ok(Self {
            first: conv1d(1, channels, KERNEL, config, weights.pp("first"))?,
            second: conv1d(channels, channels, KERNEL, config, weights.pp("second"))?,
            output: linear(channels, 1, weights.pp("output"))?,
        })
    }
}

//! Arenas as a source of weights for candle-nn.

use candle_core::{DType, Device, Error, Result, Shape, Tensor};
use candle_nn::Init;
use candle_nn::var_builder::SimpleBackend;

use crate::arena::Arena;

pub(crate) struct ArenaBackend(pub(crate) Arena);

impl SimpleBackend for ArenaBackend {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        if *tensor.shape() != shape {
            let msg = format!("shape mismatch for {name} in arena {}", self.0.id());
            let got = tensor.shape().clone();
            return Err(Error::UnexpectedShape { msg, expected: shape, got }.bt());
        }
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        if !self.0.contains(name) {
            return Err(Error::CannotFindTensor { path: name.to_owned() }.bt());
        }
        self.0.tensor(name).map_err(Error::wrap)?.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

//! Where the tensors of agents may be.

use candle_core::DeviceLocation;

use crate::error::{Error, ErrorKind, Result};

/// Refuses a tensor of an agent that is not in CPU memory.
///
/// ```
/// use candle_core::DeviceLocation;
/// use pams_candle::check_location;
///
/// assert!(check_location("0.weight", DeviceLocation::Cpu).is_ok());
/// let error = check_location("0.weight", DeviceLocation::Cuda { gpu_id: 1 }).unwrap_err();
/// assert!(error.to_string().starts_with("tensor 0.weight is on CUDA device 1"));
/// ```
///
/// # Errors
///
/// When it is not; the text says what to do instead.
pub fn check_location(tensor: &str, location: DeviceLocation) -> Result<()> {
    let device = match location {
        DeviceLocation::Cpu => return Ok(()),
        DeviceLocation::Cuda { gpu_id } => format!("CUDA device {gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("Metal device {gpu_id}"),
    };
    let text = format!(
        "tensor {tensor} is on {device}, but agents hold tensors in CPU memory only, which worker \
         processes share: keep the agent's weights on the CPU, and load the model onto the device \
         in the worker initializer, once per worker"
    );
    Err(Error::new(ErrorKind::Device, text))
}

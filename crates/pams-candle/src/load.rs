//! Networks from files of weights.

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::pickle::PthTensors;
use candle_core::{Device, Tensor};

use crate::error::{Error, ErrorKind, Result};
use crate::network::Networks;

/// Where PyTorch programs put the weights in a larger dict.
const KEYS: [&str; 3] = ["state_dict", "model_state_dict", "model"];

impl Networks {
    /// Loads one network from a safetensors file or a PyTorch file (`.pt`, `.pth`), whose layers
    /// must have these sizes: input, hidden layers, output.
    ///
    /// A layer is a matrix `….weight` and, unless it has none, a vector `….bias`, as `torch.nn` and
    /// candle name them. Layers are taken in the order of the numbers in their names, else of their
    /// letters, so `0`, `2`, `10` of an `nn.Sequential` come in this order. A PyTorch file is the
    /// state dict itself, or has it under `state_dict`, `model_state_dict` or `model`. Nothing in it
    /// is run.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or holds another network.
    pub fn load(path: &Path, sizes: &[usize]) -> Result<Self> {
        let tensors = match path.extension().and_then(|extension| extension.to_str()) {
            Some("safetensors") => candle_core::safetensors::load(path, &Device::Cpu)
                .map_err(|error| Error::file(path, error))?
                .into_iter()
                .collect(),
            Some("pt" | "pth") => pytorch(path)?,
            _ => {
                let text = "weights are read from .safetensors, .pt and .pth files";
                return Err(Error::file(path, text));
            }
        };
        let mismatch =
            |text: String| Error::new(ErrorKind::Shape, format!("{}: {text}", path.display()));
        let layers = layers(tensors).map_err(mismatch)?;
        check(&layers, sizes).map_err(mismatch)?;
        Self::from_layers(&layers)
    }
}

fn pytorch(path: &Path) -> Result<BTreeMap<String, Tensor>> {
    let failed = |error| Error::file(path, error);
    let keys = std::iter::once(None).chain(KEYS.into_iter().map(Some));
    for key in keys {
        let found = match PthTensors::new(path, key) {
            Ok(found) => found,
            // Another key may do; without one, the file itself is at fault.
            Err(_) if key.is_some() => continue,
            Err(error) => return Err(failed(error)),
        };
        let mut names: Vec<&String> = found.tensor_infos().keys().collect();
        names.sort_unstable();
        if names.is_empty() {
            continue;
        }
        let mut tensors = BTreeMap::new();
        for name in names {
            let tensor = found.get(name).map_err(failed)?;
            tensors.insert(name.clone(), tensor.expect("invariant: a name of this file"));
        }
        return Ok(tensors);
    }
    let keys = KEYS.join(", ");
    Err(Error::file(path, format!("there are no tensors at its top or under {keys}")))
}

type Layer = (String, Tensor, Option<Tensor>);

/// The layers in order; every tensor must belong to one.
fn layers(mut tensors: BTreeMap<String, Tensor>) -> Result<Vec<Layer>, String> {
    let mut names: Vec<String> = tensors
        .iter()
        .filter(|(_, tensor)| tensor.dims().len() == 2)
        .filter_map(|(name, _)| name.strip_suffix("weight").map(str::to_owned))
        .collect();
    names.sort_by_cached_key(|name| natural(name));
    let mut layers = Vec::with_capacity(names.len());
    for name in names {
        let weight = tensors.remove(&format!("{name}weight"));
        let weight = weight.expect("invariant: a name of this map");
        let bias = tensors.remove(&format!("{name}bias"));
        if let Some(bias) = &bias
            && bias.dims() != &weight.dims()[..1]
        {
            let (found, expected) = (bias.dims(), &weight.dims()[..1]);
            return Err(format!("{name}bias has the shape {found:?}, expected {expected:?}"));
        }
        layers.push((format!("{name}weight"), weight, bias));
    }
    match tensors.keys().next() {
        None => Ok(layers),
        Some(name) => Err(format!("{name} belongs to no linear layer")),
    }
}

fn check(layers: &[Layer], sizes: &[usize]) -> Result<(), String> {
    let expected: Vec<[usize; 2]> = sizes.windows(2).map(|size| [size[1], size[0]]).collect();
    let found: Vec<&[usize]> = layers.iter().map(|(_, weight, _)| weight.dims()).collect();
    if expected == found {
        return Ok(());
    }
    let names: Vec<&str> = layers.iter().map(|(name, _, _)| name.as_str()).collect();
    Err(format!(
        "its layers ({}) have the shapes {found:?}, expected {expected:?} (historyLength inputs, \
         hiddenSizes, 1 output)",
        names.join(", ")
    ))
}

/// A key by which `2` comes before `10`: each run of digits as a number, with the text before it.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits);
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        parts.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn layers_are_ordered_by_their_numbers() {
        let mut names = ["net.10.", "net.2.", "net.0.", "head.", "fc2.", "fc1.", "10.", "9."];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["9.", "10.", "fc1.", "fc2.", "head.", "net.0.", "net.2.", "net.10."]);
    }
}

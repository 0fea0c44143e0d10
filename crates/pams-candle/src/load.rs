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
    /// candle name them. Layers are taken in the order of the numbers in their names, so `0`, `2`,
    /// `10` of an `nn.Sequential` come in this order, else of their letters; if two layers of the
    /// same shape differ in letters only, the order is refused as a guess, and
    /// [`load_layers`](Self::load_layers) is told it. A PyTorch file is the state dict itself, or
    /// has it under `state_dict`, `model_state_dict` or `model`. Nothing in it is run.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or holds another network.
    pub fn load(path: &Path, sizes: &[usize]) -> Result<Self> {
        Self::of_layers(path, |tensors| {
            let layers = all_layers(tensors)?;
            check(&layers, sizes)?;
            check_order(&layers)?;
            Ok(layers)
        })
    }

    /// As [`load`](Self::load), with the names of the layers in the order in which they are
    /// computed. For the name `net.first` the file has a matrix `net.first.weight` and, unless the
    /// layer has none, a vector `net.first.bias`. Other tensors of the file are left alone.
    ///
    /// # Errors
    ///
    /// When the file can't be read, a layer is not in it, or a layer has another shape.
    pub fn load_layers(path: &Path, names: &[String], sizes: &[usize]) -> Result<Self> {
        Self::of_layers(path, |tensors| {
            let layers = named_layers(tensors, names)?;
            check(&layers, sizes)?;
            Ok(layers)
        })
    }

    fn of_layers(
        path: &Path,
        layers: impl FnOnce(BTreeMap<String, Tensor>) -> Result<Vec<Layer>, String>,
    ) -> Result<Self> {
        let layers = layers(read(path)?)
            .map_err(|text| Error::new(ErrorKind::Shape, format!("{}: {text}", path.display())))?;
        Self::from_layers(&layers)
    }
}

/// The tensors of a safetensors file or a PyTorch file, by name.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Tensor>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("safetensors") => candle_core::safetensors::load(path, &Device::Cpu)
            .map_err(|error| Error::file(path, error))
            .map(|tensors| tensors.into_iter().collect()),
        Some("pt" | "pth") => pytorch(path),
        _ => Err(Error::file(path, "weights are read from .safetensors, .pt and .pth files")),
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

/// The layers in the order of their names; every tensor must belong to one.
fn all_layers(mut tensors: BTreeMap<String, Tensor>) -> Result<Vec<Layer>, String> {
    let mut names: Vec<String> = tensors
        .iter()
        .filter(|(_, tensor)| tensor.dims().len() == 2)
        .filter_map(|(name, _)| name.strip_suffix("weight").map(str::to_owned))
        .collect();
    names.sort_by_cached_key(|name| natural(name));
    let layers = names.iter().map(|name| take_layer(&mut tensors, name));
    let layers = layers.collect::<Result<_, _>>()?;
    match tensors.keys().next() {
        None => Ok(layers),
        Some(name) => Err(format!(
            "{name} belongs to no linear layer; if it is no part of the network, layerNames \
                 says what is"
        )),
    }
}

/// The layers with these names, in this order.
fn named_layers(
    mut tensors: BTreeMap<String, Tensor>,
    names: &[String],
) -> Result<Vec<Layer>, String> {
    names.iter().map(|name| take_layer(&mut tensors, &format!("{name}."))).collect()
}

/// The layer whose tensors begin with `prefix`.
fn take_layer(tensors: &mut BTreeMap<String, Tensor>, prefix: &str) -> Result<Layer, String> {
    let name = format!("{prefix}weight");
    let Some(weight) = tensors.remove(&name) else {
        let others: Vec<&str> = tensors.keys().map(String::as_str).collect();
        return Err(format!("there is no {name} among its other tensors: {}", others.join(", ")));
    };
    if weight.dims().len() != 2 {
        let found = weight.dims();
        return Err(format!("{name} has the shape {found:?}, and a linear layer is a matrix"));
    }
    let bias = tensors.remove(&format!("{prefix}bias"));
    if let Some(bias) = &bias
        && bias.dims() != &weight.dims()[..1]
    {
        let (found, expected) = (bias.dims(), &weight.dims()[..1]);
        return Err(format!("{prefix}bias has the shape {found:?}, expected {expected:?}"));
    }
    Ok((name, weight, bias))
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
         hiddenSizes, 1 output); layerNames says their order if it is another one",
        names.join(", ")
    ))
}

/// Refuses an order that is a guess: two layers that could change places, by their shapes, and whose
/// names differ in letters before they differ in a number.
fn check_order(layers: &[Layer]) -> Result<(), String> {
    for (index, (name, weight, _)) in layers.iter().enumerate() {
        for (other, other_weight, _) in &layers[index + 1..] {
            let (one, two) = (natural(name), natural(other));
            let letters =
                one.iter().zip(&two).find(|(one, two)| one != two).is_none_or(|(a, b)| a.0 != b.0);
            if letters && weight.dims() == other_weight.dims() {
                return Err(format!(
                    "the names {name} and {other} do not tell which comes first: layerNames says it"
                ));
            }
        }
    }
    Ok(())
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

//! Tensors from maps and files into the places of an arena.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use candle_core::pickle::PthTensors;
use candle_core::{DType, Tensor};
use candle_nn::VarMap;
use safetensors::tensor::Metadata;

use crate::builder::{ArenaBuilder, ArenaWriter};
use crate::error::{Cause, Error, Result};

pub(crate) fn from_tensors<'a, N: AsRef<str>>(
    mut builder: ArenaBuilder,
    tensors: impl IntoIterator<Item = (N, &'a Tensor)>,
) -> Result<ArenaWriter> {
    let tensors: Vec<(N, &Tensor)> = tensors.into_iter().collect();
    for (name, tensor) in &tensors {
        builder.add(name.as_ref(), tensor.dtype(), tensor.shape().clone())?;
    }
    let mut writer = builder.create()?;
    for (name, tensor) in &tensors {
        writer.write(name.as_ref(), tensor)?;
    }
    Ok(writer)
}

pub(crate) fn from_var_map(builder: ArenaBuilder, variables: &VarMap) -> Result<ArenaWriter> {
    // A poisoned lock still guards a whole map: candle's variables are set one by one.
    let data = variables.data().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut named: Vec<_> = data.iter().map(|(name, var)| (name, var.as_tensor())).collect();
    named.sort_by_key(|&(name, _)| name);
    from_tensors(builder, named)
}

/// As in the reader of safetensors, against files that are no such file.
const LONGEST_HEADER: u64 = 100_000_000;

pub(crate) fn from_safetensors(mut builder: ArenaBuilder, path: &Path) -> Result<ArenaWriter> {
    let failed = |problem: String| Error::from(Cause::File { path: path.to_owned(), problem });
    let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let length = file.metadata().map_err(|error| failed(error.to_string()))?.len();

    let mut prefix = [0; 8];
    file.read_exact(&mut prefix).map_err(|error| failed(format!("{length} bytes: {error}")))?;
    let header_len = u64::from_le_bytes(prefix);
    if header_len > LONGEST_HEADER || header_len > length - 8 {
        return Err(failed(format!(
            "it says that its header has {header_len} bytes, the file has {length}"
        )));
    }
    let mut header = Vec::new();
    let read = (&mut file).take(header_len).read_to_end(&mut header);
    read.map_err(|error| failed(error.to_string()))?;
    let metadata: Metadata =
        serde_json::from_slice(&header).map_err(|error| failed(format!("its header: {error}")))?;
    let data = length - 8 - header_len;
    if metadata.data_len() as u64 != data {
        let said = metadata.data_len();
        return Err(failed(format!("its header says {said} bytes of data, the file has {data}")));
    }

    let names = metadata.offset_keys();
    for name in &names {
        let info = metadata.info(name).expect("invariant: a name of this header");
        let dtype = DType::try_from(info.dtype)
            .map_err(|_| failed(format!("dtype {:?} of {name} is none of candle's", info.dtype)))?;
        builder.add(name, dtype, info.shape.as_slice())?;
    }
    let mut writer = builder.create()?;
    // In the order of the file, so that it is read once from front to back.
    for name in &names {
        let bytes = writer.bytes_mut(name)?;
        file.read_exact(bytes).map_err(|error| failed(format!("tensor {name}: {error}")))?;
    }
    Ok(writer)
}

pub(crate) fn from_pth(
    mut builder: ArenaBuilder,
    path: &Path,
    key: Option<&str>,
) -> Result<ArenaWriter> {
    let failed = |source| Error::from(Cause::FileCandle { path: path.to_owned(), source });
    let tensors = PthTensors::new(path, key).map_err(failed)?;
    // candle keeps them in a hash map.
    let mut infos: Vec<_> = tensors.tensor_infos().values().collect();
    infos.sort_by(|one, other| one.name.cmp(&other.name));
    if infos.is_empty() {
        let under = key.map_or_else(|| "at its top".to_owned(), |key| format!("under {key}"));
        let problem = format!("it has no tensors {under}; is the state dict under another key?");
        return Err(Cause::File { path: path.to_owned(), problem }.into());
    }
    for info in &infos {
        builder.add(&info.name, info.dtype, info.layout.shape().clone())?;
    }
    let mut writer = builder.create()?;
    for info in &infos {
        let tensor = tensors.get(&info.name).map_err(failed)?;
        writer.write(&info.name, &tensor.expect("invariant: a name of this file"))?;
    }
    Ok(writer)
}

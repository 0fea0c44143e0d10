//! What several tests need.
#![allow(dead_code, reason = "each test program uses a part of it")]

use candle_core::{Device, Storage, Tensor, WithDType};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tensor_share::{Arena, ArenaBuilder, ArenaWriter, MutableArena, SharingStrategy};

/// Where a test puts its arenas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    FileDescriptor,
    FileSystem,
    InProcess,
}

pub(crate) fn builder(place: Place) -> ArenaBuilder {
    let mut builder = Arena::builder();
    match place {
        Place::FileDescriptor => builder.strategy(SharingStrategy::FileDescriptor),
        Place::FileSystem => builder.strategy(SharingStrategy::FileSystem),
        Place::InProcess => builder.in_process(),
    };
    builder
}

pub(crate) fn arena(place: Place, tensors: &[(&str, &Tensor)]) -> Arena {
    written(place, tensors).seal().unwrap()
}

pub(crate) fn mutable(place: Place, tensors: &[(&str, &Tensor)]) -> MutableArena {
    written(place, tensors).open_to_all().unwrap()
}

fn written(place: Place, tensors: &[(&str, &Tensor)]) -> ArenaWriter {
    let mut builder = builder(place);
    for (name, tensor) in tensors {
        builder.add(name, tensor.dtype(), tensor.shape().clone()).unwrap();
    }
    let mut writer = builder.create().unwrap();
    for (name, tensor) in tensors {
        writer.write(name, tensor).unwrap();
    }
    writer
}

/// `n` different numbers.
pub(crate) fn range(n: u16) -> Tensor {
    Tensor::from_iter((0..n).map(f32::from), &Device::Cpu).unwrap()
}

pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, bincode::config::standard()).unwrap()
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    try_decode(bytes).unwrap()
}

pub(crate) fn try_decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    bincode::serde::decode_from_slice(bytes, bincode::config::standard())
        .map(|(value, _)| value)
        .map_err(|error| error.to_string())
}

/// The elements in memory as this process sees them.
pub(crate) fn elements<T: WithDType>(tensor: &Tensor) -> Vec<T> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// Where the elements of a tensor lie.
pub(crate) fn address(tensor: &Tensor) -> usize {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { panic!("on the CPU") };
    let start = match tensor.dtype() {
        candle_core::DType::F32 => f32::cpu_storage_as_slice(storage).unwrap().as_ptr().addr(),
        candle_core::DType::U8 => u8::cpu_storage_as_slice(storage).unwrap().as_ptr().addr(),
        other => panic!("{other:?} is not needed"),
    };
    start + layout.start_offset() * tensor.dtype().size_in_bytes()
}

/// The line of /proc/self/maps for an address.
pub(crate) fn mapping_at(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let found = maps.lines().find(|line| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        (number(start)..number(end)).contains(&address)
    });
    found.map(str::to_owned)
}

/// The names in /dev/shm that speak of an arena.
pub(crate) fn names_of(id: tensor_share::ArenaId) -> Vec<String> {
    let names = std::fs::read_dir("/dev/shm").unwrap().filter_map(Result::ok);
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.contains(&id.to_string())).collect()
}

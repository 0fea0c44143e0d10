//! Opens a segment made of any bytes, and uses all of what was let in.
//!
//! The first byte of an input says what is done to the rest before it is opened, so that a mutation
//! gets behind the checks that find accidents. Opening may fail; nothing may panic, and what is let
//! in must read as the file has it.

use std::sync::{Mutex, PoisonError};

use candle_core::{CpuStorage, Storage, Tensor};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde_json::{Value, json};
use tensor_share::{Arena, MutableArena, attach, detach};

/// The checksum is made to fit.
pub(crate) const SIGN: u8 = 1;
/// Zeros are appended up to the length that the header says.
pub(crate) const LENGTHEN: u8 = 2;
/// The header is made to say the length that there is.
pub(crate) const FIT: u8 = 4;
/// The file is sealed against writing, as one must be that is not mutable.
pub(crate) const SEAL: u8 = 8;

/// Held by the one input that is open: inputs have the same few ids, and what is open under an id
/// stays what it is in the whole process.
static OPEN: Mutex<()> = Mutex::new(());

const PREFIX: usize = 128;
const LONGEST: usize = 1 << 20;

/// Opens `input`, and reads and (where it is mutable) writes everything in it.
pub(crate) fn open(input: &[u8]) {
    let Some((&mode, bytes)) = input.split_first() else { return };
    let _alone = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = prepared(mode, bytes);
    let id: [u8; 16] = bytes.get(16..32).map_or([0; 16], |id| id.try_into().expect("16 bytes"));
    let key = u128::from_be_bytes(id);
    if attach(key, file(&bytes, mode & SEAL != 0)).is_err() {
        assert!(!detach(key), "what was refused is not attached");
        return;
    }
    let handle = json!([1, 0, id]);
    if let Ok(arena) = serde_json::from_value::<Arena>(handle.clone()) {
        read(&arena, &bytes);
    } else {
        let arena = serde_json::from_value(handle).expect("it is the one kind or the other");
        write(&arena, &bytes);
    }
    assert!(detach(key), "it was attached above");
}

fn prepared(mode: u8, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes[..bytes.len().min(LONGEST)].to_vec();
    if bytes.len() < PREFIX {
        return bytes;
    }
    let said = number(&bytes, 32);
    if mode & LENGTHEN != 0 && (bytes.len()..=LONGEST).contains(&said) {
        bytes.resize(said, 0);
    }
    if mode & FIT != 0 {
        let length = bytes.len() as u64;
        bytes[32..40].copy_from_slice(&length.to_le_bytes());
    }
    if mode & SIGN != 0 {
        let sum = checksum(&bytes);
        bytes[56..64].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

fn number(bytes: &[u8], at: usize) -> usize {
    let number = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What `header.rs` computes, which is private there.
fn checksum(bytes: &[u8]) -> u64 {
    let end = PREFIX.saturating_add(number(bytes, 40)).min(bytes.len());
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in bytes[..56].chunks(8).chain(bytes[PREFIX..end].chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    hash
}

fn file(bytes: &[u8], write_seal: bool) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("fuzz", flags).expect("a memory file");
    let written = rustix::io::write(&file, bytes).expect("memory");
    assert_eq!(written, bytes.len());
    let mut seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    seals.set(SealFlags::WRITE, write_seal);
    fcntl_add_seals(&file, seals).expect("it was made to be sealed");
    file
}

fn read(arena: &Arena, file: &[u8]) {
    let mut ends = 0;
    for (_, shared) in arena.iter() {
        let handle = serde_json::to_value(&shared).expect("a handle");
        let tensor = shared.tensor().expect("what was let in is read");
        let content = content(&tensor);
        let at = offset(&handle);
        assert!(at >= ends, "tensors share a byte");
        ends = at + content.len();
        assert_eq!(content, file[at..ends], "read as the file has it");
    }
}

fn write(arena: &MutableArena, file: &[u8]) {
    for (_, var) in arena.vars() {
        let handle = serde_json::to_value(&var).expect("a handle");
        let tensor = var.tensor().expect("what was let in is read");
        let at = offset(&handle);
        let before = content(&tensor);
        assert_eq!(before, file[at..at + before.len()], "read as the file has it");
        var.set(&tensor).expect("a tensor of the same shape");
        assert_eq!(content(&var.tensor().expect("read again")), before);
        // Of integers that is an error.
        let _ = var.add(&tensor);
    }
    let snapshot = arena.snapshot().expect("nobody is in a step");
    assert!(snapshot.tensors.len() <= arena.vars().len(), "names may be there twice");
}

fn offset(handle: &Value) -> usize {
    handle[2].as_u64().and_then(|offset| usize::try_from(offset).ok()).expect("an offset")
}

fn content(tensor: &Tensor) -> Vec<u8> {
    macro_rules! bytes {
        ($elements:expr) => {
            $elements.iter().flat_map(|element| element.to_le_bytes()).collect()
        };
    }
    let (storage, layout) = tensor.storage_and_layout();
    assert_eq!(layout.start_offset(), 0);
    let Storage::Cpu(storage) = &*storage else { panic!("on the CPU") };
    let bytes: Vec<u8> = match storage {
        CpuStorage::U8(elements) => elements.clone(),
        CpuStorage::U32(elements) => bytes!(elements),
        CpuStorage::I16(elements) => bytes!(elements),
        CpuStorage::I32(elements) => bytes!(elements),
        CpuStorage::I64(elements) => bytes!(elements),
        CpuStorage::BF16(elements) => bytes!(elements),
        CpuStorage::F16(elements) => bytes!(elements),
        CpuStorage::F32(elements) => bytes!(elements),
        CpuStorage::F64(elements) => bytes!(elements),
        CpuStorage::F8E4M3(elements) => elements.iter().map(|element| element.to_bits()).collect(),
        _ => panic!("arenas have no other dtypes"),
    };
    assert_eq!(bytes.len(), tensor.elem_count() * tensor.dtype().size_in_bytes());
    bytes
}

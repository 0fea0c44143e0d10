//! What an arena looks like in memory: a prefix of 128 bytes, the directory, the data.
//!
//! ```text
//! 0    magic      8 bytes
//! 8    version    u32
//! 12   kind       u32       0 sealed, 1 mutable
//! 16   id         16 bytes
//! 32   file       u64       length of the whole segment, a multiple of the page size
//! 40   directory  u64       length of the directory, which begins at 128
//! 48   tensors    u32       and 4 bytes of zeros
//! 56   checksum   u64       over the bytes 0..56 and the directory
//! 64   step       u64       how often a mutable arena was changed; 0 in a sealed one
//! 128  directory
//! ```
//!
//! An entry of the directory is `offset u64, bytes u64, dtype u8, rank u8, name length u16`, its
//! dimensions as `u64` and its name. Everything is little endian. The data of a tensor begins at a
//! multiple of 64, entries stand in the order of their data, and no two share a byte: what reads an
//! arena relies on that (see [`crate::zero_copy`]), so [`Directory::parse`] proves it for every
//! segment, whoever wrote it. The checksum finds accidents; nothing relies on it.

use candle_core::DType;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::OnceLock;

use crate::element;
use crate::error::{Cause, Result};
use crate::id::ArenaId;

pub(crate) const PREFIX: usize = 128;
/// Where the step counter of a mutable arena lies, on a cache line of its own.
pub(crate) const STEP_OFFSET: usize = 64;
const ALIGN: u64 = 64;
const PAGE: u64 = 4096;
/// Not ASCII at the front and with both line ends, so that a damaged copy does not look whole.
const MAGIC: [u8; 8] = *b"\x89TSHR\r\n\x1a";
const VERSION: u32 = 1;
const LONGEST_NAME: usize = u16::MAX as usize;

/// Whether the bytes of an arena may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sealed,
    Mutable,
}

impl Kind {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Mutable => "mutable",
        }
    }
}

/// One tensor of an arena.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: Box<str>,
    pub(crate) dtype: DType,
    pub(crate) dims: SmallVec<[usize; 4]>,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl Entry {
    pub(crate) fn n_elements(&self) -> usize {
        self.dims.iter().product()
    }
}

/// The tensors of an arena, in the order of their data.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) id: ArenaId,
    pub(crate) kind: Kind,
    pub(crate) file_len: usize,
    pub(crate) entries: Vec<Entry>,
    by_name: OnceLock<FxHashMap<Box<str>, usize>>,
}

impl Directory {
    /// Lays tensors out one after another. The offsets of `entries` are filled in here.
    pub(crate) fn lay_out(id: ArenaId, kind: Kind, mut entries: Vec<Entry>) -> Result<Self> {
        let too_large = || Cause::Format {
            what: "the plan".to_owned(),
            problem: "its size does not fit into 63 bits".to_owned(),
        };
        let directory: u64 = entries.iter().map(|entry| encoded_len(entry) as u64).sum();
        let mut end = PREFIX as u64 + directory;
        for entry in &mut entries {
            let offset = end.checked_next_multiple_of(ALIGN).ok_or_else(too_large)?;
            // A tensor without elements takes a place too, so that an offset names one tensor.
            end = offset.checked_add(entry.bytes.max(1) as u64).ok_or_else(too_large)?;
            entry.offset = usize::try_from(offset).map_err(|_| too_large())?;
        }
        let file_len = end.checked_next_multiple_of(PAGE).ok_or_else(too_large)?;
        if file_len > i64::MAX as u64 {
            return Err(too_large().into());
        }
        let file_len = usize::try_from(file_len).map_err(|_| too_large())?;
        Ok(Self { id, kind, file_len, entries, by_name: OnceLock::new() })
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<usize> {
        let map = self.by_name.get_or_init(|| {
            let entries = self.entries.iter().enumerate().rev();
            entries.map(|(index, entry)| (entry.name.clone(), index)).collect()
        });
        map.get(name).copied()
    }

    pub(crate) fn by_offset(&self, offset: usize) -> Option<usize> {
        let index = self.entries.partition_point(|entry| entry.offset < offset);
        self.entries.get(index).filter(|entry| entry.offset == offset).map(|_| index)
    }

    pub(crate) fn missing(&self, name: &str) -> Cause {
        let names: Vec<&str> = self.entries.iter().map(|entry| &*entry.name).collect();
        Cause::NoTensor { name: name.to_owned(), n_tensors: names.len(), some: some(&names) }
    }

    /// The prefix and the directory as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let directory: usize = self.entries.iter().map(encoded_len).sum();
        let mut bytes = Vec::with_capacity(PREFIX + directory);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.kind as u32).to_le_bytes());
        bytes.extend(self.id.to_bytes());
        bytes.extend((self.file_len as u64).to_le_bytes());
        bytes.extend((directory as u64).to_le_bytes());
        bytes.extend((self.entries.len() as u64).to_le_bytes());
        bytes.resize(PREFIX, 0);
        for entry in &self.entries {
            bytes.extend((entry.offset as u64).to_le_bytes());
            bytes.extend((entry.bytes as u64).to_le_bytes());
            bytes.push(element::code(entry.dtype).expect("invariant: the builder took the dtype"));
            bytes.push(u8::try_from(entry.dims.len()).expect("invariant: rank checked"));
            let length = u16::try_from(entry.name.len()).expect("invariant: name checked");
            bytes.extend(length.to_le_bytes());
            for &dim in &entry.dims {
                bytes.extend((dim as u64).to_le_bytes());
            }
            bytes.extend(entry.name.as_bytes());
        }
        let sum = checksum(&bytes);
        bytes[56..64].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// How long the directory behind this prefix is.
    pub(crate) fn directory_len(prefix: &[u8], file_len: u64) -> Result<usize, String> {
        let mut cursor = Cursor { bytes: prefix };
        let magic: [u8; 8] = cursor.take()?;
        if magic != MAGIC {
            return Err(format!("magic {magic:02x?}, expected {MAGIC:02x?}"));
        }
        let version = u32::from_le_bytes(cursor.take()?);
        if version != VERSION {
            return Err(format!("version {version}, expected {VERSION}"));
        }
        let _kind_and_id: [u8; 20] = cursor.take()?;
        let said = cursor.u64()?;
        if said != file_len {
            return Err(format!("the header says {said} bytes, the file has {file_len}"));
        }
        // What reads a mutable arena relies on it: the last word of a tensor lies inside as a whole.
        if !said.is_multiple_of(PAGE) {
            return Err(format!("{said} bytes are no multiple of {PAGE}"));
        }
        let directory = cursor.u64()?;
        let room = file_len.saturating_sub(PREFIX as u64);
        if directory > room {
            return Err(format!("a directory of {directory} bytes, room for {room}"));
        }
        usize::try_from(directory).map_err(|error| error.to_string())
    }

    /// Reads and checks a prefix and the directory behind it.
    pub(crate) fn parse(bytes: &[u8], file_len: u64) -> Result<Self, String> {
        let directory_len = Self::directory_len(bytes, file_len)?;
        let end = PREFIX as u64 + directory_len as u64;
        if bytes.len() as u64 != end {
            return Err(format!("{} bytes of header and directory, expected {end}", bytes.len()));
        }
        let mut cursor = Cursor { bytes: &bytes[12..] };
        let kind = match u32::from_le_bytes(cursor.take()?) {
            0 => Kind::Sealed,
            1 => Kind::Mutable,
            other => return Err(format!("kind {other}, expected 0 or 1")),
        };
        let id = ArenaId::from_bytes(cursor.take()?);
        let _lengths: [u8; 16] = cursor.take()?;
        let n_tensors = cursor.u64()?;
        let found = cursor.u64()?;
        let expected = checksum(bytes);
        if found != expected {
            return Err(format!("checksum {found:016x}, expected {expected:016x}"));
        }
        // An entry has 20 bytes at least, so what is reserved below is about what was read.
        let n_entries = usize::try_from(n_tensors).unwrap_or(usize::MAX);
        if n_entries > directory_len / 20 {
            return Err(format!("{n_tensors} tensors in a directory of {directory_len} bytes"));
        }
        let mut cursor = Cursor { bytes: &bytes[PREFIX..] };
        let mut entries = Vec::with_capacity(n_entries);
        let mut free = end;
        for index in 0..n_entries {
            let entry = cursor
                .entry(free, file_len)
                .map_err(|problem| format!("tensor {index}: {problem}"))?;
            free = (entry.offset + entry.bytes) as u64;
            entries.push(entry);
        }
        if !cursor.bytes.is_empty() {
            return Err(format!("{} bytes behind the last tensor", cursor.bytes.len()));
        }
        let file_len = usize::try_from(file_len).map_err(|error| error.to_string())?;
        Ok(Self { id, kind, file_len, entries, by_name: OnceLock::new() })
    }
}

/// Checks what a tensor wants to be in an arena, and counts its bytes.
pub(crate) fn plan(name: &str, dtype: DType, dims: &[usize]) -> Result<Entry> {
    if name.len() > LONGEST_NAME {
        return Err(Cause::LongName { length: name.len(), most: LONGEST_NAME }.into());
    }
    let refused = |why| Cause::DType { name: name.to_owned(), dtype, why };
    if element::code(dtype).is_none() {
        return Err(refused("candle has no elements of it").into());
    }
    if dims.len() > usize::from(u8::MAX) {
        return Err(refused("a shape has at most 255 dimensions").into());
    }
    let bytes = n_bytes(dtype, dims).ok_or_else(|| refused("its bytes do not fit into 63 bits"))?;
    let (name, dims) = (name.into(), SmallVec::from_slice(dims));
    Ok(Entry { name, dtype, dims, offset: 0, bytes })
}

/// The first few names, for a message.
pub(crate) fn some(names: &[&str]) -> String {
    let mut text = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 5 {
        text.push_str(", …");
    }
    text
}

fn n_bytes(dtype: DType, dims: &[usize]) -> Option<usize> {
    // Also the product of the dimensions alone must fit where one of them is 0: candle multiplies.
    dims.iter().try_fold(1_usize, |product, &dim| product.checked_mul(dim.max(1)))?;
    let elements: usize = dims.iter().product();
    elements.checked_mul(dtype.size_in_bytes()).filter(|&bytes| isize::try_from(bytes).is_ok())
}

fn encoded_len(entry: &Entry) -> usize {
    20 + 8 * entry.dims.len() + entry.name.len()
}

/// A hash of the prefix (without the checksum and what changes) and the directory, in words.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let directory = bytes.get(PREFIX..).unwrap_or_default();
    for chunk in bytes[..56].chunks(8).chain(directory.chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    hash
}

struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn slice(&mut self, length: usize) -> Result<&'a [u8], String> {
        let Some((head, tail)) = self.bytes.split_at_checked(length) else {
            return Err(format!("{length} bytes wanted, {} left", self.bytes.len()));
        };
        self.bytes = tail;
        Ok(head)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let slice = self.slice(N)?;
        Ok(slice.try_into().expect("invariant: the slice was cut to this length"))
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.take().map(u64::from_le_bytes)
    }

    /// One entry, whose data must lie in `free..file_len`.
    fn entry(&mut self, free: u64, file_len: u64) -> Result<Entry, String> {
        let (offset, bytes) = (self.u64()?, self.u64()?);
        let [code, rank] = self.take()?;
        let name_len = u16::from_le_bytes(self.take()?);
        let dtype = element::dtype(code).ok_or_else(|| format!("unknown dtype {code}"))?;
        let mut dims = SmallVec::with_capacity(usize::from(rank));
        for _ in 0..rank {
            dims.push(usize::try_from(self.u64()?).map_err(|error| error.to_string())?);
        }
        let name = self.slice(usize::from(name_len))?;
        let name = std::str::from_utf8(name).map_err(|error| format!("its name: {error}"))?;
        let counted = n_bytes(dtype, &dims);
        if counted.map(|counted| counted as u64) != Some(bytes) {
            return Err(format!("{bytes} bytes, expected those of {} {dims:?}", dtype.as_str()));
        }
        if !offset.is_multiple_of(ALIGN) {
            return Err(format!("offset {offset} is no multiple of {ALIGN}"));
        }
        let end = offset.checked_add(bytes).ok_or("its end does not fit into 64 bits")?;
        if offset < free || end > file_len {
            return Err(format!("data at {offset}..{end}, free is {free}..{file_len}"));
        }
        let offset = usize::try_from(offset).map_err(|error| error.to_string())?;
        let bytes = usize::try_from(bytes).map_err(|error| error.to_string())?;
        Ok(Entry { name: name.into(), dtype, dims, offset, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Directory {
        let id = ArenaId::from_key(7);
        let entries = vec![
            plan("a", DType::F32, &[3, 5]).unwrap(),
            plan("empty", DType::F16, &[0, 4]).unwrap(),
            plan("größe", DType::U8, &[]).unwrap(),
        ];
        Directory::lay_out(id, Kind::Sealed, entries).unwrap()
    }

    /// Writes a checksum that fits, so that the checks behind it are met.
    fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
        let sum = checksum(&bytes).to_le_bytes();
        bytes[56..64].copy_from_slice(&sum);
        bytes
    }

    #[test]
    fn a_header_reads_as_it_was_written() {
        let sample = sample();
        let read = Directory::parse(&sample.encode(), sample.file_len as u64).unwrap();
        assert_eq!(read.entries, sample.entries);
        assert_eq!((read.id, read.kind), (sample.id, sample.kind));
        assert_eq!(read.by_name("größe"), Some(2));
    }

    #[test]
    fn every_altered_byte_is_an_error() {
        let sample = sample();
        let bytes = sample.encode();
        for index in (0..64).chain(PREFIX..bytes.len()) {
            let mut altered = bytes.clone();
            altered[index] ^= 0x41;
            let problem = Directory::parse(&altered, sample.file_len as u64);
            assert!(problem.is_err(), "byte {index}");
        }
    }

    /// What reads an arena relies on, whoever wrote it.
    fn check_promises(bytes: &[u8], file_len: usize) {
        let Ok(read) = Directory::parse(bytes, file_len as u64) else { return };
        let mut free = PREFIX;
        for entry in &read.entries {
            assert!(entry.offset >= free && entry.offset.is_multiple_of(64), "{entry:?}");
            assert_eq!(entry.bytes, entry.n_elements() * entry.dtype.size_in_bytes());
            // A vector on these pages reaches that far.
            free = (entry.offset + entry.bytes).next_multiple_of(64);
        }
        assert!(free <= file_len);
    }

    #[test]
    fn a_signed_header_never_leaves_the_file_or_shares_a_byte() {
        let sample = sample();
        let bytes = sample.encode();
        for index in (12..56).chain(PREFIX..bytes.len()) {
            for bit in 0..8 {
                let mut altered = bytes.clone();
                altered[index] ^= 1 << bit;
                check_promises(&signed(altered), sample.file_len);
            }
        }
    }

    #[test]
    fn nor_does_one_that_was_altered_in_many_places() {
        let sample = sample();
        let bytes = sample.encode();
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        // Numbers that are near something: lengths, the ends of types.
        let near = [0, 1, 20, 63, 64, 128, 4096, 1 << 31, 1 << 62, u64::MAX - 63, u64::MAX];
        for _ in 0..50_000 {
            let mut altered = bytes.clone();
            for _ in 0..=random(4) {
                let index = PREFIX + random(bytes.len() - PREFIX - 8);
                if random(2) == 0 {
                    let number = near[random(near.len())].wrapping_add(random(3) as u64);
                    altered[index..index + 8].copy_from_slice(&number.to_le_bytes());
                } else {
                    altered[index] = random(256).to_le_bytes()[0];
                }
            }
            check_promises(&signed(altered), sample.file_len);
        }
    }

    #[test]
    fn truncated_headers_say_what_is_missing() {
        let bytes = sample().encode();
        for length in 0..bytes.len() {
            assert!(
                Directory::parse(&bytes[..length], sample().file_len as u64).is_err(),
                "{length}"
            );
        }
        let problem = Directory::parse(&bytes, 8192).unwrap_err();
        assert_eq!(problem, "the header says 4096 bytes, the file has 8192");
    }

    #[test]
    fn a_segment_that_ends_within_a_word_is_refused() {
        let mut sample = sample();
        sample.file_len -= 5;
        let problem = Directory::parse(&sample.encode(), sample.file_len as u64).unwrap_err();
        assert_eq!(problem, "4091 bytes are no multiple of 4096");
    }

    #[test]
    fn shapes_whose_product_overflows_are_refused() {
        for dims in [&[usize::MAX, 2][..], &[1 << 62, 1], &[0, usize::MAX, 2]] {
            assert!(plan("huge", DType::F32, dims).is_err(), "{dims:?}");
        }
    }
}

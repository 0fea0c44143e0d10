//! Tensors on the pages of a segment.

use std::alloc::Layout;
use std::fmt;
use std::hint::black_box;

use std::sync::OnceLock;

use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, Storage, Tensor};
use parking_lot::Mutex;
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::range::{Full, Region};
use super::{WhyCopied, slot};
use crate::element::{Element, with_element, with_vec};
use crate::error::Result;
use crate::header::{Directory, Entry};
use crate::os::limits::mapping_error;

/// A tensor on the pages of a segment, made when it is first asked for: its vector must be there
/// from the beginning, but the tensor around it costs more than opening.
pub(crate) struct MappedTensor {
    storage: Mutex<Option<CpuStorage>>,
    tensor: OnceLock<Tensor>,
}

impl MappedTensor {
    pub(crate) fn tensor(&self, dims: &[usize]) -> Tensor {
        let tensor = self.tensor.get_or_init(|| {
            let storage = self.storage.lock().take().expect("invariant: taken once");
            Tensor::from_storage(Storage::Cpu(storage), dims, BackpropOp::none(), false)
        });
        tensor.clone()
    }
}

impl fmt::Debug for MappedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedTensor").finish_non_exhaustive()
    }
}

/// Maps a sealed segment privately and makes a tensor of each entry, or says why that cannot be.
///
/// The descriptor must be that of the segment whose directory is given, and its data must never
/// change: its seals, or the rules for named objects, were checked by the caller.
pub(crate) fn map(
    file: impl AsFd,
    directory: &Directory,
) -> Result<Result<Vec<MappedTensor>, WhyCopied>> {
    map_after(file, directory, || ())
}

/// As [`map`], with something that happens between arming the slot and each allocation.
pub(super) fn map_after(
    file: impl AsFd,
    directory: &Directory,
    mut between: impl FnMut(),
) -> Result<Result<Vec<MappedTensor>, WhyCopied>> {
    let region = match Region::claim(directory.file_len, directory.id) {
        Ok(region) => region,
        Err(Full::NoAddresses) => return Ok(Err(WhyCopied::NoAddresses)),
        Err(Full::Used) => return Ok(Err(WhyCopied::RangeUsed)),
    };
    let failed = |error: Errno| {
        mapping_error(format!("map arena {}", directory.id), directory.file_len, error)
    };
    let (read_write, private) =
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // Ordinary empty memory first: whoever gets it from the allocator can use it, also somebody
    // for whom it was not meant.
    // SAFETY: `claim` gave these chunks of the reserved range to this call alone, and nothing was
    // allocated in them yet, so the mapping that is replaced is the range's own, without access.
    let empty = unsafe {
        mmap_anonymous(region.start().cast(), region.len(), read_write, private | MapFlags::FIXED)
    };
    empty.map_err(failed)?;

    let mut vectors = Vec::with_capacity(directory.entries.len());
    for entry in &directory.entries {
        let Some(vector) =
            with_element!(entry.dtype, T => allocate::<T>(&region, entry, &mut between)).flatten()
        else {
            // Not our allocator, or the allocation went elsewhere. What was allocated here is
            // ordinary memory and stays until its owners free it.
            return Ok(Err(WhyCopied::NoAllocator));
        };
        vectors.push(vector);
    }
    // SAFETY: the range is inside of the region, in which only the vectors above have been
    // allocated: each was seen at its place. They are empty and may be written by anybody who has
    // their exposed addresses, so for the compiler this call is what initialises them.
    let mapped = unsafe {
        mmap(
            region.start().cast(),
            directory.file_len,
            read_write,
            private | MapFlags::FIXED,
            file,
            0,
        )
    };
    mapped.map_err(failed)?;
    Ok(Ok(vectors.into_iter().zip(&directory.entries).map(|(v, entry)| filled(v, entry)).collect()))
}

/// An empty vector whose capacity is the place of an entry, `None` if it came to lie elsewhere.
fn allocate<T: Element>(
    region: &Region,
    entry: &Entry,
    between: &mut impl FnMut(),
) -> Option<CpuStorage> {
    let layout = Layout::array::<T>(capacity::<T>(entry)).ok()?;
    if layout.size() == 0 {
        return Some(T::to_cpu_storage_owned(Vec::new()));
    }
    let place = region.start().wrapping_add(entry.offset);
    let mut vector = slot::armed(layout, place, || {
        between();
        Vec::<T>::with_capacity(capacity::<T>(entry))
    });
    // The compiler may believe that fresh memory is nowhere else, so it must not see the comparison.
    let found = black_box(vector.as_mut_ptr()).expose_provenance();
    (found == place.addr() && vector.capacity() == capacity::<T>(entry))
        .then(|| T::to_cpu_storage_owned(vector))
}

/// The elements of an entry, and room up to where the next one may begin.
pub(super) fn capacity<T: Element>(entry: &Entry) -> usize {
    entry.bytes.next_multiple_of(slot::UNIT) / size_of::<T>()
}

fn filled(mut storage: CpuStorage, entry: &Entry) -> MappedTensor {
    let n = entry.n_elements();
    with_vec!(&mut storage, vector => {
        assert!(n <= vector.capacity(), "invariant: allocated for this entry");
        // SAFETY: the capacity was compared just now. The caller has mapped the file over the vector,
        // which `Directory::parse` keeps inside of the file: that initialised the elements, and the
        // marker `Element` promises that every bit pattern is one. (A vector without elements was
        // not allocated, and `n` is 0.)
        unsafe { vector.set_len(n) }
    });
    MappedTensor { storage: Mutex::new(Some(storage)), tensor: OnceLock::new() }
}

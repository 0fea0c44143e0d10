//! The one range of addresses in which mapped tensors lie, and who still uses which part of it.
//!
//! The range is cut into chunks of 2 MiB; an arena gets as many neighbouring chunks as it needs,
//! its *region*. Tables indexed by chunk say where the region of a chunk begins, how many
//! allocations in it live, and which arena it holds, so that `dealloc` finds its region with one
//! subtraction and one load, without a lock and without an allocation.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::id::ArenaId;

/// 256 GiB of addresses, which cost nothing until they are used. The range begins at a multiple of
/// its length, so all its addresses have the same upper bits.
const RANGE: usize = 1 << RANGE_BITS;
const RANGE_BITS: u32 = 38;
const CHUNK: usize = 1 << 21;
const N_CHUNKS: usize = RANGE / CHUNK;
/// The upper bits of no address, so nothing lies in a range that was not reserved.
const UNRESERVED: usize = usize::MAX;

/// The upper bits of the addresses in the range.
static UPPER: AtomicUsize = AtomicUsize::new(UNRESERVED);
/// For each chunk the first chunk of its region plus 1, 0 if it is free.
static FIRST: [AtomicU32; N_CHUNKS] = [const { AtomicU32::new(0) }; N_CHUNKS];
/// For the first chunk of a region: its allocations and its opener.
static USERS: [AtomicU32; N_CHUNKS] = [const { AtomicU32::new(0) }; N_CHUNKS];
/// For the first chunk of a region: how many chunks it has.
static LENGTH: [AtomicU32; N_CHUNKS] = [const { AtomicU32::new(0) }; N_CHUNKS];
/// For the first chunk of a region: the arena in it, in two halves.
static ARENA: [[AtomicU64; 2]; N_CHUNKS] = [const { [const { AtomicU64::new(0) }; 2] }; N_CHUNKS];

/// Where the next search for free chunks begins; also lets one thread claim at a time.
static NEXT: Mutex<usize> = Mutex::new(0);

/// Whether an address lies in the range.
#[inline]
pub(super) fn contains(address: usize) -> bool {
    address >> RANGE_BITS == UPPER.load(Ordering::Relaxed)
}

/// Where the range begins, once it is reserved.
fn range_start() -> usize {
    UPPER.load(Ordering::Relaxed) << RANGE_BITS
}

/// A part of the range that holds one arena. The value is its opener's share in it.
#[derive(Debug)]
pub(super) struct Region {
    first: usize,
    n_chunks: usize,
}

/// Why an arena gets no region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The range could not be reserved: the process may not have so many addresses.
    NoAddresses,
    /// The range is used up.
    Used,
}

impl Region {
    /// Finds room for a segment of this length.
    #[expect(clippy::cast_possible_truncation, reason = "a chunk number is less than 2^17")]
    pub(super) fn claim(len: usize, arena: ArenaId) -> Result<Self, Full> {
        let n_chunks = len.div_ceil(CHUNK);
        let mut next = NEXT.lock();
        reserve()?;
        let first = find(*next, N_CHUNKS, n_chunks)
            .or_else(|| find(0, N_CHUNKS.min(*next + n_chunks), n_chunks))
            .ok_or(Full::Used)?;
        *next = first + n_chunks;
        for entry in &FIRST[first..first + n_chunks] {
            entry.store(first as u32 + 1, Ordering::Relaxed);
        }
        LENGTH[first].store(n_chunks as u32, Ordering::Relaxed);
        let key = arena.key();
        ARENA[first][0].store((key >> 64) as u64, Ordering::Relaxed);
        ARENA[first][1].store(key as u64, Ordering::Relaxed);
        USERS[first].store(1, Ordering::Release);
        Ok(Self { first, n_chunks })
    }

    /// The address at which the segment begins, with the provenance that mappings have.
    pub(super) fn start(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(range_start() + self.first * CHUNK)
    }

    pub(super) fn len(&self) -> usize {
        self.n_chunks * CHUNK
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        release(self.start().addr());
    }
}

fn find(from: usize, to: usize, n_chunks: usize) -> Option<usize> {
    let mut run = 0;
    for (index, first) in FIRST[from..to].iter().enumerate() {
        // Acquire: the one who freed the chunk has put it back to nothing before.
        run = if first.load(Ordering::Acquire) == 0 { run + 1 } else { 0 };
        if run == n_chunks {
            return Some(from + index + 1 - n_chunks);
        }
    }
    None
}

/// Takes the range out of the addresses of the process, once. The caller holds [`NEXT`].
fn reserve() -> Result<(), Full> {
    if UPPER.load(Ordering::Relaxed) != UNRESERVED {
        return Ok(());
    }
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // Twice as much, in which a range that begins at a multiple of its length lies for sure.
    // SAFETY: without MAP_FIXED the kernel picks free addresses, so no memory in use changes.
    let found = unsafe { mmap_anonymous(ptr::null_mut(), 2 * RANGE, ProtFlags::empty(), flags) };
    let found = found.map_err(|_| Full::NoAddresses)?;
    let before = found.expose_provenance().next_multiple_of(RANGE) - found.addr();
    let range = found.wrapping_byte_add(before);
    give_back(found, before);
    give_back(range.wrapping_byte_add(RANGE), RANGE - before);
    UPPER.store(range.addr() >> RANGE_BITS, Ordering::Relaxed);
    Ok(())
}

/// Gives addresses back that `reserve` took and does not need.
fn give_back(start: *mut c_void, len: usize) {
    if len > 0 {
        // SAFETY: the addresses are part of the mapping that `reserve` has just made, which nobody
        // knows yet and nobody can use.
        let unmapped = unsafe { munmap(start, len) };
        debug_assert!(unmapped.is_ok(), "a part of a mapping is unmapped");
    }
}

fn first_of(address: usize) -> usize {
    let chunk = (address - range_start()) / CHUNK;
    // Whoever asks has a share in the region, so the entry cannot change.
    FIRST[chunk].load(Ordering::Relaxed) as usize - 1
}

/// Counts one more user of the region around an address.
pub(super) fn retain(address: usize) {
    USERS[first_of(address)].fetch_add(1, Ordering::Relaxed);
}

/// Counts one user less of the region around an address. The last one ends its mapping.
pub(super) fn release(address: usize) {
    let first = first_of(address);
    // As in `Arc`: what the others did with the pages happens before the last one ends them.
    if USERS[first].fetch_sub(1, Ordering::AcqRel) != 1 {
        return;
    }
    let n_chunks = LENGTH[first].load(Ordering::Relaxed) as usize;
    let start = range_start() + first * CHUNK;
    let start = ptr::with_exposed_provenance_mut(start);
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the region belongs to nobody any more: the counter says that its opener and all its
    // allocations have given their shares back, `dealloc` promises that nobody uses those any more,
    // and `claim` does not give out its chunks before the stores below.
    let cleared = unsafe { mmap_anonymous(start, n_chunks * CHUNK, ProtFlags::empty(), flags) };
    if cleared.is_err() {
        // The addresses are lost for this process, and the memory until it ends. To hand them out
        // again would be wrong.
        return;
    }
    for entry in &FIRST[first..first + n_chunks] {
        entry.store(0, Ordering::Release);
    }
}

/// The regions in use: their arenas and their addresses.
pub(super) fn regions() -> Vec<(ArenaId, std::ops::Range<usize>)> {
    // No claim runs meanwhile; a region that ends meanwhile is one more, which does no harm.
    let _claiming = NEXT.lock();
    let mut regions = Vec::new();
    if UPPER.load(Ordering::Relaxed) == UNRESERVED {
        return regions;
    }
    let mut chunk = 0;
    while chunk < N_CHUNKS {
        if FIRST[chunk].load(Ordering::Acquire) as usize != chunk + 1 {
            chunk += 1;
            continue;
        }
        let n_chunks = LENGTH[chunk].load(Ordering::Relaxed) as usize;
        let [high, low] = [0, 1].map(|half| ARENA[chunk][half].load(Ordering::Relaxed));
        let arena = ArenaId::from_key(u128::from(high) << 64 | u128::from(low));
        let start = range_start() + chunk * CHUNK;
        regions.push((arena, start..start + n_chunks * CHUNK));
        chunk += n_chunks;
    }
    regions
}

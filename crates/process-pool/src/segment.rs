//! The memory that the pool shares with one worker: its layout, and the claims of tasks.
//!
//! A task that lies in a ring unstarted can be taken back, by whoever is first: the worker turns
//! the task's claim from *sent* to *started*, the pool from *sent* to *revoked*. The claim also
//! tells, after a death, which task the worker was at.

use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;

use crate::sleep::{self, LISTENS, Word};

/// How many tasks a worker may hold, started or not.
pub(crate) const CLAIMS: u64 = 64;

const MAGIC: u64 = u64::from_le_bytes(*b"procpool");
const VERSION: u32 = 1;
const DATA_OFFSET: usize = 4096;

const SENT: u64 = 1;
const STARTED: u64 = 2;
const REVOKED: u64 = 3;
const CANCELLED: u64 = 4;

#[repr(C, align(128))]
pub(crate) struct Position(pub(crate) AtomicU64);

#[repr(C, align(128))]
pub(crate) struct Waits(pub(crate) AtomicU32);

#[repr(C)]
pub(crate) struct Side {
    pub(crate) head: Position,
    pub(crate) tail: Position,
    pub(crate) consumer: Waits,
    pub(crate) producer: Waits,
}

/// What lies at the start of the segment. Only atomics, so that any bytes in it are valid and
/// both processes may hold references to it.
#[repr(C)]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    capacity: AtomicU32,
    claims: [AtomicU64; 64],
    consumed: Position,
    sides: [Side; 2],
}

const _: () = assert!(size_of::<Header>() <= DATA_OFFSET);

/// Which way a ring runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToWorker = 0,
    ToPool = 1,
}

/// One mapped segment. It is unmapped on drop; the memory goes with its last mapping.
pub(crate) struct Segment {
    base: NonNull<u8>,
    len: usize,
    pub(crate) capacity: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread; all shared access goes through
// atomics and through the ring protocol described above.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes an anonymous segment whose rings hold `capacity` bytes each, a power of two.
    ///
    /// The descriptor is sealed against changes of size: no holder can truncate it under the
    /// mappings of others.
    pub(crate) fn create(capacity: usize) -> rustix::io::Result<(Self, OwnedFd)> {
        assert!(capacity.is_power_of_two(), "invariant: ring capacity is a power of two");
        // Growing a file beyond the limit is a signal that ends the process, not an error.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        if limit.is_some_and(|limit| limit < (DATA_OFFSET + 2 * capacity) as u64) {
            return Err(Errno::FBIG);
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("process-pool", flags)?;
        rustix::fs::ftruncate(&fd, (DATA_OFFSET + 2 * capacity) as u64)?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let segment = Self::map(&fd, capacity)?;
        let header = segment.header();
        header.magic.store(MAGIC, Ordering::Relaxed);
        header.version.store(VERSION, Ordering::Relaxed);
        let capacity = u32::try_from(capacity).map_err(|_| Errno::INVAL)?;
        header.capacity.store(capacity, Ordering::Relaxed);
        Ok((segment, fd))
    }

    /// Maps a segment that the other side made, after checking that it is one.
    pub(crate) fn open(fd: &OwnedFd) -> rustix::io::Result<Self> {
        let size = usize::try_from(rustix::fs::fstat(fd)?.st_size).map_err(|_| Errno::INVAL)?;
        let seals = rustix::fs::fcntl_get_seals(fd)?;
        let data = size.checked_sub(DATA_OFFSET).ok_or(Errno::INVAL)?;
        if !seals.contains(SealFlags::SHRINK) || !(data / 2).is_power_of_two() {
            return Err(Errno::INVAL);
        }
        let segment = Self::map(fd, data / 2)?;
        let header = segment.header();
        if header.magic.load(Ordering::Relaxed) != MAGIC
            || header.version.load(Ordering::Relaxed) != VERSION
            || header.capacity.load(Ordering::Relaxed) as usize != data / 2
        {
            return Err(Errno::INVAL);
        }
        Ok(segment)
    }

    fn map(fd: &OwnedFd, capacity: usize) -> rustix::io::Result<Self> {
        let len = DATA_OFFSET + 2 * capacity;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses replaces nothing.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, prot, MapFlags::SHARED, fd, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, len, capacity })
    }

    fn header(&self) -> &Header {
        // SAFETY: `base` is page-aligned and points to a live mapping of at least `DATA_OFFSET`
        // bytes (`map`), which cannot shrink (sealed) and lives as long as `self`; `Header` is
        // atomics only, for which every bit pattern is valid and shared writing is allowed.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    pub(crate) fn side(&self, way: Way) -> &Side {
        &self.header().sides[way as usize]
    }

    /// A place in the ring of one way.
    pub(crate) fn data(&self, way: Way, at: usize) -> NonNull<u8> {
        debug_assert!(at < self.capacity, "invariant: position within the ring");
        // SAFETY: `DATA_OFFSET + 2 * capacity` is the length of the mapping (`map`), and `at` is
        // below `capacity`, so the result lies inside.
        unsafe { self.base.add(DATA_OFFSET + way as usize * self.capacity + at) }
    }

    fn claim(&self, seq: u64) -> &AtomicU64 {
        let index = usize::try_from(seq % CLAIMS).expect("invariant: 64 claims");
        &self.header().claims[index]
    }

    /// Pool: this task lies in the ring, free to be started.
    pub(crate) fn offer(&self, seq: u64) {
        self.claim(seq).store(seq << 3 | SENT, Ordering::Release);
    }

    /// Worker: starts a task; `false` when the pool has taken it back.
    pub(crate) fn start(&self, seq: u64) -> bool {
        let started = self.swap_claim(seq, SENT, STARTED);
        self.header().consumed.0.store(seq + 1, Ordering::Release);
        started
    }

    /// Pool: takes a task back; `false` when the worker has started it.
    pub(crate) fn revoke(&self, seq: u64) -> bool {
        self.swap_claim(seq, SENT, REVOKED)
    }

    /// Pool: tells a started task that nobody waits for it.
    pub(crate) fn cancel(&self, seq: u64) {
        self.swap_claim(seq, STARTED, CANCELLED);
    }

    /// Pool: whether the worker has started this task.
    pub(crate) fn was_started(&self, seq: u64) -> bool {
        let claim = self.claim(seq).load(Ordering::Acquire);
        claim == (seq << 3 | STARTED) || claim == (seq << 3 | CANCELLED)
    }

    /// Worker: whether nobody waits for this task any more.
    pub(crate) fn is_cancelled(&self, seq: u64) -> bool {
        self.claim(seq).load(Ordering::Relaxed) == (seq << 3 | CANCELLED)
    }

    /// Pool: all tasks below this one have left the ring, started or revoked.
    pub(crate) fn consumed(&self) -> u64 {
        self.header().consumed.0.load(Ordering::Acquire)
    }

    /// Pool: sleeps until the worker answers or [`dismiss`](Self::dismiss) is called.
    pub(crate) fn listen(&self) {
        wait_on(&self.side(Way::ToPool).consumer.0, LISTENS);
    }

    /// Pool: whether a listener has nothing to hear yet.
    pub(crate) fn is_listened(&self) -> bool {
        self.side(Way::ToPool).consumer.0.load(Ordering::Acquire) == LISTENS
    }

    /// Pool: wakes a listener, and leaves the ring to the usual reader.
    pub(crate) fn dismiss(&self) {
        let word = &self.side(Way::ToPool).consumer.0;
        sleep::dismiss(word);
        wake_on(word);
    }

    /// Worker: wakes a listener.
    pub(crate) fn wake_listener(&self) {
        wake_on(&self.side(Way::ToPool).consumer.0);
    }

    fn swap_claim(&self, seq: u64, from: u64, to: u64) -> bool {
        let (from, to) = (seq << 3 | from, seq << 3 | to);
        self.claim(seq).compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `base` and `len` are those of the mapping made in `map`, which `self` owns; no
        // reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl Word for AtomicU32 {
    fn load(&self, order: Ordering) -> u32 {
        Self::load(self, order)
    }

    fn store(&self, value: u32, order: Ordering) {
        Self::store(self, value, order);
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        Self::swap(self, value, order)
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// Sleeps while a word has a value; it may return early.
pub(crate) fn wait_on(word: &AtomicU32, value: u32) {
    let _ = futex::wait(word, futex::Flags::empty(), value, None);
}

/// Wakes one who sleeps on a word.
pub(crate) fn wake_on(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

#[cfg(test)]
mod tests {
    use super::Segment;

    #[test]
    fn a_claim_goes_to_one_side_only() {
        let (segment, _) = Segment::create(4096).unwrap();
        for seq in 0..200 {
            segment.offer(seq);
            if seq % 2 == 0 {
                assert!(segment.revoke(seq));
                assert!(!segment.start(seq));
            } else {
                assert!(segment.start(seq) && segment.was_started(seq));
                assert!(!segment.revoke(seq));
                segment.cancel(seq);
                assert!(segment.is_cancelled(seq) && segment.was_started(seq));
            }
            assert_eq!(segment.consumed(), seq + 1);
        }
    }

    #[test]
    fn a_foreign_file_is_refused() {
        let fd = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
        assert!(Segment::open(&fd).is_err());
    }
}

//! The shared memory between the pool and one worker: two byte rings and a table of claims.
//!
//! # The rings
//!
//! Each ring has one producer and one consumer, in two processes. Positions count bytes and only
//! grow; `tail - head` bytes are filled, and position `p` lies at `p % capacity`. The producer
//! alone writes `tail` and the free part, the consumer alone writes `head`; each publishes with
//! *release* after it has finished with the bytes, and reads the other's position with *acquire*
//! before it touches them. So no byte is ever read and written at once.
//!
//! A ring is a stream, not a queue of messages: a message larger than the ring passes through it
//! in pieces while the consumer reads.
//!
//! # Sleeping
//!
//! Whoever finds nothing to do sets its `waits` word, looks once more, and sleeps. Whoever has
//! moved a position looks at the other's `waits` word afterwards, and wakes when it was set. With
//! a sequentially consistent fence between the two steps on both sides, one of the two sees the
//! other: either the sleeper sees the bytes or the waker sees the sleeper. Workers sleep on the
//! word itself (a futex); the pool sleeps in `epoll` and is woken through an event descriptor.
//!
//! # Claims
//!
//! A task that lies in a ring unstarted can be taken back, by whoever is first: the worker turns
//! the task's claim from *sent* to *started*, the pool from *sent* to *revoked*. The claim also
//! tells, after a death, which task the worker was at.

use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;

use crate::spin::Spin;

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
struct Position(AtomicU64);

#[repr(C, align(128))]
struct Waits(AtomicU32);

#[repr(C)]
struct Side {
    head: Position,
    tail: Position,
    consumer: Waits,
    producer: Waits,
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

/// What the consumer's `waits` word says.
const AWAKE: u32 = 0;
const SLEEPS: u32 = 1;
const LISTENS: u32 = 2;

/// Who must be woken when there is something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeper {
    /// The one that always reads this ring, in its own way.
    Usual,
    /// A caller who sleeps on the word itself, because the next answer is its own.
    Listener,
}

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
    capacity: usize,
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

    fn side(&self, way: Way) -> &Side {
        &self.header().sides[way as usize]
    }

    fn data(&self, way: Way, at: usize) -> NonNull<u8> {
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
        let word = &self.side(Way::ToPool).consumer.0;
        let _ = futex::wait(word, futex::Flags::empty(), LISTENS, None);
    }

    /// Pool: whether a listener has nothing to hear yet.
    pub(crate) fn is_listened(&self) -> bool {
        self.side(Way::ToPool).consumer.0.load(Ordering::Acquire) == LISTENS
    }

    /// Pool: wakes a listener, and leaves the ring to the usual reader.
    pub(crate) fn dismiss(&self) {
        let word = &self.side(Way::ToPool).consumer.0;
        // Every answer since the listener came would have changed the word; so there is none,
        // and the next one rings.
        let _ = word.compare_exchange(LISTENS, SLEEPS, Ordering::SeqCst, Ordering::SeqCst);
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }

    /// Worker: wakes a listener.
    pub(crate) fn wake_listener(&self) {
        let _ = futex::wake(&self.side(Way::ToPool).consumer.0, futex::Flags::empty(), 1);
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

/// The ring's positions make no sense: the other process has overwritten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt;

/// The writing end of a ring.
pub(crate) struct Producer {
    segment: Arc<Segment>,
    way: Way,
    tail: u64,
}

impl Producer {
    /// The one writing end of this way, in one process.
    pub(crate) fn new(segment: Arc<Segment>, way: Way) -> Self {
        Self { segment, way, tail: 0 }
    }

    /// Writes as much of `bytes` as there is room for, and says how much that was.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Corrupt> {
        let capacity = self.segment.capacity;
        let head = self.segment.side(self.way).head.0.load(Ordering::Acquire);
        let filled = filled(head, self.tail, capacity)?;
        let n = bytes.len().min(capacity - filled);
        let at = index(self.tail, capacity);
        let first = n.min(capacity - at);
        let (to, rest) = (self.segment.data(self.way, at), self.segment.data(self.way, 0));
        // SAFETY: `first` bytes from `to` lie inside the ring and in its free part, which only
        // this producer touches until it publishes them; `bytes` is private memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), first) };
        let wrapped = &bytes[first..n];
        // SAFETY: as above; `n - first` bytes from the start of the ring are free as well.
        unsafe { std::ptr::copy_nonoverlapping(wrapped.as_ptr(), rest.as_ptr(), wrapped.len()) };
        self.tail += n as u64;
        if n > 0 {
            self.segment.side(self.way).tail.0.store(self.tail, Ordering::Release);
        }
        Ok(n)
    }

    /// Who sleeps at the other end and must be woken, which this call promises to do.
    pub(crate) fn sleeper(&self) -> Option<Sleeper> {
        match take(&self.segment.side(self.way).consumer.0) {
            AWAKE => None,
            LISTENS => Some(Sleeper::Listener),
            _ => Some(Sleeper::Usual),
        }
    }

    /// Wakes a consumer that sleeps on its futex.
    pub(crate) fn wake_consumer(&self) {
        if self.sleeper().is_some() {
            let _ = futex::wake(&self.segment.side(self.way).consumer.0, futex::Flags::empty(), 1);
        }
    }

    /// Asks the consumer to wake this producer at its next step.
    pub(crate) fn want_room(&self) {
        self.segment.side(self.way).producer.0.store(SLEEPS, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether nothing can be written now.
    pub(crate) fn is_full(&self) -> bool {
        let head = self.segment.side(self.way).head.0.load(Ordering::Acquire);
        self.tail.wrapping_sub(head) >= self.segment.capacity as u64
    }

    /// Sleeps until the consumer has taken something.
    pub(crate) fn wait_for_room(&self) {
        self.want_room();
        while self.is_full() {
            sleep(&self.segment.side(self.way).producer.0);
            self.want_room();
        }
    }
}

/// The reading end of a ring.
pub(crate) struct Consumer {
    segment: Arc<Segment>,
    way: Way,
    head: u64,
}

impl Consumer {
    /// The one reading end of this way, in one process.
    pub(crate) fn new(segment: Arc<Segment>, way: Way) -> Self {
        Self { segment, way, head: 0 }
    }

    fn available(&self) -> Result<usize, Corrupt> {
        let tail = self.segment.side(self.way).tail.0.load(Ordering::Acquire);
        filled(self.head, tail, self.segment.capacity)
    }

    /// Appends up to `limit` bytes to `out`, and says how many there were.
    pub(crate) fn read(&mut self, out: &mut Vec<u8>, limit: usize) -> Result<usize, Corrupt> {
        let n = self.available()?.min(limit);
        if n == 0 {
            return Ok(0);
        }
        let capacity = self.segment.capacity;
        let at = index(self.head, capacity);
        let first = n.min(capacity - at);
        out.reserve(n);
        let (from, rest) = (self.segment.data(self.way, at), self.segment.data(self.way, 0));
        let spare = &mut out.spare_capacity_mut()[..n];
        let (to, to_rest) = spare.split_at_mut(first);
        // SAFETY: `first` bytes from `from` lie inside the ring and were published by the
        // producer, which leaves them alone until `head` has passed them; `to` is private memory
        // of that length.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), to.len()) };
        let wrapped = to_rest.len();
        // SAFETY: as above, for the bytes from the start of the ring on.
        unsafe {
            std::ptr::copy_nonoverlapping(rest.as_ptr(), to_rest.as_mut_ptr().cast(), wrapped);
        }
        let len = out.len() + n;
        // SAFETY: the `n` bytes after the old length were reserved and have just been written.
        unsafe { out.set_len(len) };
        self.head += n as u64;
        self.segment.side(self.way).head.0.store(self.head, Ordering::Release);
        Ok(n)
    }

    /// Whether the producer waits for room and must be woken, which this call promises to do.
    pub(crate) fn producer_waits(&self) -> bool {
        take(&self.segment.side(self.way).producer.0) != AWAKE
    }

    /// Wakes a producer that sleeps on its futex.
    pub(crate) fn wake_producer(&self) {
        if self.producer_waits() {
            let _ = futex::wake(&self.segment.side(self.way).producer.0, futex::Flags::empty(), 1);
        }
    }

    /// Announces sleep; `false` when there is something to read after all.
    pub(crate) fn announce_sleep(&self) -> bool {
        self.announce(SLEEPS)
    }

    /// Announces a listener; `false` when there is something to read after all.
    pub(crate) fn announce_listener(&self) -> bool {
        self.announce(LISTENS)
    }

    fn announce(&self, word: u32) -> bool {
        let waits = &self.segment.side(self.way).consumer.0;
        waits.store(word, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if matches!(self.available(), Ok(0)) {
            return true;
        }
        waits.store(AWAKE, Ordering::SeqCst);
        false
    }

    /// Sleeps until there is something to read, after looking for it for a while.
    pub(crate) fn wait(&self, spin: &mut Spin) {
        if spin.until(|| !matches!(self.available(), Ok(0))) {
            return;
        }
        while self.announce_sleep() {
            sleep(&self.segment.side(self.way).consumer.0);
        }
    }
}

fn index(position: u64, capacity: usize) -> usize {
    usize::try_from(position % capacity as u64).expect("invariant: a ring fits into memory")
}

fn filled(head: u64, tail: u64, capacity: usize) -> Result<usize, Corrupt> {
    let filled = usize::try_from(tail.wrapping_sub(head)).map_err(|_| Corrupt)?;
    if filled <= capacity { Ok(filled) } else { Err(Corrupt) }
}

/// Takes the waits word of the other side back, after a step that it may wait for.
fn take(waits: &AtomicU32) -> u32 {
    fence(Ordering::SeqCst);
    match waits.load(Ordering::Relaxed) {
        AWAKE => AWAKE,
        _ => waits.swap(AWAKE, Ordering::SeqCst),
    }
}

fn sleep(waits: &AtomicU32) {
    let _ = futex::wait(waits, futex::Flags::empty(), SLEEPS, None);
}

#[cfg(test)]
mod tests {
    use super::{Consumer, Corrupt, Producer, Segment, Spin, Way};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    fn ends(capacity: usize) -> (Producer, Consumer, Arc<Segment>) {
        let (pool, fd) = Segment::create(capacity).unwrap();
        let worker = Arc::new(Segment::open(&fd).unwrap());
        let pool = Arc::new(pool);
        (Producer::new(pool.clone(), Way::ToWorker), Consumer::new(worker, Way::ToWorker), pool)
    }

    #[test]
    fn a_full_ring_takes_no_more_and_loses_nothing() {
        let (mut producer, mut consumer, _) = ends(4096);
        assert_eq!(producer.write(&[7; 5000]), Ok(4096));
        assert_eq!(producer.write(&[8; 10]), Ok(0));
        let mut out = Vec::new();
        assert_eq!(consumer.read(&mut out, 100), Ok(100));
        assert_eq!(producer.write(&[8; 200]), Ok(100));
        assert_eq!(consumer.read(&mut out, usize::MAX), Ok(4096));
        assert_eq!(out.iter().filter(|byte| **byte == 8).count(), 100);
    }

    #[test]
    fn a_stream_larger_than_the_ring_passes_with_both_sides_sleeping() {
        let (mut producer, mut consumer, _) = ends(4096);
        let sent: Vec<u8> =
            (0..1_000_003_u32).map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1]).collect();
        let received = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut rest = &sent[..];
                while !rest.is_empty() {
                    let n = producer.write(&rest[..rest.len().min(777)]).unwrap();
                    producer.wake_consumer();
                    rest = &rest[n..];
                    if n == 0 {
                        producer.wait_for_room();
                    }
                }
            });
            let mut received = Vec::new();
            while received.len() < sent.len() {
                if consumer.read(&mut received, 1001).unwrap() == 0 {
                    consumer.wait(&mut Spin::new(false));
                }
                consumer.wake_producer();
            }
            received
        });
        assert!(received == sent);
    }

    #[test]
    fn a_claim_goes_to_one_side_only() {
        let (_producer, _consumer, segment) = ends(4096);
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
    fn overwritten_positions_are_an_error() {
        let (mut producer, mut consumer, segment) = ends(4096);
        segment.side(Way::ToWorker).tail.0.store(1 << 40, Ordering::SeqCst);
        assert_eq!(consumer.read(&mut Vec::new(), 1), Err(Corrupt));
        segment.side(Way::ToWorker).head.0.store(1 << 40, Ordering::SeqCst);
        assert_eq!(producer.write(&[1]), Err(Corrupt));
    }

    #[test]
    fn a_foreign_file_is_refused() {
        let fd = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
        assert!(Segment::open(&fd).is_err());
    }
}

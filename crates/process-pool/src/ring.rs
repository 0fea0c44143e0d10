//! Byte rings in the shared memory between the pool and one worker.
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
//! That both sides keep to this is a promise of this crate's code on both sides: a link makes one
//! producer and one consumer of each ring (`link.rs` in the pool, `init.rs` in the worker), and a
//! worker of another build is refused. A service that overwrites the segment by other means has
//! broken the rules of Rust already; the pool checks every position and length that it reads, so
//! that this costs the worker and not the pool.
//!
//! # Sleeping
//!
//! Whoever finds nothing to do announces that, looks once more, and sleeps; whoever has moved a
//! position wakes one who has announced it ([`sleep`]). Workers sleep on the word itself (a
//! futex); the pool sleeps in `epoll` and is woken through an event descriptor.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::segment::{Segment, Way, wait_on, wake_on};
use crate::sleep::{self, AWAKE, LISTENS, SLEEPS};
use crate::spin::Spin;

/// Who must be woken when there is something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeper {
    /// The one that always reads this ring, in its own way.
    Usual,
    /// A caller who sleeps on the word itself, because the next answer is its own.
    Listener,
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
        match sleep::take(&self.segment.side(self.way).consumer.0) {
            AWAKE => None,
            LISTENS => Some(Sleeper::Listener),
            _ => Some(Sleeper::Usual),
        }
    }

    /// Wakes a consumer that sleeps on its futex.
    pub(crate) fn wake_consumer(&self) {
        if self.sleeper().is_some() {
            wake_on(&self.segment.side(self.way).consumer.0);
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
            wait_on(&self.segment.side(self.way).producer.0, SLEEPS);
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
        sleep::take(&self.segment.side(self.way).producer.0) != AWAKE
    }

    /// Wakes a producer that sleeps on its futex.
    pub(crate) fn wake_producer(&self) {
        if self.producer_waits() {
            wake_on(&self.segment.side(self.way).producer.0);
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
        let nothing = || matches!(self.available(), Ok(0));
        sleep::announce(&self.segment.side(self.way).consumer.0, word, nothing)
    }

    /// Sleeps until there is something to read, after looking for it for a while.
    pub(crate) fn wait(&self, spin: &mut Spin) {
        if spin.until(|| !matches!(self.available(), Ok(0))) {
            return;
        }
        while self.announce_sleep() {
            wait_on(&self.segment.side(self.way).consumer.0, SLEEPS);
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
    fn overwritten_positions_are_an_error() {
        let (mut producer, mut consumer, segment) = ends(4096);
        segment.side(Way::ToWorker).tail.0.store(1 << 40, Ordering::SeqCst);
        assert_eq!(consumer.read(&mut Vec::new(), 1), Err(Corrupt));
        segment.side(Way::ToWorker).head.0.store(1 << 40, Ordering::SeqCst);
        assert_eq!(producer.write(&[1]), Err(Corrupt));
    }
}

//! The agreement of sleepers and wakers, in all interleavings.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p process-pool --test model`
#![cfg(loom)]

#[path = "../src/sleep.rs"]
mod sleep;

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;
use sleep::{AWAKE, LISTENS, SLEEPS, Word, announce, dismiss, take};

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

/// A futex: sleeps while the word has a value. A wake-up that is lost never ends, which loom sees.
fn futex(word: &AtomicU32, value: u32) {
    while word.load(Ordering::Acquire) == value {
        thread::yield_now();
    }
}

#[derive(Clone)]
struct Ring {
    tail: Arc<AtomicU32>,
    word: Arc<AtomicU32>,
    bell: Arc<AtomicU32>,
}

impl Ring {
    fn new(word: u32) -> Self {
        let new = |value| Arc::new(AtomicU32::new(value));
        Self { tail: new(0), word: new(word), bell: new(0) }
    }

    fn publish(&self, tail: u32) {
        self.tail.store(tail, Ordering::Release);
        if take(&*self.word) == SLEEPS {
            self.bell.store(1, Ordering::SeqCst);
        }
    }

    fn is_at(&self, head: u32) -> bool {
        self.tail.load(Ordering::Acquire) == head
    }
}

#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let ring = Ring::new(AWAKE);
        let producer = ring.clone();
        let producer = thread::spawn(move || {
            producer.publish(1);
            producer.publish(2);
        });
        let mut head = 0;
        while head < 2 {
            while announce(&*ring.word, SLEEPS, || ring.is_at(head)) {
                futex(&ring.word, SLEEPS);
            }
            head = ring.tail.load(Ordering::Acquire);
        }
        producer.join().unwrap();
    });
}

#[test]
fn a_listener_hears_or_the_bell_rings() {
    loom::model(|| {
        let ring = Ring::new(SLEEPS);
        let worker = ring.clone();
        // The task is completed by somebody else, who ends the listener's turn.
        let other = ring.clone();
        let listens = announce(&*ring.word, LISTENS, || ring.is_at(0));
        assert!(listens);
        let worker = thread::spawn(move || worker.publish(1));
        let other = thread::spawn(move || dismiss(&*other.word));
        futex(&ring.word, LISTENS);
        worker.join().unwrap();
        other.join().unwrap();
        // The answer is there by now: it woke the listener, who reads it, or it rang.
        let rang = ring.bell.load(Ordering::SeqCst) == 1;
        let woken = ring.word.load(Ordering::SeqCst) == AWAKE;
        assert!(rang || woken);
    });
}

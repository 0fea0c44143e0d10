//! Who changes a mutable arena, and who waits for a moment at which nobody does.

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rustix::fd::OwnedFd;

use crate::error::Result;
use crate::os::range_lock::{Byte, Mode, lock, unlock};

/// Lets many change the arena at once, and snapshots only while nobody does.
///
/// Within the process a lock of its own; between processes locks on two bytes of the file, which
/// the kernel drops when their process ends, so that a writer that was killed stops nobody. The
/// first writer of a process takes the file's lock for all of them, and the last one gives it back.
/// The second byte is a turnstile: a snapshot that waits holds it, and new writers wait behind it.
#[derive(Debug)]
pub(crate) struct Gate {
    file: Option<OwnedFd>,
    here: RwLock<()>,
    n_writers: Mutex<usize>,
}

impl Gate {
    pub(crate) fn new(file: Option<OwnedFd>) -> Self {
        Self { file, here: RwLock::new(()), n_writers: Mutex::new(0) }
    }

    pub(crate) fn write(&self) -> Result<Writing<'_>> {
        // Recursive, so that a step may contain another while a snapshot waits.
        let here = self.here.read_recursive();
        let mut n_writers = self.n_writers.lock();
        if let (0, Some(file)) = (*n_writers, &self.file) {
            lock(file, Byte::Turnstile, Mode::Shared)?;
            let entered = lock(file, Byte::Gate, Mode::Shared);
            unlock(file, Byte::Turnstile);
            entered?;
        }
        *n_writers += 1;
        Ok(Writing { gate: self, _here: here })
    }

    pub(crate) fn alone(&self) -> Result<Alone<'_>> {
        let here = self.here.write();
        let alone = Alone { gate: self, _here: here };
        if let Some(file) = &self.file {
            lock(file, Byte::Turnstile, Mode::Exclusive)?;
            lock(file, Byte::Gate, Mode::Exclusive)?;
        }
        Ok(alone)
    }
}

/// While it lives, no snapshot is taken.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    gate: &'a Gate,
    _here: RwLockReadGuard<'a, ()>,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut n_writers = self.gate.n_writers.lock();
        *n_writers -= 1;
        if let (0, Some(file)) = (*n_writers, &self.gate.file) {
            unlock(file, Byte::Gate);
        }
    }
}

/// While it lives, nobody changes the arena through this crate.
#[derive(Debug)]
pub(crate) struct Alone<'a> {
    gate: &'a Gate,
    _here: RwLockWriteGuard<'a, ()>,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        if let Some(file) = &self.gate.file {
            unlock(file, Byte::Gate);
            unlock(file, Byte::Turnstile);
        }
    }
}

//! One lock per process that says it lives.
//!
//! A process that holds named arenas has a lease file, locked for as long as it holds any. The
//! kernel drops the lock when the process ends, however it ends, and never earlier, so a lease that
//! can be locked by somebody else belongs to nobody. The file says which process it is, for people:
//! ids of processes can be used again, so nothing is decided by them.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::process::{geteuid, getpid};

use crate::error::{Error, Result};
use crate::id::ArenaId;
use crate::os::dir::Name;
use crate::os::limits::descriptor_error;

/// The lease of this process.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) id: ArenaId,
    process: u32,
    _locked: OwnedFd,
}

static CURRENT: Mutex<Weak<Lease>> = Mutex::new(Weak::new());

/// The lease of this process, made if it has none.
pub(crate) fn current() -> Result<Arc<Lease>> {
    let mut current = CURRENT.lock();
    if let Some(lease) = current.upgrade().filter(|lease| lease.is_ours()) {
        return Ok(lease);
    }
    let lease = Arc::new(Lease::new()?);
    *current = Arc::downgrade(&lease);
    Ok(lease)
}

impl Lease {
    fn new() -> Result<Self> {
        loop {
            let id = ArenaId::random()?;
            let path = Name::Lease(id).path();
            let flags =
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = open(&path, flags, Mode::RUSR | Mode::WUSR)
                .map_err(|error| descriptor_error(format!("make {}", path.display()), error))?;
            let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
            let mut file = File::from(file);
            // Between the two calls a sweep may have taken it for a dead one and removed it.
            let there = file.metadata().is_ok_and(|metadata| metadata.nlink() == 1);
            if locked.is_err() || !there {
                Name::Lease(id).remove();
                continue;
            }
            let process = process_id();
            // In one call: the first arena that a process opens waits for it.
            if let Err(error) = file.write_all(format!("{process}\n").as_bytes()) {
                fs::remove_file(&path).ok();
                return Err(Error::system(format!("write {}", path.display()), error));
            }
            return Ok(Self { id, process, _locked: file.into() });
        }
    }

    /// Whether this process took the lease itself and did not get it by a fork.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == process_id()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_ours() {
            Name::Lease(self.id).remove();
        }
    }
}

/// What a lease says about its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) process: u32,
    pub(crate) program: String,
}

/// A lease that was found in the directory.
#[derive(Debug)]
pub(crate) enum Found {
    /// Its process lives.
    Alive(Holder),
    /// Its process has ended. While the descriptor is kept, no other sweep treats it.
    Dead(File),
    /// It is not there any more.
    Gone,
    /// It belongs to another user.
    Foreign,
}

/// Looks at the lease with this id.
pub(crate) fn look(id: ArenaId) -> Result<Found> {
    let path = Name::Lease(id).path();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match open(&path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(Found::Gone),
        Err(Errno::ACCESS | Errno::PERM | Errno::LOOP) => return Ok(Found::Foreign),
        Err(error) => return Err(descriptor_error(format!("open {}", path.display()), error)),
    };
    let metadata = file.metadata();
    let metadata =
        metadata.map_err(|error| Error::system(format!("read {}", path.display()), error))?;
    if metadata.uid() != geteuid().as_raw() || !metadata.is_file() {
        return Ok(Found::Foreign);
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Found::Dead(file)),
        Err(Errno::WOULDBLOCK) => Ok(Found::Alive(read_holder(file))),
        Err(error) => Err(Error::system(format!("lock {}", path.display()), error)),
    }
}

fn read_holder(file: File) -> Holder {
    let mut text = String::new();
    // Not yet written or not readable: the holder lives all the same.
    drop(file.take(4096).read_to_string(&mut text));
    let process = text.lines().next().and_then(|line| line.parse().ok()).unwrap_or(0);
    Holder { process, program: program(process) }
}

pub(crate) fn process_id() -> u32 {
    getpid().as_raw_nonzero().get().unsigned_abs()
}

/// The name of a process's program, empty if the system does not tell it.
pub(crate) fn program(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/comm"))
        .map_or_else(|_| String::new(), |name| name.trim_end().to_owned())
}

//! Anonymous memory files with seals.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create,
    open,
};

use crate::error::{Cause, Error, Result};
use crate::header::Kind;
use crate::id::ArenaId;
use crate::os::limits::{MEMORY, descriptor_error, reserve};

/// A new memory file of this length, all of it reserved.
pub(crate) fn create(id: ArenaId, len: usize) -> Result<OwnedFd> {
    let what = format!("arena {id}");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // The name shows in /proc/*/maps; it need not be unique.
    let file = memfd_create("tensor-share", flags)
        .map_err(|error| descriptor_error(format!("make {what}"), error))?;
    reserve(&file, len, &what, MEMORY)?;
    Ok(file)
}

fn wanted(kind: Kind) -> SealFlags {
    let fixed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    match kind {
        Kind::Sealed => fixed | SealFlags::WRITE,
        Kind::Mutable => fixed,
    }
}

/// Ends all writing (of a sealed arena) and all changes of the length. No writable mapping of a
/// sealed arena may be left.
pub(crate) fn seal(file: impl AsFd, kind: Kind) -> Result<()> {
    fcntl_add_seals(file, wanted(kind)).map_err(|error| Error::system("seal an arena", error))
}

/// Sees that the kernel keeps the promise of a sealed or mutable arena.
pub(crate) fn check_seals(file: impl AsFd, id: ArenaId, kind: Kind) -> Result<()> {
    let found = fcntl_get_seals(file)
        .map_err(|error| Error::system(format!("read the seals of arena {id}"), error))?;
    let expected = wanted(kind);
    if !found.contains(expected) {
        let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
        return Err(Cause::Seals { id, found, expected }.into());
    }
    Ok(())
}

/// A descriptor with locks of its own: those that travel share theirs with the sender.
pub(crate) fn reopen(file: impl AsFd) -> Result<OwnedFd> {
    use std::os::fd::AsRawFd as _;
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| descriptor_error(format!("open {path} again"), error))
}

/// The length of the file behind a descriptor.
pub(crate) fn length(file: impl AsFd) -> Result<u64> {
    let stat = fstat(file).map_err(|error| Error::system("read the length of an arena", error))?;
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

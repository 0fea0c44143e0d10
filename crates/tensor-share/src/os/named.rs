//! Named objects in /dev/shm.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, fchmod, fstat, open};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Cause, Error, Result};
use crate::header::Kind;
use crate::id::ArenaId;
use crate::os::dir::{DIR, Name};
use crate::os::lease::{self, Lease};
use crate::os::limits::{descriptor_error, reserve};

/// That this process holds a named arena: a hard link of its own, removed with this value, and with
/// the last one the arena.
#[derive(Debug)]
pub(crate) struct Hold {
    arena: ArenaId,
    name: Name,
    lease: Arc<Lease>,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

impl Hold {
    fn new(arena: ArenaId) -> Result<Self> {
        let lease = lease::current()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { arena, name: Name::Hold { arena, lease: lease.id, count }, lease })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // A forked child has its parent's values, but the names are the parent's.
        if self.lease.is_ours() {
            self.name.remove();
            remove_if_unheld(self.arena);
        }
    }
}

/// Removes an arena that no hold is left of. Says how many bytes that freed.
pub(crate) fn remove_if_unheld(arena: ArenaId) -> Option<u64> {
    let path = Name::Arena(arena).path();
    let metadata = fs::symlink_metadata(&path).ok()?;
    if metadata.nlink() != 1 || metadata.uid() != geteuid().as_raw() {
        return None;
    }
    fs::remove_file(&path).ok()?;
    Some(metadata.len())
}

/// A new object of this length under the name of its hold, all of it reserved.
pub(crate) fn create(id: ArenaId, len: usize) -> Result<(OwnedFd, Hold)> {
    crate::sweep::once()?;
    let hold = Hold::new(id)?;
    let path = hold.name.path();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(&path, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|error| descriptor_error(format!("make {}", path.display()), error))?;
    reserve(&file, len, &format!("arena {id}"), DIR)?;
    Ok((file, hold))
}

fn mode(kind: Kind) -> Mode {
    match kind {
        Kind::Sealed => Mode::RUSR,
        Kind::Mutable => Mode::RUSR | Mode::WUSR,
    }
}

/// Gives a finished object the name under which others open it.
pub(crate) fn publish(file: impl AsFd, hold: &Hold, kind: Kind) -> Result<()> {
    let path = Name::Arena(hold.arena).path();
    let failed = |error: io::Error| Error::system(format!("publish {}", path.display()), error);
    fchmod(file, mode(kind)).map_err(|error| failed(error.into()))?;
    // A link to an existing name fails, so this never replaces what somebody else put there.
    fs::hard_link(hold.name.path(), &path).map_err(failed)
}

/// Opens a published arena and holds it.
pub(crate) fn open_arena(id: ArenaId, kind: Kind) -> Result<(OwnedFd, Option<Hold>)> {
    let path = Name::Arena(id).path();
    let access = match kind {
        Kind::Sealed => OFlags::RDONLY,
        Kind::Mutable => OFlags::RDWR,
    };
    let file = match open(
        &path,
        access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Err(Cause::NotNamed { id, path }.into()),
        Err(error @ (Errno::ACCESS | Errno::PERM)) => return Err(refused(id, &path, kind, error)),
        Err(error) => return Err(descriptor_error(format!("open {}", path.display()), error)),
    };
    check_owner(&file, id, &path, kind)?;
    let hold = Hold::new(id)?;
    let held = match fs::hard_link(&path, hold.name.path()) {
        Ok(()) => Some(hold),
        // Its last holder has just gone. The data lives as long as it is mapped here.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::system(format!("hold {}", path.display()), error)),
    };
    Ok((file, held))
}

fn refused(id: ArenaId, path: &Path, kind: Kind, error: Errno) -> Error {
    let found = fs::symlink_metadata(path).ok();
    let judged = found.and_then(|found| {
        let mode = found.permissions().mode() & 0o7777;
        judge(id, path, (found.uid(), mode, found.is_file()), kind).err()
    });
    judged.unwrap_or_else(|| Error::system(format!("open {}", path.display()), error))
}

/// Sees that nobody but this user can have written the object, and that it is finished.
fn check_owner(file: impl AsFd, id: ArenaId, path: &Path, kind: Kind) -> Result<()> {
    let failed = |error| Error::system(format!("read {}", path.display()), error);
    let stat = fstat(file).map_err(failed)?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    judge(id, path, (stat.st_uid, stat.st_mode & 0o7777, regular), kind)
}

fn judge(
    id: ArenaId,
    path: &Path,
    (owner, mode, regular): (u32, u32, bool),
    kind: Kind,
) -> Result<()> {
    let user = geteuid().as_raw();
    let modes = [Kind::Sealed, Kind::Mutable].map(|kind| (self::mode(kind).as_raw_mode(), kind));
    let found = modes.into_iter().find(|&(allowed, _)| allowed == mode);
    match found {
        Some((_, found)) if owner == user && regular => {
            if found == kind {
                return Ok(());
            }
            Err(Cause::Kind { id, is: found.text(), wants: kind.text() }.into())
        }
        _ => {
            let (what, wanted) = (path.display().to_string(), self::mode(kind).as_raw_mode());
            Err(Cause::Owner { what, owner, user, mode, wanted }.into())
        }
    }
}

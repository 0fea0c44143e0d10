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
        Err(error @ (Errno::ACCESS | Errno::PERM)) => return Err(refused(&path, kind, error)),
        Err(error) => return Err(descriptor_error(format!("open {}", path.display()), error)),
    };
    check_owner(&file, &path, kind)?;
    let hold = Hold::new(id)?;
    let held = match fs::hard_link(&path, hold.name.path()) {
        Ok(()) => Some(hold),
        // Its last holder has just gone. The data lives as long as it is mapped here.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::system(format!("hold {}", path.display()), error)),
    };
    Ok((file, held))
}

fn owner(path: &Path, owner: u32, mode: u32, kind: Kind) -> Error {
    let what = path.display().to_string();
    let wanted = self::mode(kind).as_raw_mode();
    Cause::Owner { what, owner, user: geteuid().as_raw(), mode, wanted }.into()
}

fn refused(path: &Path, kind: Kind, error: Errno) -> Error {
    match fs::symlink_metadata(path) {
        Ok(found) => owner(path, found.uid(), found.permissions().mode() & 0o7777, kind),
        Err(_) => Error::system(format!("open {}", path.display()), error),
    }
}

/// Sees that nobody but this user can have written the object, and that it is finished.
fn check_owner(file: impl AsFd, path: &Path, kind: Kind) -> Result<()> {
    let stat =
        fstat(file).map_err(|error| Error::system(format!("read {}", path.display()), error))?;
    let found = stat.st_mode & 0o7777;
    // A sealed handle may meet a mutable arena; the header says which it is.
    let allowed = [mode(Kind::Sealed).as_raw_mode(), mode(Kind::Mutable).as_raw_mode()];
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if stat.st_uid != geteuid().as_raw() || !allowed.contains(&found) || !regular {
        return Err(owner(path, stat.st_uid, found, kind));
    }
    Ok(())
}

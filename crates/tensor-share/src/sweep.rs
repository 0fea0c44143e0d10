use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use parking_lot::Mutex;

use crate::error::Result;
use crate::os::dir::{Name, names};
use crate::os::lease::{self, Found};
use crate::os::named::remove_if_unheld;

/// What [`sweep`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Arenas that no living process holds.
    pub arenas: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Processes that ended without removing what they held.
    pub processes: usize,
}

/// Removes the named arenas of this user that no living process holds.
///
/// Processes that are killed leave their named objects in /dev/shm. Each process has one file there
/// that it keeps locked while it lives; the kernel ends the lock with the process. This removes
/// what hangs on locks that nobody has, and never looks at ids of processes, which can be used
/// again. It runs by itself before a process makes its first named arena. Arenas of the strategy
/// `file_descriptor` have no name and end with their last process.
///
/// # Errors
///
/// /dev/shm cannot be listed, or there is no descriptor left to look at a lock.
pub fn sweep() -> Result<Swept> {
    let mut swept = Swept::default();
    let names = names()?;
    // Kept until the end, so that no second sweep meets leases that are half treated.
    let mut locks = Vec::new();
    let mut is_over = BTreeMap::new();
    for name in &names {
        let Name::Lease(lease) = *name else { continue };
        if let Found::Dead(lock) = lease::look(lease)? {
            is_over.insert(lease, true);
            locks.push((lease, lock));
            // With few descriptors, the rest is for the next sweep.
            if locks.len() == 16 {
                break;
            }
        }
    }
    for name in &names {
        let Name::Hold { lease, .. } = *name else { continue };
        let over = match is_over.get(&lease) {
            Some(&over) => over,
            // A hold without a lease: somebody removed the lease by hand, or both go right now.
            None => matches!(lease::look(lease)?, Found::Gone),
        };
        is_over.insert(lease, over);
        if !over {
            continue;
        }
        // With no other name, its process was killed while it wrote the arena.
        if let Ok(metadata) = fs::symlink_metadata(name.path())
            && metadata.nlink() == 1
        {
            swept.arenas += 1;
            swept.bytes += metadata.len();
        }
        name.remove();
    }
    for name in &names {
        let Name::Arena(arena) = *name else { continue };
        if let Some(bytes) = remove_if_unheld(arena) {
            swept.arenas += 1;
            swept.bytes += bytes;
        }
    }
    for (lease, _) in &locks {
        swept.processes += usize::from(Name::Lease(*lease).remove());
    }
    // Where nothing can be removed, trying again would not end.
    let more = locks.len() == 16 && swept.processes > 0;
    drop(locks);
    if more {
        let rest = sweep()?;
        swept.arenas += rest.arenas;
        swept.bytes += rest.bytes;
        swept.processes += rest.processes;
    }
    Ok(swept)
}

/// Sweeps when this process makes its first named arena.
pub(crate) fn once() -> Result<()> {
    static DONE: Mutex<bool> = Mutex::new(false);
    let mut done = DONE.lock();
    if !*done {
        sweep()?;
        *done = true;
    }
    Ok(())
}

//! The arenas that this process has open, each once.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::fd::OwnedFd;

use crate::error::{Cause, Result};
use crate::header::Kind;
use crate::id::ArenaId;
use crate::opened::Opened;
use crate::os::named;
use crate::place::Place;

struct Registry {
    open: BTreeMap<ArenaId, Weak<Opened>>,
    /// Arenas that were sent to this process, which stay until they are detached.
    attached: BTreeMap<ArenaId, Arc<Opened>>,
}

// While this is locked, no `Opened` may be dropped: dropping one locks it.
static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { open: BTreeMap::new(), attached: BTreeMap::new() });

/// Takes in an arena that this process has just made.
pub(crate) fn insert(opened: Opened) -> Arc<Opened> {
    let opened = Arc::new(opened);
    REGISTRY.lock().open.insert(opened.id(), Arc::downgrade(&opened));
    opened
}

/// The arena with this id, opened if it is not open yet.
pub(crate) fn find(id: ArenaId, place: Place, kind: Kind) -> Result<Arc<Opened>> {
    let opened = {
        let mut registry = REGISTRY.lock();
        let open = registry.open.get(&id).and_then(Weak::upgrade);
        match (open, place) {
            (Some(opened), _) => opened,
            (None, Place::FileDescriptor) => return Err(Cause::NotAttached { id }.into()),
            (None, Place::InProcess) => return Err(Cause::NotHere { id }.into()),
            // Under the lock, so that two threads do not map it twice.
            (None, Place::FileSystem) => {
                let (file, hold) = named::open_arena(id, kind)?;
                let opened = Arc::new(Opened::named(file, id, kind, hold)?);
                registry.open.insert(id, Arc::downgrade(&opened));
                opened
            }
        }
    };
    opened.expect(kind)?;
    Ok(opened)
}

/// Takes in an arena whose descriptor was sent to this process, unless it is there already.
pub(crate) fn attach(id: ArenaId, file: OwnedFd) -> Result<()> {
    let mut registry = REGISTRY.lock();
    if registry.attached.contains_key(&id) {
        return Ok(());
    }
    let open = registry.open.get(&id).and_then(Weak::upgrade);
    let opened = match open {
        Some(opened) => opened,
        None => Arc::new(Opened::received(file, id)?),
    };
    registry.open.insert(id, Arc::downgrade(&opened));
    registry.attached.insert(id, opened);
    Ok(())
}

/// Lets an arena go that was sent to this process. Tensors and handles that live keep it open.
pub(crate) fn detach(id: ArenaId) -> bool {
    let detached = REGISTRY.lock().attached.remove(&id);
    detached.is_some()
}

/// All arenas that are open.
pub(crate) fn all() -> Vec<Arc<Opened>> {
    REGISTRY.lock().open.values().filter_map(Weak::upgrade).collect()
}

/// Forgets an arena whose last user has gone, unless it was opened again meanwhile.
pub(crate) fn forget(id: ArenaId) {
    let mut registry = REGISTRY.lock();
    if registry.open.get(&id).is_some_and(|open| open.strong_count() == 0) {
        registry.open.remove(&id);
    }
}

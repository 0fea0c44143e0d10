//! What travels instead of tensors.

use std::sync::Arc;

use candle_core::DType;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::cache;
use crate::element;
use crate::error::{Cause, Result};
use crate::header::{Entry, Kind};
use crate::id::ArenaId;
use crate::opened::Opened;
use crate::place::Place;

const VERSION: u8 = 1;

/// Where an arena is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArenaHandle {
    pub(crate) id: ArenaId,
    pub(crate) place: Place,
}

/// Where a tensor is found, and what it is expected to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TensorHandle {
    pub(crate) arena: ArenaHandle,
    pub(crate) offset: usize,
    pub(crate) dtype: DType,
    pub(crate) dims: Box<[usize]>,
}

impl ArenaHandle {
    pub(crate) fn of(opened: &Opened) -> Self {
        Self { id: opened.id(), place: opened.place }
    }

    pub(crate) fn find(&self, kind: Kind) -> Result<Arc<Opened>> {
        cache::find(self.id, self.place, kind)
    }
}

impl TensorHandle {
    pub(crate) fn of(opened: &Opened, entry: &Entry) -> Self {
        let arena = ArenaHandle::of(opened);
        Self { arena, offset: entry.offset, dtype: entry.dtype, dims: Box::from(&*entry.dims) }
    }

    /// The entry of the arena that the handle means.
    pub(crate) fn index_in(&self, opened: &Opened) -> Result<usize> {
        let directory = &opened.directory;
        let Some(index) = directory.by_offset(self.offset) else {
            let what = format!("the handle of a tensor at byte {}", self.offset);
            let problem = format!("arena {} has no tensor there", directory.id);
            return Err(Cause::Format { what, problem }.into());
        };
        let entry = &directory.entries[index];
        crate::builder::check(entry, "open", self.dtype, &self.dims, "handle")?;
        Ok(index)
    }
}

/// Version, place, id. Changes only with the version, which stays the first byte.
type ArenaWire = (u8, u8, [u8; 16]);

impl Serialize for ArenaHandle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = match self.place {
            Place::FileDescriptor => 0,
            Place::FileSystem => 1,
            Place::InProcess => 2,
        };
        let wire: ArenaWire = (VERSION, place, self.id.to_bytes());
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ArenaHandle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (version, place, id) = ArenaWire::deserialize(deserializer)?;
        if version != VERSION {
            return Err(de::Error::custom(Cause::HandleVersion {
                found: version,
                expected: VERSION,
            }));
        }
        let place = match place {
            0 => Place::FileDescriptor,
            1 => Place::FileSystem,
            2 => Place::InProcess,
            other => return Err(de::Error::custom(format!("unknown sharing strategy {other}"))),
        };
        Ok(Self { id: ArenaId::from_bytes(id), place })
    }
}

impl Serialize for TensorHandle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let dtype = element::code(self.dtype).expect("invariant: the arena took the dtype");
        (&self.arena, dtype, self.offset as u64, &self.dims).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TensorHandle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (arena, dtype, offset, dims) =
            <(ArenaHandle, u8, u64, Box<[usize]>)>::deserialize(deserializer)?;
        let dtype = element::dtype(dtype)
            .ok_or_else(|| de::Error::custom(format!("unknown dtype {dtype}")))?;
        let offset = usize::try_from(offset).map_err(de::Error::custom)?;
        Ok(Self { arena, offset, dtype, dims })
    }
}

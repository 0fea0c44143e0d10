//! The names in /dev/shm.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::id::ArenaId;

pub(crate) const DIR: &str = "/dev/shm";
const PREFIX: &str = "tensor-share-";

/// A name that this crate gives to an object in /dev/shm.
///
/// An arena has one name by which it is opened and one further hard link for each time that a
/// process holds it; a process that holds anything has a lease. So the directory itself says who
/// holds what, without a descriptor for each arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Lease(ArenaId),
    Arena(ArenaId),
    Hold { arena: ArenaId, lease: ArenaId, count: u64 },
}

impl Name {
    pub(crate) fn path(self) -> PathBuf {
        PathBuf::from(format!("{DIR}/{self}"))
    }

    /// Removes the name, and says whether that was done here. Somebody may have removed it before,
    /// and about any other error this process could do nothing.
    pub(crate) fn remove(self) -> bool {
        fs::remove_file(self.path()).is_ok()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(lease) => write!(f, "{PREFIX}lease-{lease}"),
            Self::Arena(arena) => write!(f, "{PREFIX}{arena}"),
            Self::Hold { arena, lease, count } => write!(f, "{PREFIX}{arena}-{lease}-{count}"),
        }
    }
}

impl FromStr for Name {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.strip_prefix(PREFIX).ok_or(())?;
        let id = |text: &str| match text.len() {
            32 => text.parse::<ArenaId>().map_err(drop),
            _ => Err(()),
        };
        if let Some(lease) = text.strip_prefix("lease-") {
            return id(lease).map(Self::Lease);
        }
        let mut parts = text.split('-');
        let arena = id(parts.next().ok_or(())?)?;
        let name = match (parts.next(), parts.next()) {
            (None, _) => Self::Arena(arena),
            (Some(lease), Some(count)) => {
                Self::Hold { arena, lease: id(lease)?, count: count.parse().map_err(drop)? }
            }
            (Some(_), None) => return Err(()),
        };
        if parts.next().is_some() { Err(()) } else { Ok(name) }
    }
}

/// All names of this crate, in order.
pub(crate) fn names() -> Result<Vec<Name>> {
    let failed = |error| Error::system(format!("list {DIR}"), error);
    let mut names = Vec::new();
    for entry in fs::read_dir(DIR).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if let Some(Ok(name)) = entry.file_name().to_str().map(Name::from_str) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_they_are_written_and_others_do_not() {
        let (arena, lease) = (ArenaId::from_key(1), ArenaId::from_key(u128::MAX));
        for name in [Name::Lease(lease), Name::Arena(arena), Name::Hold { arena, lease, count: 9 }]
        {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let arena = Name::Arena(arena).to_string();
        for other in [
            "tensor-share-",
            "tensor-share-1",
            "torch_1",
            &format!("{arena}-x"),
            &format!("{arena}-1-2-3"),
        ] {
            assert!(other.parse::<Name>().is_err(), "{other}");
        }
    }
}

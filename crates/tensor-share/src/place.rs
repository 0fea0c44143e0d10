use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::{Cause, Error};

/// How arenas travel to other processes, by the names that PyTorch made known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharingStrategy {
    /// An anonymous memory file, sealed by the kernel. Its descriptor must be carried to each
    /// process once (see [`collect`](crate::collect) and [`attach`](crate::attach)); it cannot be
    /// left behind. The process that makes an arena holds one descriptor for it.
    FileDescriptor,
    /// A named object in /dev/shm. Handles are all that travels, no descriptor is held for an
    /// arena, and what killed processes leave is removed by [`sweep`](crate::sweep()).
    FileSystem,
}

/// Where an arena lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    FileDescriptor,
    FileSystem,
    InProcess,
}

static CURRENT: AtomicU8 = AtomicU8::new(0);

/// Sets how the arenas that this process makes from now on travel.
///
/// By default, [`SharingStrategy::FileDescriptor`]. Arenas that exist keep their strategy, and
/// arenas of both are read whatever is set here.
pub fn set_sharing_strategy(strategy: SharingStrategy) {
    CURRENT.store(strategy as u8, Ordering::Relaxed);
}

/// How the arenas that this process makes travel.
pub fn sharing_strategy() -> SharingStrategy {
    all_sharing_strategies()[usize::from(CURRENT.load(Ordering::Relaxed))]
}

/// All strategies of this system.
pub fn all_sharing_strategies() -> &'static [SharingStrategy] {
    &[SharingStrategy::FileDescriptor, SharingStrategy::FileSystem]
}

impl SharingStrategy {
    /// The name, as in settings and on command lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileDescriptor => "file_descriptor",
            Self::FileSystem => "file_system",
        }
    }
}

impl fmt::Display for SharingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SharingStrategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        all_sharing_strategies()
            .iter()
            .find(|strategy| strategy.as_str() == name)
            .copied()
            .ok_or_else(|| Cause::Strategy { name: name.to_owned() }.into())
    }
}

impl From<SharingStrategy> for Place {
    fn from(strategy: SharingStrategy) -> Self {
        match strategy {
            SharingStrategy::FileDescriptor => Self::FileDescriptor,
            SharingStrategy::FileSystem => Self::FileSystem,
        }
    }
}

use std::fmt;
use std::str::FromStr;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The 128 random bits that name an arena, on this machine and in its handles.
///
/// Whoever knows the id of a named arena and runs as the same user can read it, so ids are drawn
/// from the system's generator and cannot be guessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArenaId([u8; 16]);

impl ArenaId {
    pub(crate) fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
                .map_err(|error| Error::system("draw a random arena id", error))?;
        }
        Ok(Self(bytes))
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The id as a number, as a channel that carries descriptors may key them.
    pub fn key(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// The id that has this [`key`](Self::key).
    pub fn from_key(key: u128) -> Self {
        Self(key.to_be_bytes())
    }
}

impl fmt::Display for ArenaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.key())
    }
}

impl fmt::Debug for ArenaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArenaId({self})")
    }
}

impl FromStr for ArenaId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self::from_key)
    }
}

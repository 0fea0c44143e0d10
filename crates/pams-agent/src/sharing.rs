//! What agents hold beside their own bytes: memory that processes share.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::agent::AgentError;
use crate::registry::Registry;

/// Memory that travels to another process as a descriptor, beside the values that speak of it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    /// The number by which values speak of it.
    pub key: u128,
    /// The descriptor; none when the number is enough to find the memory.
    pub descriptor: Option<Arc<OwnedFd>>,
    /// Whether every process that has the memory may change it.
    pub is_mutable: bool,
}

/// How agents share memory with their copies in other processes.
///
/// An agent that holds memory of many megabytes is not encoded with it, but with a handle that
/// says where it is. For that the process that decodes it must have the memory first. Whoever
/// carries agents asks a `Sharing` what memory a value speaks of while it encodes the value, and
/// gives it to the `Sharing` of the other process before the value is decoded there.
///
/// [`collect`](Self::collect) and [`attach`](Self::attach) are required. It is registered once for
/// all classes, with [`Registry::sharing`].
pub trait Sharing: fmt::Debug + Send + Sync + 'static {
    /// Calls `encode` once, and finds the memory that was spoken of meanwhile, each once.
    fn collect(&self, encode: &mut dyn FnMut()) -> Vec<SharedMemory>;

    /// Gives this process memory that another one found. The same key may come again.
    ///
    /// # Errors
    ///
    /// When the descriptor is not what the key says, or this process can't take it in.
    fn attach(&self, key: u128, descriptor: OwnedFd) -> Result<(), AgentError>;

    /// Looks, when a run is over, whether this process changed memory that it should only have
    /// read. By default nothing is looked at.
    ///
    /// # Errors
    ///
    /// When it did; the text names the memory.
    fn check(&self) -> Result<(), AgentError> {
        Ok(())
    }
}

impl Registry {
    /// Encodes something and finds the memory that it speaks of.
    ///
    /// # Panics
    ///
    /// If the [`Sharing`] does not call what it is given.
    pub fn collect<R>(&self, encode: impl FnOnce() -> R) -> (R, Vec<SharedMemory>) {
        let Some(sharing) = self.shared() else { return (encode(), Vec::new()) };
        let (mut encode, mut encoded) = (Some(encode), None);
        let memory = sharing.collect(&mut || {
            encoded = encode.take().map(|encode| encode());
        });
        (encoded.expect("`Sharing::collect` calls its argument"), memory)
    }
}

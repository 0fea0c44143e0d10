//! How agents share tensors with their copies in worker processes.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use pams_agent::{AgentError, SharedMemory, Sharing};
use tensor_share::Attachment;

/// Shares the arenas of tensor-share. [`register`](crate::register) puts it into a registry.
#[derive(Debug, Default, Clone, Copy)]
pub struct TensorSharing;

fn memory(attachment: &Attachment) -> SharedMemory {
    // Without a descriptor to spare, decoding fails in the worker and says so.
    let descriptor = attachment.descriptor().and_then(|one| one.try_clone_to_owned().ok());
    SharedMemory {
        key: attachment.key(),
        descriptor: descriptor.map(Arc::new),
        is_mutable: attachment.is_mutable(),
    }
}

impl Sharing for TensorSharing {
    fn collect(&self, encode: &mut dyn FnMut()) -> Vec<SharedMemory> {
        let ((), attachments) = tensor_share::collect(encode);
        attachments.iter().map(memory).collect()
    }

    fn attach(&self, key: u128, descriptor: OwnedFd) -> Result<(), AgentError> {
        Ok(tensor_share::attach(key, descriptor)?)
    }

    fn check(&self) -> Result<(), AgentError> {
        let copied = tensor_share::copied_arenas()?;
        let Some(first) = copied.first() else { return Ok(()) };
        Err(format!(
            "an agent changed tensors in `submit_orders`: {} bytes of arena {} were copied. Such a \
             change is seen by the other agents of its worker and is lost with it, so that records \
             would depend on the number of workers. Keep tensors read-only there, or let all \
             processes see the change: hold a mutable arena (`ArenaWriter::open_to_all`) and allow \
             it with `mutable_arenas` of the torch-style runner",
            first.bytes, first.arena
        )
        .into())
    }
}

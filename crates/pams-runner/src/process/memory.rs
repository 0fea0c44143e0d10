//! Memory that agents share with their copies in worker processes.
//!
//! What a value speaks of while it is encoded is found by the registry's [`Sharing`], and its
//! descriptors travel beside the message; a worker takes them in before it decodes. Workers say at
//! their end what they changed of it, through a socket that they are given at their start.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use pams_agent::{Registry, SharedMemory, Sharing};
use process_pool::{Attachment, Context, Key};

use crate::parallel::ExecutorError;

/// The key of the socket on which workers report.
const REPORTS: Key = Key(u128::from_le_bytes(*b"pams-runner says"));

/// What the main process knows of the memory that its workers have.
#[derive(Debug)]
pub(super) struct Memory {
    /// What every worker gets at its start.
    from_start: BTreeSet<u128>,
    mutable_is_fine: bool,
    /// Nothing when agents share no memory.
    reports: Option<UnixDatagram>,
}

impl Memory {
    pub(super) fn new(mutable_is_fine: bool) -> Self {
        Self { from_start: BTreeSet::new(), mutable_is_fine, reports: None }
    }

    /// What every worker needs for its start.
    pub(super) fn for_start(
        &mut self,
        registry: &Registry,
        memory: Vec<SharedMemory>,
    ) -> Result<Vec<Attachment>, ExecutorError> {
        let mut attachments = self.for_task(memory)?;
        self.from_start = attachments.iter().map(|attachment| attachment.key().0).collect();
        if registry.shared().is_some() {
            let (reports, for_workers) = UnixDatagram::pair()?;
            // Neither side ever waits for the other.
            reports.set_nonblocking(true)?;
            for_workers.set_nonblocking(true)?;
            attachments.push(Attachment::new(REPORTS, Arc::new(for_workers.into())));
            self.reports = Some(reports);
        }
        Ok(attachments)
    }

    /// What a worker needs for a task beyond what it got at its start.
    pub(super) fn for_task(
        &self,
        memory: Vec<SharedMemory>,
    ) -> Result<Vec<Attachment>, ExecutorError> {
        let mut attachments = Vec::new();
        for SharedMemory { key, descriptor, is_mutable } in memory {
            if is_mutable && !self.mutable_is_fine {
                return Err(mutable(key));
            }
            if let Some(descriptor) = descriptor
                && !self.from_start.contains(&key)
            {
                attachments.push(Attachment::new(Key(key), descriptor));
            }
        }
        Ok(attachments)
    }

    /// What workers reported before they ended.
    pub(super) fn reported(self) -> Result<(), ExecutorError> {
        let Some(reports) = self.reports else { return Ok(()) };
        let mut buffer = [0; 4096];
        match reports.recv(&mut buffer) {
            Ok(length) => Err(String::from_utf8_lossy(&buffer[..length]).into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn mutable(key: u128) -> ExecutorError {
    format!(
        "agents hold memory that every process may change (arena {key:032x}), and so the records \
         can depend on which worker is first; allow it with `mutable_memory` of the executor"
    )
    .into()
}

/// A worker's end of the reports.
#[derive(Debug)]
pub(super) struct Reporter {
    sharing: &'static dyn Sharing,
    socket: UnixDatagram,
    worker: String,
}

impl Reporter {
    /// A reporter, if agents share memory.
    pub(super) fn new(
        registry: &'static Registry,
        context: &Context,
    ) -> Result<Option<Self>, ExecutorError> {
        let (Some(sharing), Some(socket)) = (registry.shared(), context.attachment(REPORTS)) else {
            return Ok(None);
        };
        let socket = UnixDatagram::from(socket.try_clone_to_owned()?);
        Ok(Some(Self { sharing, socket, worker: context.worker().to_string() }))
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if let Err(error) = self.sharing.check() {
            // When the socket is full, others have reported already.
            let _ = self.socket.send(format!("{}: {error}", self.worker).as_bytes());
        }
    }
}

/// Takes in what came with a message.
pub(super) fn attach(
    keys: &[u128],
    registry: &Registry,
    context: &Context,
) -> Result<(), ExecutorError> {
    for &key in keys {
        let descriptor = context.attachment(Key(key)).map(|found| found.try_clone_to_owned());
        let (Some(descriptor), Some(sharing)) = (descriptor, registry.shared()) else {
            return Err(format!("shared memory {key:032x} did not arrive with its message").into());
        };
        let descriptor: OwnedFd = descriptor?;
        sharing.attach(key, descriptor)?;
    }
    Ok(())
}

/// The keys of attachments, for the message that they travel with.
pub(super) fn keys(attachments: &[Attachment]) -> Vec<u128> {
    attachments
        .iter()
        .map(Attachment::key)
        .filter(|&key| key != REPORTS)
        .map(|Key(key)| key)
        .collect()
}

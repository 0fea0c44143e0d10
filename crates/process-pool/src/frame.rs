//! The messages in the rings: a fixed head, then the body.

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    // to the worker
    /// The initializer's arguments.
    Args = 1,
    /// A request.
    Task = 2,
    /// An update.
    Update = 3,
    /// Forget the attachments whose keys are in the body.
    Detach = 4,
    /// Drop the state and exit.
    Stop = 5,
    // to the pool
    /// The answer.
    Answer = 16,
    /// The service's error; the body is a [`Failure`](crate::worker::Failure), as in all below.
    ServiceError = 17,
    /// The service's panic.
    Panic = 18,
    /// The request could not be decoded or the answer not encoded.
    Codec = 19,
    /// The attachments did not arrive.
    Attachment = 20,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// How many messages with descriptors lie in the socket for this frame.
    pub(crate) fds: u32,
    /// The task's number on this link.
    pub(crate) seq: u64,
    /// The length of the body.
    pub(crate) len: u64,
    /// In answers: how long the task took, in nanoseconds.
    pub(crate) nanos: u64,
}

impl Head {
    pub(crate) const SIZE: usize = 32;

    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.fds.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seq.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.len.to_le_bytes());
        bytes[24..].copy_from_slice(&self.nanos.to_le_bytes());
        bytes
    }

    /// `None` when the bytes are no head.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let kind = match word(0)? {
            1 => Kind::Args,
            2 => Kind::Task,
            3 => Kind::Update,
            4 => Kind::Detach,
            5 => Kind::Stop,
            16 => Kind::Answer,
            17 => Kind::ServiceError,
            18 => Kind::Panic,
            19 => Kind::Codec,
            20 => Kind::Attachment,
            _ => return None,
        };
        Some(Self { kind, fds: word(4)?, seq: long(8)?, len: long(16)?, nanos: long(24)? })
    }
}

/// Puts frames together from the pieces that a ring gives.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    head: Vec<u8>,
    body: Option<(Head, Vec<u8>)>,
}

/// The ring holds what no sender of ours writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbage;

impl Assembler {
    /// Reads on; `None` when the ring has no more for now.
    pub(crate) fn next(
        &mut self,
        ring: &mut crate::ring::Consumer,
    ) -> Result<Option<(Head, Vec<u8>)>, Garbage> {
        if self.body.is_none() {
            let missing = Head::SIZE - self.head.len();
            ring.read(&mut self.head, missing).map_err(|_| Garbage)?;
            if self.head.len() < Head::SIZE {
                return Ok(None);
            }
            let head = Head::from_bytes(&self.head).ok_or(Garbage)?;
            self.head.clear();
            if head.len > crate::codec::MESSAGE_LIMIT as u64 {
                return Err(Garbage);
            }
            self.body = Some((head, Vec::new()));
        }
        let (head, body) = self.body.as_mut().expect("invariant: set above");
        let len = usize::try_from(head.len).map_err(|_| Garbage)?;
        while body.len() < len {
            let missing = len - body.len();
            // Exact for what fits the ring; what is larger grows as it arrives, so that a false
            // length allocates nothing.
            if body.capacity() < len {
                body.reserve_exact(missing.min(body.len() + (1 << 20)));
            }
            if ring.read(body, missing).map_err(|_| Garbage)? == 0 {
                return Ok(None);
            }
        }
        Ok(self.body.take())
    }
}

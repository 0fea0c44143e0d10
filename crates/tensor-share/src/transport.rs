use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustix::fd::{BorrowedFd, OwnedFd};

use crate::cache;
use crate::error::Result;
use crate::header::Kind;
use crate::id::ArenaId;
use crate::opened::Opened;
use crate::place::{Place, SharingStrategy};

thread_local! {
    static COLLECTORS: RefCell<Vec<BTreeMap<ArenaId, Arc<Opened>>>> = const { RefCell::new(Vec::new()) };
}

/// An arena that a message speaks of.
///
/// Whoever carries the message must see that the receiver has the [`descriptor`](Self::descriptor),
/// if there is one, before it reads the message: once per arena and process is enough. The value
/// keeps the arena open; kept until the message has arrived, it also lets a receiver find a named
/// arena that its sender does not need any more.
#[derive(Debug, Clone)]
pub struct Attachment(Arc<Opened>);

impl Attachment {
    /// The number under which the receiver [`attach`]es the descriptor.
    pub fn key(&self) -> u128 {
        self.0.id().key()
    }

    /// The arena.
    pub fn arena_id(&self) -> ArenaId {
        self.0.id()
    }

    /// How the arena travels, `None` if it does not leave this process.
    pub fn strategy(&self) -> Option<SharingStrategy> {
        strategy(&self.0)
    }

    /// Whether any process may change the arena, as one may a [`MutableArena`](crate::MutableArena).
    pub fn is_mutable(&self) -> bool {
        self.0.directory.kind == Kind::Mutable
    }

    /// The descriptor to be sent. `None` if nothing needs to be sent (named arenas), or if this
    /// process was sent the arena and has not kept its descriptor, because a quarter of those that
    /// it may have are kept already.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.descriptor()
    }
}

/// Encodes a value and finds the arenas that it speaks of, each once.
///
/// Collected is what is encoded on this thread while the function runs; if it calls `collect` again,
/// the inner call has its arenas to itself.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use tensor_share::{SharedTensor, attach, collect};
///
/// let shared = SharedTensor::copy_of(&Tensor::new(&[1f32, 2.], &Device::Cpu)?)?;
/// let (message, attachments) = collect(|| serde_json::to_string(&(&shared, &shared)));
/// assert_eq!(attachments.len(), 1);
///
/// // In the receiver, before it decodes the message:
/// for attachment in &attachments {
///     if let Some(descriptor) = attachment.descriptor() {
///         attach(attachment.key(), descriptor.try_clone_to_owned()?)?;
///     }
/// }
/// let (one, _): (SharedTensor, SharedTensor) = serde_json::from_str(&message?)?;
/// assert_eq!(one.tensor()?.to_vec1::<f32>()?, [1., 2.]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn collect<R>(encode: impl FnOnce() -> R) -> (R, Vec<Attachment>) {
    /// Takes the collector away also when encoding panics.
    struct Collector;

    impl Collector {
        fn end(self) -> BTreeMap<ArenaId, Arc<Opened>> {
            std::mem::forget(self);
            COLLECTORS.with_borrow_mut(Vec::pop).expect("invariant: pushed below")
        }
    }

    impl Drop for Collector {
        fn drop(&mut self) {
            // Outside of the borrow: ending an arena runs code of this crate.
            drop(COLLECTORS.with_borrow_mut(Vec::pop));
        }
    }

    COLLECTORS.with_borrow_mut(|collectors| collectors.push(BTreeMap::new()));
    let collector = Collector;
    let result = encode();
    let attachments = collector.end().into_values().map(Attachment).collect();
    (result, attachments)
}

/// Gives this process the descriptor of an arena, as the sender's [`Attachment`] had it.
///
/// The arena is checked and mapped at once, and stays open until it is [`detach`]ed. A key that is
/// attached already is left as it is.
///
/// # Errors
///
/// The descriptor does not hold the arena of this key in this version, is not sealed, or cannot be
/// mapped.
pub fn attach(key: u128, descriptor: OwnedFd) -> Result<()> {
    cache::attach(ArenaId::from_key(key), descriptor)
}

/// Lets an attached arena go. Handles and tensors of it that live keep it open. Says whether it was
/// attached.
pub fn detach(key: u128) -> bool {
    cache::detach(ArenaId::from_key(key))
}

pub(crate) fn is_collecting() -> bool {
    COLLECTORS.with_borrow(|collectors| !collectors.is_empty())
}

/// Notes that a value which is being encoded speaks of this arena.
pub(crate) fn touch(opened: &Arc<Opened>) {
    COLLECTORS.with_borrow_mut(|collectors| {
        if let Some(collector) = collectors.last_mut() {
            collector.entry(opened.id()).or_insert_with(|| Arc::clone(opened));
        }
    });
}

pub(crate) fn strategy(opened: &Opened) -> Option<SharingStrategy> {
    match opened.place {
        Place::FileDescriptor => Some(SharingStrategy::FileDescriptor),
        Place::FileSystem => Some(SharingStrategy::FileSystem),
        Place::InProcess => None,
    }
}

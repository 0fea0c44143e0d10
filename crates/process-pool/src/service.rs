//! What a worker does: the trait that users implement, and the table by which it is found.

use std::fmt;
use std::hash::Hasher;
use std::os::fd::{AsFd, BorrowedFd};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::worker::{Context, Link};

/// What the code of a service may fail with: any error, or a text.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A job that worker processes do: state made once per worker, then requests answered from it.
///
/// Required are the four types, a name, [`start`](Self::start) and [`call`](Self::call). A
/// service that takes broadcasts also has [`update`](Self::update); one that must not be asked
/// the same thing twice sets [`REPEATABLE`](Self::REPEATABLE) to false.
///
/// Callers may rely on this: `start` is called once in each worker, before anything else; `call`
/// and `update` run one at a time, on one thread, in the order in which they were sent to this
/// worker. When `call` panics, the worker lives on and the same state is used again: keep it
/// valid, or end the process.
pub trait Service: Sized + 'static {
    /// The name by which a worker finds the service. It must be unique within the program.
    const NAME: &'static str;

    /// Whether a task may run again after its worker died in the middle of it. By default, yes:
    /// asking twice does no harm.
    const REPEATABLE: bool = true;

    /// A text that must be the same in the pool and in its workers, such as a version or a git
    /// hash. By default, empty. It matters when workers run another executable.
    const BUILD: &'static str = "";

    /// What the initializer gets.
    type Args: Serialize + DeserializeOwned;
    /// What is asked.
    type Request: Serialize + DeserializeOwned;
    /// What is answered.
    type Answer: Serialize + DeserializeOwned;
    /// What is told to all workers; `()` when nothing is.
    type Update: Serialize + DeserializeOwned;

    /// Makes the state of a worker.
    ///
    /// # Errors
    ///
    /// An error ends the worker. After a bounded number of tries it is the pool's error.
    fn start(args: Self::Args, context: &Context) -> Result<Self, BoxError>;

    /// Answers one request.
    ///
    /// # Errors
    ///
    /// An error is that task's error; the worker goes on.
    fn call(&mut self, request: Self::Request, context: &Context)
    -> Result<Self::Answer, BoxError>;

    /// Takes in what was broadcast, or a [`Snapshot`](crate::Snapshot). By default, it is an error.
    ///
    /// # Errors
    ///
    /// A worker that could not take an update in is out of date: it is replaced.
    fn update(&mut self, update: Self::Update, context: &Context) -> Result<(), BoxError> {
        let (_, _) = (update, context);
        Err(format!("service {} takes no updates", Self::NAME).into())
    }
}

/// A worker of a pool. Numbers are not used again: a replacement has a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub(crate) u64);

impl WorkerId {
    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {}", self.0)
    }
}

/// A service in the table that is given to [`init`](crate::init). Made by [`service`].
#[derive(Clone, Copy)]
pub struct Entry {
    pub(crate) name: &'static str,
    pub(crate) build: fn() -> u64,
    pub(crate) run: fn(Link) -> i32,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.name).finish()
    }
}

/// The entry of a service for the table that is given to [`init`](crate::init).
#[must_use]
pub const fn service<S: Service>() -> Entry {
    Entry { name: S::NAME, build: build_id::<S>, run: crate::worker::run::<S> }
}

/// What must be equal on both sides: this crate's version, and the service's name, build text
/// and types.
pub(crate) fn build_id<S: Service>() -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    for part in [
        env!("CARGO_PKG_VERSION"),
        S::NAME,
        S::BUILD,
        std::any::type_name::<S::Args>(),
        std::any::type_name::<S::Request>(),
        std::any::type_name::<S::Answer>(),
        std::any::type_name::<S::Update>(),
    ] {
        hasher.write(part.as_bytes());
        hasher.write_u8(0xff);
    }
    for size in [size_of::<S::Args>(), size_of::<S::Request>(), size_of::<S::Answer>()] {
        hasher.write_usize(size);
    }
    hasher.finish()
}

/// The key of an attachment: 128 bits that name one descriptor for the life of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u128);

/// A descriptor under a key, for workers that the message reaches.
///
/// Cloning shares the descriptor. Each worker receives a key once, however many messages carry
/// it, and finds it with [`Context::attachment`](crate::Context::attachment).
#[derive(Clone, Debug)]
pub struct Attachment {
    key: Key,
    fd: std::sync::Arc<std::os::fd::OwnedFd>,
}

impl Attachment {
    /// Names a descriptor.
    #[must_use]
    pub fn new(key: Key, fd: std::sync::Arc<std::os::fd::OwnedFd>) -> Self {
        Self { key, fd }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }
}

impl AsFd for Attachment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

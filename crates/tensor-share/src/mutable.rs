use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use candle_core::{DType, Tensor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::builder::{check, with_elements};
use crate::element::{known, with_element};
use crate::error::{Cause, Result};
use crate::gate::Writing;
use crate::handle::{ArenaHandle, TensorHandle};
use crate::header::{Entry, Kind, STEP_OFFSET};
use crate::id::ArenaId;
use crate::opened::{Opened, to_tensor};
use crate::os::pages::MutablePages;
use crate::place::SharingStrategy;
use crate::transport;

/// Tensors in one segment that every process which has it may change: all train the same weights,
/// without waiting for each other (Hogwild).
///
/// Made by [`ArenaWriter::open_to_all`](crate::ArenaWriter::open_to_all), never by accident. With
/// serde it travels as a handle, as an [`Arena`](crate::Arena) does; it holds one descriptor in
/// each process, for the locks below.
///
/// Nobody ever gets a candle tensor *on* these pages: candle reads a tensor's elements as memory
/// that does not change meanwhile, and here it would. A [`SharedVar`] copies elements out and
/// writes them back through atomics, which is what makes concurrent use defined. It follows that
/// candle's in-place operations on a tensor read from here change that copy only; what shall reach
/// the others goes through [`SharedVar::set`] and [`SharedVar::add`].
#[derive(Debug, Clone)]
pub struct MutableArena(Arc<Opened>);

impl MutableArena {
    pub(crate) fn new(opened: Arc<Opened>) -> Self {
        Self(opened)
    }

    /// The id, which names the arena on this machine.
    pub fn id(&self) -> ArenaId {
        self.0.id()
    }

    /// The strategy, `None` for an arena of this process alone.
    pub fn strategy(&self) -> Option<SharingStrategy> {
        transport::strategy(&self.0)
    }

    /// How many bytes the segment has.
    pub fn bytes(&self) -> usize {
        self.0.directory.file_len
    }

    /// The variable of this name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn var(&self, name: &str) -> Result<SharedVar> {
        let directory = &self.0.directory;
        let index = directory.by_name(name).ok_or_else(|| directory.missing(name))?;
        Ok(SharedVar { opened: Arc::clone(&self.0), index })
    }

    /// All variables with their names, in the order of their data.
    pub fn vars(&self) -> impl ExactSizeIterator<Item = (&str, SharedVar)> {
        let entries = self.0.directory.entries.iter().enumerate();
        entries
            .map(|(index, entry)| (&*entry.name, SharedVar { opened: Arc::clone(&self.0), index }))
    }

    /// How many steps have ended since the arena was made, in all processes together.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn version(&self) -> Result<u64> {
        let (pages, _) = self.0.mutable()?;
        // Acquire: who sees a version sees the writes of the steps that it counts.
        Ok(pages.words(STEP_OFFSET, 1)[0].load(Ordering::Acquire))
    }

    /// Begins a step: changes of several variables that a snapshot sees all or none of.
    ///
    /// Steps do not exclude each other. While a [`Snapshot`] is taken, this waits; a snapshot must
    /// not be taken by a thread that is in a step, which would wait for itself.
    ///
    /// # Errors
    ///
    /// The system refuses the lock.
    pub fn step(&self) -> Result<Step<'_>> {
        Step::begin(&self.0)
    }

    /// Copies all variables at a moment at which nobody is in a step.
    ///
    /// # Errors
    ///
    /// The system refuses the lock.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let (_, gate) = self.0.mutable()?;
        let _alone = gate.alone()?;
        let version = self.version()?;
        let tensors = self.vars().map(|(name, var)| Ok((name.to_owned(), var.tensor()?)));
        Ok(Snapshot { version, tensors: tensors.collect::<Result<_>>()? })
    }
}

/// All variables of a [`MutableArena`] as they were together, as this process's own copies.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// How many steps they had seen.
    pub version: u64,
    /// The variables by name.
    pub tensors: BTreeMap<String, Tensor>,
}

/// A step of a [`MutableArena`], until it is dropped. Then the version is one higher.
pub struct Step<'a> {
    opened: &'a Opened,
    pages: &'a MutablePages,
    _writing: Writing<'a>,
}

impl<'a> Step<'a> {
    fn begin(opened: &'a Opened) -> Result<Self> {
        let (pages, gate) = opened.mutable()?;
        Ok(Self { opened, pages, _writing: gate.write()? })
    }

    /// Sets all elements of a variable of this arena.
    ///
    /// # Errors
    ///
    /// As [`SharedVar::set`], and the variable is one of another arena.
    pub fn set(&self, var: &SharedVar, tensor: &Tensor) -> Result<()> {
        let entry = self.entry("set", var, tensor)?;
        let stored = with_element!(entry.dtype, T => {
            with_elements::<T, _>(&entry.name, tensor, |elements| {
                self.pages.store(entry.offset, elements);
            })
        });
        known(stored)
    }

    /// Adds a tensor to a variable of this arena.
    ///
    /// # Errors
    ///
    /// As [`SharedVar::add`], and the variable is one of another arena.
    pub fn add(&self, var: &SharedVar, tensor: &Tensor) -> Result<()> {
        let entry = self.entry("add", var, tensor)?;
        if entry.dtype.is_int() {
            let (name, why) = (entry.name.to_string(), "only floats are added to");
            return Err(Cause::DType { name, dtype: entry.dtype, why }.into());
        }
        let added = with_element!(entry.dtype, T => {
            with_elements::<T, _>(&entry.name, tensor, |elements| {
                self.pages.add(entry.offset, elements);
            })
        });
        known(added)
    }

    fn entry<'v>(
        &self,
        operation: &'static str,
        var: &'v SharedVar,
        tensor: &Tensor,
    ) -> Result<&'v Entry> {
        let (found, expected) = (var.opened.id(), self.opened.id());
        if found != expected {
            return Err(Cause::OtherStep { name: var.name().to_owned(), found, expected }.into());
        }
        check(var.entry(), operation, tensor.dtype(), tensor.dims(), "tensor")?;
        Ok(var.entry())
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        // Release: see `version`.
        self.pages.words(STEP_OFFSET, 1)[0].fetch_add(1, Ordering::Release);
    }
}

impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("arena", &self.opened.id()).finish_non_exhaustive()
    }
}

/// A variable that all processes which have its arena read and change.
///
/// Like candle's `Var` it is read as a tensor and set from one, and clones are the same variable.
/// It travels as a handle, as a [`SharedTensor`](crate::SharedTensor) does, and decoding it opens
/// the arena.
#[derive(Debug, Clone)]
pub struct SharedVar {
    opened: Arc<Opened>,
    index: usize,
}

impl SharedVar {
    fn entry(&self) -> &Entry {
        &self.opened.directory.entries[self.index]
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// The shape.
    pub fn dims(&self) -> &[usize] {
        &self.entry().dims
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.entry().dtype
    }

    /// A copy of the elements as they are now. While others write, some elements may be older than
    /// others; an element is never half of one and half of another. For a whole picture see
    /// [`MutableArena::snapshot`].
    ///
    /// # Errors
    ///
    /// candle cannot make the tensor.
    pub fn tensor(&self) -> Result<Tensor> {
        let (pages, _) = self.opened.mutable()?;
        let entry = self.entry();
        let tensor = with_element!(entry.dtype, T => {
            let mut elements = vec![<T as candle_core::WithDType>::from_f64(0.0); entry.n_elements()];
            pages.load(entry.offset, &mut elements);
            to_tensor(elements, &entry.dims)
        });
        known(tensor)
    }

    /// Sets all elements, as a step of its own.
    ///
    /// # Errors
    ///
    /// The shape or dtype is another one, or the tensor is not in CPU memory.
    pub fn set(&self, tensor: &Tensor) -> Result<()> {
        Step::begin(&self.opened)?.set(self, tensor)
    }

    /// Adds a tensor to the elements, as a step of its own. Two additions to the same element at
    /// the same time both count.
    ///
    /// # Errors
    ///
    /// The shape or dtype is another one, the dtype is an integer's, or the tensor is not in CPU
    /// memory.
    pub fn add(&self, tensor: &Tensor) -> Result<()> {
        Step::begin(&self.opened)?.add(self, tensor)
    }
}

impl Serialize for MutableArena {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        transport::touch(&self.0);
        ArenaHandle::of(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MutableArena {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let handle = ArenaHandle::deserialize(deserializer)?;
        handle.find(Kind::Mutable).map(Self).map_err(de::Error::custom)
    }
}

impl Serialize for SharedVar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        transport::touch(&self.opened);
        TensorHandle::of(&self.opened, self.entry()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedVar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let handle = TensorHandle::deserialize(deserializer)?;
        let opened = handle.arena.find(Kind::Mutable).map_err(de::Error::custom)?;
        let index = handle.index_in(&opened).map_err(de::Error::custom)?;
        Ok(Self { opened, index })
    }
}

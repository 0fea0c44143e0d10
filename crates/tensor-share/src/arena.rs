use std::path::Path;
use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::builder::ArenaBuilder;
use crate::error::Result;
use crate::handle::ArenaHandle;
use crate::header::Kind;
use crate::id::ArenaId;
use crate::opened::Opened;
use crate::place::SharingStrategy;
use crate::shared::SharedTensor;
use crate::var_builder::ArenaBackend;
use crate::zero_copy::ZeroCopy;
use crate::{load, transport};

/// Many tensors in one segment of shared memory, which nobody changes any more.
///
/// A value of this type keeps the arena open; clones are cheap. With serde it travels as a handle
/// of a few dozen bytes, and decoding it opens the arena. Tensors and [`SharedTensor`]s keep the
/// arena open as well, so it may be dropped before them.
///
/// What a process writes into its tensors by candle's in-place operations (`Var::set`, `slice_set`,
/// `zero_set` and others) stays in that process: the kernel copies the page that is written to.
/// All tensors of one arena in one process share their pages, as clones of a tensor do, so such a
/// write is seen by every user of the arena *in that process*.
/// [`copied_bytes`](Self::copied_bytes) says whether it happened.
#[derive(Debug, Clone)]
pub struct Arena(Arc<Opened>);

impl Arena {
    pub(crate) fn new(opened: Arc<Opened>) -> Self {
        Self(opened)
    }

    /// Plans an arena.
    pub fn builder() -> ArenaBuilder {
        ArenaBuilder::default()
    }

    /// Copies tensors into a new arena, with the strategy that is set for the process.
    ///
    /// # Errors
    ///
    /// A name comes twice, a tensor is not in CPU memory or of a dtype without elements, or there
    /// is no room.
    pub fn from_tensors<'a, N: AsRef<str>>(
        tensors: impl IntoIterator<Item = (N, &'a Tensor)>,
    ) -> Result<Self> {
        load::from_tensors(Self::builder(), tensors)?.seal()
    }

    /// Copies the variables of a model into a new arena, in the order of their names.
    ///
    /// # Errors
    ///
    /// As [`from_tensors`](Self::from_tensors).
    pub fn from_var_map(variables: &VarMap) -> Result<Self> {
        load::from_var_map(Self::builder(), variables)?.seal()
    }

    /// Loads a safetensors file straight into a new arena.
    ///
    /// # Errors
    ///
    /// The file is not there, not a safetensors file or cut off, or there is no room.
    pub fn from_safetensors(path: impl AsRef<Path>) -> Result<Self> {
        load::from_safetensors(Self::builder(), path.as_ref())?.seal()
    }

    /// Loads a PyTorch file (.pt, .pth) into a new arena, one tensor after another.
    ///
    /// candle's reader takes the tensors out of the pickle and runs nothing in it. If the state
    /// dict lies under a key of a larger dict, the key is named.
    ///
    /// # Errors
    ///
    /// The file is not there, has no tensors (under that key), or there is no room.
    pub fn from_pth(path: impl AsRef<Path>, key: Option<&str>) -> Result<Self> {
        load::from_pth(Self::builder(), path.as_ref(), key)?.seal()
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

    /// How many tensors there are.
    pub fn n_tensors(&self) -> usize {
        self.0.directory.entries.len()
    }

    /// The names of the tensors, in the order of their data.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.directory.entries.iter().map(|entry| &*entry.name)
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.directory.by_name(name).is_some()
    }

    /// The tensor of this name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.0.tensor(self.index(name)?)
    }

    /// The tensor of this name as a value that can be sent to other processes.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn shared(&self, name: &str) -> Result<SharedTensor> {
        Ok(SharedTensor::new(Arc::clone(&self.0), self.index(name)?))
    }

    /// All tensors as values that can be sent to other processes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, SharedTensor)> {
        let entries = self.0.directory.entries.iter().enumerate();
        entries.map(|(index, entry)| (&*entry.name, SharedTensor::new(Arc::clone(&self.0), index)))
    }

    /// A builder of models whose weights are the tensors of this arena.
    ///
    /// On the CPU and with the dtype that the tensors have, nothing is copied. Another dtype or a
    /// GPU makes copies of this process's own, as candle does for every source of weights.
    ///
    /// ```
    /// use candle_core::{DType, Device, Module, Tensor};
    /// use candle_nn::{VarBuilder, VarMap, linear};
    /// use tensor_share::Arena;
    ///
    /// let variables = VarMap::new();
    /// let trained = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
    /// linear(4, 2, trained.pp("head"))?; // makes and initialises the variables
    ///
    /// let arena = Arena::from_var_map(&variables)?;
    /// let head = linear(4, 2, arena.var_builder(DType::F32, &Device::Cpu).pp("head"))?;
    /// head.forward(&Tensor::ones((1, 4), DType::F32, &Device::Cpu)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn var_builder(&self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(ArenaBackend(self.clone())), dtype, device.clone())
    }

    /// Whether the tensors of this arena lie on the shared pages, and if not, why.
    pub fn zero_copy(&self) -> ZeroCopy {
        self.0.zero_copy()
    }

    /// How many bytes of the arena this process has copied because it wrote to them. Reading never
    /// copies. Always 0 for an arena whose tensors are copies anyway.
    ///
    /// # Errors
    ///
    /// /proc/self/smaps cannot be read.
    pub fn copied_bytes(&self) -> Result<u64> {
        let copied = crate::report::copied_arenas()?;
        Ok(copied.iter().filter(|found| found.arena == self.id()).map(|found| found.bytes).sum())
    }

    fn index(&self, name: &str) -> Result<usize> {
        let directory = &self.0.directory;
        directory.by_name(name).ok_or_else(|| directory.missing(name).into())
    }
}

impl Serialize for Arena {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        transport::touch(&self.0);
        ArenaHandle::of(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Arena {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let handle = ArenaHandle::deserialize(deserializer)?;
        handle.find(Kind::Sealed).map(Self).map_err(de::Error::custom)
    }
}

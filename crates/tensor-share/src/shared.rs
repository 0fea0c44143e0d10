use std::sync::{Arc, OnceLock};

use candle_core::{DType, Tensor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::arena::Arena;
use crate::error::Result;
use crate::handle::TensorHandle;
use crate::header::Kind;
use crate::id::ArenaId;
use crate::opened::Opened;
use crate::transport;

/// A tensor in shared memory, as a value that can be sent to other processes.
///
/// serde writes where the tensor is (arena, offset, shape and dtype; about 30 bytes with bincode),
/// never its elements. The receiver opens the arena when it first asks for the [`tensor`](Self::tensor);
/// from then on this costs no system call, and the value keeps the arena open.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use tensor_share::SharedTensor;
///
/// let weights = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
/// let shared = SharedTensor::copy_of(&weights)?;
/// let message = serde_json::to_vec(&shared)?;
///
/// let received: SharedTensor = serde_json::from_slice(&message)?;
/// assert_eq!(received.tensor()?.to_vec2::<f32>()?, [[1., 2.], [3., 4.]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SharedTensor {
    handle: TensorHandle,
    opened: OnceLock<(Arc<Opened>, usize)>,
}

impl SharedTensor {
    pub(crate) fn new(opened: Arc<Opened>, index: usize) -> Self {
        let handle = TensorHandle::of(&opened, &opened.directory.entries[index]);
        Self { handle, opened: OnceLock::from((opened, index)) }
    }

    /// Copies one tensor into an arena of its own.
    ///
    /// Many tensors belong into one [`Arena`]: each arena costs a segment, and a mapping in every
    /// process that reads it.
    ///
    /// # Errors
    ///
    /// As [`Arena::from_tensors`].
    pub fn copy_of(tensor: &Tensor) -> Result<Self> {
        Arena::from_tensors([("tensor", tensor)])?.shared("tensor")
    }

    /// The tensor, on the shared pages if the program installs [`ShareAlloc`](crate::ShareAlloc).
    ///
    /// # Errors
    ///
    /// The arena cannot be opened, or it does not have the tensor that the handle describes.
    pub fn tensor(&self) -> Result<Tensor> {
        let (opened, index) = self.open()?;
        opened.tensor(*index)
    }

    fn open(&self) -> Result<&(Arc<Opened>, usize)> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = self.handle.arena.find(Kind::Sealed)?;
        let index = self.handle.index_in(&opened)?;
        Ok(self.opened.get_or_init(|| (opened, index)))
    }

    /// The shape.
    pub fn dims(&self) -> &[usize] {
        &self.handle.dims
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.handle.dtype
    }

    /// The arena that holds the tensor.
    pub fn arena_id(&self) -> ArenaId {
        self.handle.arena.id
    }

    /// The arena that holds the tensor, opened if need be.
    ///
    /// # Errors
    ///
    /// As [`tensor`](Self::tensor).
    pub fn arena(&self) -> Result<Arena> {
        self.open().map(|(opened, _)| Arena::new(Arc::clone(opened)))
    }
}

/// The same place in the same arena.
impl PartialEq for SharedTensor {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle
    }
}

impl Eq for SharedTensor {}

impl Serialize for SharedTensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if transport::is_collecting()
            && let Ok((opened, _)) = self.open()
        {
            transport::touch(opened);
        }
        self.handle.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedTensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let handle = TensorHandle::deserialize(deserializer)?;
        Ok(Self { handle, opened: OnceLock::new() })
    }
}

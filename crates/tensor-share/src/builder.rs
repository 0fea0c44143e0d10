use candle_core::{DType, DeviceLocation, Shape, Storage, Tensor};
use rustc_hash::FxHashSet;
use rustix::fd::OwnedFd;

use crate::arena::Arena;
use crate::cache;
use crate::element::{Element, known, with_element};
use crate::error::{Cause, Result};
use crate::header::{Directory, Entry, Kind, plan, some};
use crate::id::ArenaId;
use crate::mutable::MutableArena;
use crate::opened::Opened;
use crate::os::memfd;
use crate::os::named::{self, Hold};
use crate::os::pages::DraftPages;
use crate::place::{Place, SharingStrategy, sharing_strategy};

/// Says which tensors an arena shall have, before it is made.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use tensor_share::Arena;
///
/// let mut builder = Arena::builder();
/// builder.add("weight", DType::F32, (2, 3))?;
/// builder.add("bias", DType::F32, 2)?;
///
/// let mut writer = builder.create()?;
/// writer.write("weight", &Tensor::ones((2, 3), DType::F32, &Device::Cpu)?)?;
/// writer.slice_mut::<f32>("bias")?.copy_from_slice(&[0.5, -0.5]); // in place, no second copy
/// let arena = writer.seal()?;
///
/// assert_eq!(arena.tensor("bias")?.to_vec1::<f32>()?, [0.5, -0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct ArenaBuilder {
    entries: Vec<Entry>,
    names: FxHashSet<Box<str>>,
    place: Option<Place>,
}

impl ArenaBuilder {
    /// By default, the strategy that is set for the process when the arena is made.
    pub fn strategy(&mut self, strategy: SharingStrategy) -> &mut Self {
        self.place = Some(strategy.into());
        self
    }

    /// Keeps the arena in the memory of this process. Its handles work in this process alone.
    ///
    /// For threads that share tensors, and for tests of code that sends handles.
    pub fn in_process(&mut self) -> &mut Self {
        self.place = Some(Place::InProcess);
        self
    }

    /// Plans a tensor.
    ///
    /// # Errors
    ///
    /// The name is there already, candle has no elements of the dtype, or the shape is too large.
    pub fn add(&mut self, name: &str, dtype: DType, shape: impl Into<Shape>) -> Result<&mut Self> {
        let entry = plan(name, dtype, shape.into().dims())?;
        if !self.names.insert(entry.name.clone()) {
            return Err(Cause::Twice { name: name.to_owned() }.into());
        }
        self.entries.push(entry);
        Ok(self)
    }

    /// Makes the memory, all of it reserved, so that writing to it cannot fail.
    ///
    /// # Errors
    ///
    /// There is not enough memory, or no descriptor left.
    pub fn create(self) -> Result<ArenaWriter> {
        let id = ArenaId::random()?;
        let written = vec![false; self.entries.len()];
        let directory = Directory::lay_out(id, Kind::Sealed, self.entries)?;
        let len = directory.file_len;
        let what = format!("arena {id}");
        let (pages, object) = match self.place.unwrap_or_else(|| sharing_strategy().into()) {
            Place::FileDescriptor => {
                let file = memfd::create(id, len)?;
                (DraftPages::map(&file, len, &what)?, Object::Memory(file))
            }
            Place::FileSystem => {
                let (file, hold) = named::create(id, len)?;
                (DraftPages::map(&file, len, &what)?, Object::Named(file, hold))
            }
            Place::InProcess => (DraftPages::heap(len, &what)?, Object::Nothing),
        };
        Ok(ArenaWriter { directory, written, pages, object })
    }
}

/// What is behind the pages of a draft.
#[derive(Debug)]
enum Object {
    Memory(OwnedFd),
    Named(OwnedFd, Hold),
    Nothing,
}

/// Writes the tensors of an arena in their place. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct ArenaWriter {
    directory: Directory,
    written: Vec<bool>,
    pages: DraftPages,
    object: Object,
}

impl ArenaWriter {
    /// Copies a tensor into its place.
    ///
    /// # Errors
    ///
    /// The arena has no tensor of this name, the shape or dtype is another one, or the tensor is
    /// not in CPU memory.
    pub fn write(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        let index = self.index(name)?;
        let entry = &self.directory.entries[index];
        check(entry, "write", tensor.dtype(), tensor.dims(), "tensor")?;
        let (offset, n) = (entry.offset, entry.n_elements());
        let written = with_element!(entry.dtype, T => {
            with_elements::<T, _>(name, tensor, |elements| {
                self.pages.slice_mut::<T>(offset, n).copy_from_slice(elements);
            })
        });
        known(written)?;
        self.written[index] = true;
        Ok(())
    }

    /// The elements of a tensor, zeros at first, to be written in place.
    ///
    /// # Errors
    ///
    /// The arena has no tensor of this name, or its dtype is another one.
    pub fn slice_mut<T: Element>(&mut self, name: &str) -> Result<&mut [T]> {
        let index = self.index(name)?;
        let entry = &self.directory.entries[index];
        check(entry, "slice_mut", T::DTYPE, &entry.dims, "slice")?;
        self.written[index] = true;
        Ok(self.pages.slice_mut(entry.offset, entry.n_elements()))
    }

    /// The bytes of a tensor, for readers of files.
    pub(crate) fn bytes_mut(&mut self, name: &str) -> Result<&mut [u8]> {
        let index = self.index(name)?;
        self.written[index] = true;
        let entry = &self.directory.entries[index];
        Ok(self.pages.slice_mut(entry.offset, entry.bytes))
    }

    /// Ends the writing: from now on nobody changes the arena.
    ///
    /// # Errors
    ///
    /// A tensor was not written, or the system refuses to seal, publish or map the arena.
    pub fn seal(mut self) -> Result<Arena> {
        self.finish(Kind::Sealed)?;
        let id = self.directory.id;
        let opened = match self.object {
            Object::Memory(file) => {
                // A file cannot be sealed against writing while it is mapped for it.
                drop(self.pages);
                memfd::seal(&file, Kind::Sealed)?;
                Opened::made(file, id)?
            }
            Object::Named(file, hold) => {
                drop(self.pages);
                named::publish(&file, &hold, Kind::Sealed)?;
                Opened::named(file, id, Kind::Sealed, Some(hold))?
            }
            Object::Nothing => Opened::in_process(self.directory, self.pages.seal()),
        };
        Ok(Arena::new(cache::insert(opened)))
    }

    /// Ends the first writing and lets every process that gets the arena change it.
    ///
    /// This is asked for by name: what a process writes into a [`MutableArena`] reaches all others
    /// at once, in no order that one may rely on.
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal).
    pub fn open_to_all(mut self) -> Result<MutableArena> {
        self.finish(Kind::Mutable)?;
        let id = self.directory.id;
        let opened = match self.object {
            Object::Memory(file) => {
                memfd::seal(&file, Kind::Mutable)?;
                Opened::made(file, id)?
            }
            Object::Named(file, hold) => {
                named::publish(&file, &hold, Kind::Mutable)?;
                Opened::named(file, id, Kind::Mutable, Some(hold))?
            }
            Object::Nothing => Opened::mutable_in_process(self.directory, self.pages.open_to_all()),
        };
        Ok(MutableArena::new(cache::insert(opened)))
    }

    fn finish(&mut self, kind: Kind) -> Result<()> {
        let n_tensors = self.written.len();
        let unwritten = self.directory.entries.iter().zip(&self.written);
        let names: Vec<&str> = unwritten
            .filter(|&(entry, &written)| !written && entry.bytes > 0)
            .map(|(entry, _)| &*entry.name)
            .collect();
        if !names.is_empty() {
            let (n_missing, some) = (names.len(), some(&names));
            return Err(Cause::Unwritten { n_missing, n_tensors, some }.into());
        }
        self.directory.kind = kind;
        let header = self.directory.encode();
        self.pages.slice_mut::<u8>(0, header.len()).copy_from_slice(&header);
        Ok(())
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.directory.by_name(name).ok_or_else(|| self.directory.missing(name).into())
    }
}

/// Sees that a tensor fits to its place.
pub(crate) fn check(
    entry: &Entry,
    operation: &'static str,
    dtype: DType,
    dims: &[usize],
    other_name: &'static str,
) -> Result<()> {
    let mismatch = |what, arena, other| {
        let name = entry.name.to_string();
        Err(Cause::Mismatch { what, operation, name, arena, other_name, other }.into())
    };
    if *entry.dims != *dims {
        return mismatch("shape", format!("{:?}", entry.dims), format!("{dims:?}"));
    }
    if entry.dtype != dtype {
        return mismatch("dtype", entry.dtype.as_str().to_owned(), dtype.as_str().to_owned());
    }
    Ok(())
}

/// Lends the elements of a tensor in the order of its shape.
pub(crate) fn with_elements<T: Element, R>(
    name: &str,
    tensor: &Tensor,
    use_elements: impl FnOnce(&[T]) -> R,
) -> Result<R> {
    expect_cpu(name, tensor.device().location())?;
    let failed = |source| Cause::Candle { doing: "reading a tensor", source };
    let tensor = tensor.contiguous().map_err(failed)?;
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else {
        unreachable!("invariant: a tensor's storage is on its device, which is the CPU");
    };
    let elements = T::cpu_storage_as_slice(storage).map_err(failed)?;
    let (start, end) = layout.contiguous_offsets().expect("invariant: made contiguous above");
    Ok(use_elements(&elements[start..end]))
}

/// Sees that a tensor is where this crate can read it.
fn expect_cpu(name: &str, location: DeviceLocation) -> Result<()> {
    match location {
        DeviceLocation::Cpu => Ok(()),
        other => {
            let (name, device) = (name.to_owned(), format!("{other:?}"));
            Err(Cause::NotOnCpu { name, device }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_tensor_on_a_gpu_is_refused_with_its_device_and_what_to_do() {
        assert!(expect_cpu("w", DeviceLocation::Cpu).is_ok());
        for (location, device) in [
            (DeviceLocation::Cuda { gpu_id: 1 }, "Cuda { gpu_id: 1 }"),
            (DeviceLocation::Metal { gpu_id: 0 }, "Metal { gpu_id: 0 }"),
        ] {
            let error = expect_cpu("w", location).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotOnCpu);
            assert_eq!(
                error.to_string(),
                format!(
                    "tensor w is on {device}, and only tensors in CPU memory can be shared; load \
                     the model in the worker initializer instead, see \
                     https://docs.rs/tensor-share/latest/tensor_share/#tensors-on-a-gpu"
                )
            );
        }
    }
}

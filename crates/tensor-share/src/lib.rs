//! candle tensors that live once in memory, however many processes read them.
//!
//! Put tensors into shared memory, send a handle of a few dozen bytes, read them in another process
//! without a copy. The crate knows no pool and no protocol: handles are serde values that travel by
//! whatever channel there is.
//!
//! ```standalone_crate
//! use std::alloc::System;
//!
//! use candle_core::{DType, Device, Module, Tensor};
//! use candle_nn::{VarBuilder, VarMap, linear};
//! use tensor_share::{Arena, ShareAlloc, SharingStrategy, set_sharing_strategy};
//!
//! // One line in the program makes that tensors lie on the shared pages themselves.
//! #[global_allocator]
//! static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! set_sharing_strategy(SharingStrategy::FileSystem);
//!
//! // In the process that has the network:
//! let variables = VarMap::new();
//! let network = linear(8, 2, VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu))?;
//! let arena = Arena::from_var_map(&variables)?;
//! let message = serde_json::to_string(&arena)?; // a handle, whatever the size of the network
//!
//! // In another process, which has the message:
//! let arena: Arena = serde_json::from_str(&message)?;
//! let shared = linear(8, 2, arena.var_builder(DType::F32, &Device::Cpu))?;
//! # let x = Tensor::ones((1, 8), DType::F32, &Device::Cpu)?;
//! # assert_eq!(shared.forward(&x)?.to_vec2::<f32>()?, network.forward(&x)?.to_vec2::<f32>()?);
//! # Ok(())
//! # }
//! ```
//!
//! # Concepts
//!
//! - An [`Arena`] is one segment of shared memory with many tensors, a state dict or a whole
//!   population of them. It is planned by an [`ArenaBuilder`], written in place through an
//!   [`ArenaWriter`], and sealed. It is also made from tensors, a `VarMap`, a safetensors file or a
//!   PyTorch file, and it is a source of weights for any model of candle-nn
//!   ([`Arena::var_builder`]). To grow a population, make another arena.
//! - A [`SharedTensor`] is one tensor of an arena as a value: serde writes where it is.
//! - A [`SharingStrategy`] says how arenas get to other processes. With `file_descriptor` a sealed
//!   memory file, whose descriptor travels once per arena and process: [`collect`] says which
//!   arenas a message speaks of, [`attach`] takes the descriptor in. With `file_system` a named
//!   object in /dev/shm, and nothing travels but the handle.
//! - A process opens an arena once; from then on a handle becomes a tensor without a system call.
//!   The last user of an arena in a process, be it an [`Arena`], a [`SharedTensor`] or a candle
//!   tensor or view of it, ends its mapping.
//! - [`zero_copy()`] says whether tensors lie on the shared pages, which needs the allocator
//!   [`ShareAlloc`] in the program, or are copied once per process and arena. Why the former is
//!   sound is argued in the module [`zero_copy`](mod@zero_copy).
//!
//! # Who may write
//!
//! By default nobody. A sealed arena does not change any more, and what a process does to its
//! tensors in place (`Tensor::zero_set`, `slice_set`, `const_set`, `scatter_set`, `InplaceOp1` …)
//! changes private pages that the kernel copies for it: seen by all users of the arena in that
//! process, by no other process. `Var::from_tensor` and `VarMap::load` copy, as always, so a
//! variable made of a shared tensor is the process's own. [`copied_arenas`] says in which arenas a
//! process has copied pages; for code that should only read, more than none is a mistake.
//!
//! A [`MutableArena`] is asked for by name ([`ArenaWriter::open_to_all`]). All processes read and
//! change the same elements through [`SharedVar`]s, without waiting for each other; a version
//! counts the steps, and a [`Snapshot`] is taken between steps. candle's in-place operations never
//! touch it, since no candle tensor lies on its pages: there, they would race with other processes.
//!
//! # What is left behind
//!
//! Nothing. An arena with a descriptor ends with its last process, however that ends. A named one
//! is removed when its last holder drops it; what processes leave that were killed, or that ended
//! by `exit`, is removed by the next process that makes a named arena, or by [`sweep()`]. [`report()`] lists the arenas, their
//! sizes and their holders.
//!
//! # Tensors on a GPU
//!
//! Only CPU memory is shared. A tensor on a GPU is refused; load the model from its file, or from
//! an arena ([`Arena::var_builder`] with that device), in the initializer of each worker.
//!
//! # Limits
//!
//! - 64 bit Linux, for its sealed memory files and its locks of open files.
//! - Arenas do not leave the machine: handles mean nothing on another one.
//! - With `file_descriptor` the process that makes an arena holds a descriptor for it. A process
//!   that receives arenas keeps their descriptors, to send them on, while they take no more than a
//!   quarter of its limit. With `file_system` none is held; a mutable arena holds one in either.
//! - Mapped arenas of one process take 256 GiB of addresses at most, each a multiple of 2 MiB of
//!   them; arenas beyond are copied. Addresses are not memory.
//! - A named object cannot be sealed by the kernel. It belongs to one user, has an unguessable name
//!   and is read-only when it is finished, but a program of the same user that means harm can
//!   change it, as it could with a debugger.
//! - A process that is forked shares its parent's arenas and leaves their removal to the parent.

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("tensor-share needs 64 bit Linux: sealed memory files and locks of open files");

mod arena;
mod builder;
mod cache;
mod element;
mod error;
mod gate;
mod handle;
mod header;
mod id;
mod load;
mod mutable;
mod opened;
mod os;
mod place;
mod report;
mod shared;
mod sweep;
mod transport;
mod var_builder;
pub mod zero_copy;

pub use arena::Arena;
pub use builder::{ArenaBuilder, ArenaWriter};
pub use element::Element;
pub use error::{Error, ErrorKind, Result};
pub use id::ArenaId;
pub use mutable::{MutableArena, SharedVar, Snapshot, Step};
pub use place::{SharingStrategy, all_sharing_strategies, set_sharing_strategy, sharing_strategy};
pub use report::{ArenaReport, CopiedArena, Here, Holder, copied_arenas, report};
pub use shared::SharedTensor;
pub use sweep::{Swept, sweep};
pub use transport::{Attachment, attach, collect, detach};
pub use zero_copy::{ShareAlloc, WhyCopied, ZeroCopy, zero_copy};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(std::alloc::System);

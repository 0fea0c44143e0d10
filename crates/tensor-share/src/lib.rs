//! candle tensors that live once in memory, however many processes read them.

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

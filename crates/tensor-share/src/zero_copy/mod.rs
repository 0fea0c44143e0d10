//! candle tensors on mapped pages, and why that is sound.
//!
//! candle keeps the elements of a CPU tensor in a `Vec`, and a `Vec` may only own memory that the
//! program's global allocator gave out. So the program's allocator gives out memory inside of the
//! mapping: [`ShareAlloc`] wraps the allocator that the program would use anyway, and on demand
//! answers *one* allocation with an address that this crate chose. Without it in the program, the
//! tensors of an arena are copied once per process; [`zero_copy`](crate::zero_copy()) says which it is.
//!
//! # The argument
//!
//! Each step names the test that fails when its premise is broken. The tests stand in
//! `tests/it/soundness.rs` and in `zero_copy/tests.rs`, and run with and without optimisation.
//!
//! 1. **The vectors are vectors.** Each is made by `Vec::with_capacity` and freed by `Vec`'s drop;
//!    its pointer came from the global allocator with exactly its layout. Nothing is said of who
//!    drops it, when, or on which thread, so clones and views may escape and outlive every handle
//!    (`clones_and_views_outlive_the_arena`, `tensors_dropped_on_other_threads_end_the_mapping`).
//! 2. **The memory is usable from the first moment.** Before any vector is allocated the region is
//!    ordinary private memory of zeros. Whoever gets an address in it, the vector it was meant for
//!    or an allocation that slipped in between, owns memory that can be read, written and freed
//!    (`an_armed_allocation_taken_by_somebody_else_is_ordinary_memory`).
//! 3. **Only the one allocation.** The slot belongs to one thread, answers one allocation, matches
//!    size and alignment, and is disarmed when `with_capacity` has returned; then the vector's
//!    address and capacity are compared with what was meant. If one vector of an arena lies
//!    elsewhere, nothing is mapped and the arena is copied
//!    (`other_allocations_keep_their_addresses`, and the test of 2).
//! 4. **What was allocated counts as uninitialised, what is mapped over it as written.** To the
//!    compiler, memory fresh from `alloc` has no value, even if the allocator filled it. Therefore
//!    the file is mapped *after* all vectors of the arena exist and their addresses are exposed:
//!    the system call is a foreign function that may write through every exposed pointer, and this
//!    one does: it writes the bytes of the file into the vectors. The range that it replaces lies
//!    within a region in which nothing but those vectors lives. Only then the lengths are set
//!    (`the_file_is_mapped_after_the_last_vector_was_allocated`,
//!    `mapped_elements_are_read_as_the_file_has_them`).
//! 5. **Every bit pattern is a value.** Only [`Element`](crate::Element)s are mapped, so no
//!    content of a file makes an invalid value (`every_pattern_of_bits_is_read_back`; other dtypes
//!    are refused: `dtypes_without_elements_are_refused`).
//! 6. **No two vectors overlap.** The directory is checked before anything is allocated, whoever
//!    wrote it: ascending offsets, multiples of 64, inside of a file of whole pages. The capacity of
//!    a vector is its tensor's bytes and what is left up to the next multiple of 64, where another
//!    tensor may begin
//!    (`header::tests::a_signed_header_never_leaves_the_file_or_shares_a_byte`; what is pushed into
//!    the rest reaches no neighbour: the test of 9).
//! 7. **The bytes do not change by themselves.** A memory file is sealed against writing and
//!    resizing, and the seals are checked on the descriptor that is mapped
//!    (`unsealed_memory_files_are_refused`). A named object has no seals: it belongs to the same
//!    user, was made under an unguessable name with `O_EXCL`, is read-only once it is published,
//!    and is opened for reading only (`objects_of_others_or_unfinished_ones_are_refused`).
//!    What remains is a program of the same user that changes its mode or cuts it on purpose; such
//!    a program could as well write into this process's memory with a debugger.
//! 8. **Writes stay here.** The mapping is private: an in-place operation of candle gets `&mut
//!    Vec`, as for every tensor, and the kernel copies the page
//!    (`in_place_operations_stay_in_their_process`).
//! 9. **Reallocation moves out.** `realloc` of a mapped vector (an in-place operation may take the
//!    vector out of a tensor and grow it) allocates with the inner allocator, copies, and gives the
//!    place back; it never grows into a neighbour (`a_mapped_vector_that_grows_moves_out`).
//! 10. **The mapping ends with its last user.** Each allocation in a region counts, and so does its
//!     opener. The last one to go, whether arena or vector, replaces the region by nothing and only
//!     then frees its addresses (`an_arena_closed_while_tensors_live_keeps_their_pages`,
//!     `addresses_are_used_again`).
//! 11. **Everybody else is served as before.** `alloc`, `alloc_zeroed`, `realloc` and `dealloc` of
//!     all other memory go to the inner allocator unchanged: `alloc_zeroed` is forwarded rather
//!     than made of `alloc` plus zeroing, `realloc` rather than made of `alloc`, copy and `dealloc`
//!     (`other_allocations_reach_the_inner_allocator_unchanged`). Since the size of a mapped vector is
//!     a multiple of 64, and `dealloc` and `realloc` are told the layout that `alloc` was, every other
//!     size is passed on without a further look, which the compiler often does by itself
//!     (`sizes_that_no_mapped_vector_has_are_passed_on`). Of the rest, an allocation costs one
//!     comparison with a thread-local number, a deallocation one of the upper bits of its address
//!     (benchmark `share`).
//! 12. **`dealloc` neither allocates nor locks**, so it may run wherever memory may be freed: all it
//!     touches are atomics in static tables and, for the last user, one system call.
#![expect(unsafe_code, reason = "the allocator, and vectors on mapped pages")]

mod allocator;
mod range;
mod slot;
mod tensors;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::OnceLock;

pub use allocator::ShareAlloc;
pub(crate) use tensors::{MappedTensor, map};

use crate::header::{Directory, Kind, plan};
use crate::id::ArenaId;
use crate::os::memfd;

/// How the tensors of arenas come into a process. See [`zero_copy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ZeroCopy {
    /// Tensors lie on the shared pages themselves.
    Shared,
    /// Each tensor that is used is copied once per process and arena.
    Copied(WhyCopied),
}

/// Why tensors are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhyCopied {
    /// [`ShareAlloc`] is not the global allocator of the program.
    NoAllocator,
    /// The process may not reserve 512 GiB of addresses (`ulimit -v`), of which 256 GiB are kept.
    NoAddresses,
    /// More than 256 GiB of arenas are open at once.
    RangeUsed,
    /// The arena lives in the memory of this process alone.
    InProcess,
    /// A memory file for the trial could not be made.
    Untried,
}

/// Whether this process reads tensors of arenas where they are.
///
/// That needs one line in the program:
///
/// ```standalone_crate
/// use std::alloc::System;
/// use tensor_share::{ShareAlloc, ZeroCopy};
///
/// #[global_allocator]
/// static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);
///
/// # fn main() {
/// assert_eq!(tensor_share::zero_copy(), ZeroCopy::Shared);
/// # }
/// ```
///
/// The answer is found by a trial and remembered. [`Arena::zero_copy`](crate::Arena::zero_copy)
/// says it for one arena.
pub fn zero_copy() -> ZeroCopy {
    static TRIED: OnceLock<ZeroCopy> = OnceLock::new();
    *TRIED.get_or_init(|| attempt().unwrap_or(ZeroCopy::Copied(WhyCopied::Untried)))
}

fn attempt() -> crate::Result<ZeroCopy> {
    let entry = plan("trial", candle_core::DType::U8, &[64])?;
    let directory = Directory::lay_out(ArenaId::random()?, Kind::Sealed, vec![entry])?;
    let file = memfd::create(directory.id, directory.file_len)?;
    memfd::seal(&file, Kind::Sealed)?;
    Ok(match map(&file, &directory)? {
        Ok(_tensors) => ZeroCopy::Shared,
        Err(why) => ZeroCopy::Copied(why),
    })
}

/// The arenas that are mapped for tensors, with their addresses.
pub(crate) fn regions() -> Vec<(ArenaId, Range<usize>)> {
    range::regions()
}

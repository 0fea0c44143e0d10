//! Memory that holds a segment, in the three states in which it may be touched.
//!
//! [`DraftPages`] belong to the one builder that writes them, [`SealedPages`] never change again,
//! [`MutablePages`] change at any time and are therefore only touched through atomics.
#![expect(unsafe_code, reason = "maps segments, and makes slices of them")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::element::Element;
use crate::error::{Cause, Result};
use crate::os::limits::mapping_error;

const PAGE: usize = 4096;

/// A range of bytes that this value alone frees.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    len: usize,
    mapped: bool,
}

// SAFETY: the range belongs to this value and to no thread, mappings and the heap may be freed by
// any thread, and the types below, each of which owns one `Memory`, decide who may touch its bytes.
unsafe impl Send for Memory {}
// SAFETY: through a shared reference `Memory` gives out an address and touches no byte; whether the
// bytes behind it may be read or written then is what each type below proves for itself.
unsafe impl Sync for Memory {}

impl Memory {
    fn map(file: impl AsFd, len: usize, protection: ProtFlags, what: &str) -> Result<Self> {
        // SAFETY: without MAP_FIXED the kernel picks a free range, so no memory in use changes.
        let mapped = unsafe { mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0) };
        let start = mapped.map_err(|error| mapping_error(format!("map {what}"), len, error))?;
        let start = NonNull::new(start.cast()).expect("invariant: the kernel maps nothing at 0");
        Ok(Self { start, len, mapped: true })
    }

    fn heap(len: usize, what: &str) -> Result<Self> {
        let layout = heap_layout(len);
        // SAFETY: a segment has at least its header, so the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let no_memory = || Cause::NoMemory { what: what.to_owned(), asked: len as u64, free: 0 };
        let start = NonNull::new(start).ok_or_else(no_memory)?;
        Ok(Self { start, len, mapped: false })
    }

    /// The address of `n` elements at `offset`, after checking that they lie inside and aligned.
    fn at<T>(&self, offset: usize, n: usize) -> *mut T {
        let end = n.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= self.len), "invariant: inside of the segment");
        assert!(offset.is_multiple_of(align_of::<T>()), "invariant: aligned in the segment");
        // SAFETY: `start` begins one mapping or allocation of `len` bytes, which lives as long as this
        // value, and the offset was just compared with `len`.
        unsafe { self.start.add(offset) }.cast().as_ptr()
    }
}

fn heap_layout(len: usize) -> Layout {
    Layout::from_size_align(len, PAGE).expect("invariant: the length of a segment was checked")
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.mapped {
            // SAFETY: `map` mapped this range for this value alone; all slices of it borrow the value,
            // so the compiler has ended them before it is dropped.
            let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
            debug_assert!(unmapped.is_ok(), "unmapping what was mapped");
        } else {
            // SAFETY: `heap` allocated it with the layout of the same length; `Memory` is no `Copy`, so
            // it is freed once, and slices of it have ended as above.
            unsafe { dealloc(self.start.as_ptr(), heap_layout(self.len)) };
        }
    }
}

/// The pages of a segment that is being written.
///
/// The segment is new, and neither its descriptor nor its id has left the builder, so nobody else
/// has these pages.
#[derive(Debug)]
pub(crate) struct DraftPages(Memory);

impl DraftPages {
    pub(crate) fn map(file: impl AsFd, len: usize, what: &str) -> Result<Self> {
        Memory::map(file, len, ProtFlags::READ | ProtFlags::WRITE, what).map(Self)
    }

    pub(crate) fn heap(len: usize, what: &str) -> Result<Self> {
        Memory::heap(len, what).map(Self)
    }

    pub(crate) fn slice_mut<T: Element>(&mut self, offset: usize, n: usize) -> &mut [T] {
        let start = self.0.at::<T>(offset, n);
        // SAFETY: `at` checked range and alignment; the pages are zeros or what this builder
        // wrote, which is a value of every `Element`; `&mut self` makes the borrow the only one in
        // this process, and no other process has the segment yet.
        unsafe { std::slice::from_raw_parts_mut(start, n) }
    }

    /// From now on the pages are only read.
    pub(crate) fn seal(self) -> SealedPages {
        SealedPages(self.0)
    }

    /// From now on the pages are only touched as atomics.
    pub(crate) fn open_to_all(self) -> MutablePages {
        MutablePages(self.0)
    }
}

/// The pages of a segment that never changes again.
///
/// For a memory file the kernel promises it (its seals are checked before it is mapped), for a
/// named object its mode and the rule that nobody opens an arena for writing once it is finished,
/// for memory of this process the end of the builder.
#[derive(Debug)]
pub(crate) struct SealedPages(Memory);

impl SealedPages {
    pub(crate) fn map(file: impl AsFd, len: usize, what: &str) -> Result<Self> {
        Memory::map(file, len, ProtFlags::READ, what).map(Self)
    }

    pub(crate) fn slice<T: Element>(&self, offset: usize, n: usize) -> &[T] {
        let start = self.0.at::<T>(offset, n);
        // SAFETY: `at` checked range and alignment; every bit pattern is an `Element`; the pages
        // do not change while they are mapped (see the type).
        unsafe { std::slice::from_raw_parts(start, n) }
    }
}

/// The pages of a segment that any process may change at any time.
#[derive(Debug)]
pub(crate) struct MutablePages(Memory);

impl MutablePages {
    pub(crate) fn map(file: impl AsFd, len: usize, what: &str) -> Result<Self> {
        Memory::map(file, len, ProtFlags::READ | ProtFlags::WRITE, what).map(Self)
    }

    /// The 64 bit words at `offset`, which must be a multiple of 8.
    pub(crate) fn words(&self, offset: usize, n: usize) -> &[AtomicU64] {
        let start = self.0.at::<AtomicU64>(offset, n);
        // SAFETY: `at` checked range and alignment; the kernel (a file's pages) or `alloc_zeroed`
        // initialised the memory, and it lives as long as `self`, which the slice borrows. This type
        // makes no other reference into it, and every process that opens a mutable arena does so by
        // this type, so all access is through atomics of this one size; what the builder wrote came
        // before, since `open_to_all` took its pages.
        unsafe { std::slice::from_raw_parts(start, n) }
    }

    /// Reads elements word by word. Each word is one that somebody wrote; together they may be the
    /// work of several writers.
    pub(crate) fn load<T: Element>(&self, offset: usize, elements: &mut [T]) {
        let bytes = bytes_of_mut(elements);
        let words = self.words(offset, bytes.len().div_ceil(8));
        for (bytes, word) in bytes.chunks_mut(8).zip(words) {
            let word = word.load(Ordering::Relaxed).to_ne_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
    }

    /// Writes elements word by word. Behind the last element nothing lies but room for the
    /// alignment of the next tensor, so the last word may be written as a whole.
    pub(crate) fn store<T: Element>(&self, offset: usize, elements: &[T]) {
        let bytes = bytes_of(elements);
        let words = self.words(offset, bytes.len().div_ceil(8));
        for (bytes, word) in bytes.chunks(8).zip(words) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
    }

    /// Adds to elements. No addition of another thread or process to the same element is lost.
    pub(crate) fn add<T: Element>(&self, offset: usize, addends: &[T]) {
        let in_word = 8 / size_of::<T>();
        let words = self.words(offset, addends.len().div_ceil(in_word));
        for (addends, word) in addends.chunks(in_word).zip(words) {
            let mut seen = word.load(Ordering::Relaxed);
            loop {
                let mut bytes = seen.to_ne_bytes();
                add_to(&mut bytes, addends);
                let sum = u64::from_ne_bytes(bytes);
                match word.compare_exchange_weak(seen, sum, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(other) => seen = other,
                }
            }
        }
    }
}

fn add_to<T: Element>(word: &mut [u8; 8], addends: &[T]) {
    for (bytes, &addend) in word.chunks_exact_mut(size_of::<T>()).zip(addends) {
        // SAFETY: `chunks_exact_mut` made the chunk as long as a `T`, `read_unaligned` takes any
        // address, and the marker `Element` promises that every bit pattern is a `T`.
        let mut sum = unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
        sum += addend;
        bytes.copy_from_slice(bytes_of(std::slice::from_ref(&sum)));
    }
}

fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: the bytes are those of a live slice, borrowed as long as the result; the marker
    // `Element` promises that there is no padding, so all are initialised; `u8` is always aligned.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

fn bytes_of_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    let length = size_of_val(elements);
    // SAFETY: as in `bytes_of`, with a borrow that is the only one; whatever is written into the
    // bytes, the marker `Element` promises that it is an element.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), length) }
}

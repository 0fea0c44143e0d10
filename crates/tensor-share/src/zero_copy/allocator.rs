use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

use super::{range, slot};

/// The program's allocator, which can put a tensor onto pages that processes share.
///
/// Wraps the allocator that the program uses anyway ([`System`] by default) and passes everything
/// on to it, except the vectors of mapped tensors. Install it with one line:
///
/// ```standalone_crate
/// use std::alloc::System;
/// use tensor_share::ShareAlloc;
///
/// #[global_allocator]
/// static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);
/// ```
///
/// It must be the outermost allocator: a wrapper around it that enlarges allocations (to count or
/// to guard them) keeps tensors from being mapped, and they are copied instead. Why mapped tensors
/// are sound is argued in the documentation of the module [`zero_copy`](mod@crate::zero_copy).
#[derive(Debug, Clone, Copy, Default)]
pub struct ShareAlloc<A = System> {
    pub(super) inner: A,
}

impl<A> ShareAlloc<A> {
    /// Wraps an allocator.
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

// SAFETY: memory that does not lie in the reserved range is the inner allocator's, which keeps the
// promises. An address in the range is given out for one armed allocation, whose size and
// alignment it was chosen for, as ordinary memory in a region that is not used otherwise and that
// stays until all allocations in it have been freed. No method unwinds or, for such memory,
// allocates.
unsafe impl<A: GlobalAlloc> GlobalAlloc for ShareAlloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if may_be_mapped(layout)
            && let Some(address) = slot::take(layout)
        {
            return address;
        }
        // SAFETY: the caller's promise (a size that is not zero) is passed on.
        unsafe { self.inner.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if may_be_mapped(layout) && range::contains(address.addr()) {
            return released(address);
        }
        // SAFETY: all that is given out in the range has a size that `may_be_mapped`, and by the
        // caller's promise the address was given out with this layout. So the inner allocator did.
        unsafe { self.inner.dealloc(address, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise (a size that is not zero) is passed on. Tensors are never
        // placed by this method, so its memory is never in the range.
        unsafe { self.inner.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if may_be_mapped(layout) && range::contains(address.addr()) {
            // SAFETY: the address is in the range, as was just seen; that it was given out with this
            // layout, and that the new size is possible, are the caller's promises.
            return unsafe { self.move_out(address, layout, new_size) };
        }
        // SAFETY: as in `dealloc`, the inner allocator gave the address out with this layout; that the
        // new size is possible is the caller's promise.
        unsafe { self.inner.realloc(address, layout, new_size) }
    }
}

/// Whether a layout is one of those that [`slot::armed`] takes. Most allocations of a program are
/// not, which the compiler often knows.
#[inline]
fn may_be_mapped(layout: Layout) -> bool {
    layout.size().is_multiple_of(slot::UNIT)
}

impl<A: GlobalAlloc> ShareAlloc<A> {
    /// Moves a mapped allocation into ordinary memory of another size.
    ///
    /// # Safety
    ///
    /// As for `GlobalAlloc::realloc`, with an address in the range.
    #[cold]
    unsafe fn move_out(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size, rounded up to the alignment, fits.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the caller promises that the new size is not zero.
        let moved = unsafe { self.inner.alloc(new_layout) };
        if !moved.is_null() {
            let kept = layout.size().min(new_size);
            // SAFETY: the caller promises that the old allocation has `layout.size()` bytes, the inner
            // allocator that the new one has `new_size`; `kept` is the smaller. One is in the range,
            // from which the inner allocator never gets memory, so they do not overlap.
            unsafe { ptr::copy_nonoverlapping(address, moved, kept) };
            released(address);
        }
        moved
    }
}

#[cold]
fn released(address: *mut u8) {
    range::release(address.addr());
}

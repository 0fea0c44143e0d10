//! Which address the next allocation of this thread shall get.

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr;

use super::range;

/// Mapped vectors have a capacity of so many bytes, or a multiple. Tensors begin at multiples of it,
/// so what is behind the last element up to the next multiple is nobody else's.
pub(super) const UNIT: usize = 64;

/// A size of 0 is never asked of a global allocator, so it stands for "not armed".
const DISARMED: usize = 0;

struct Slot {
    size: Cell<usize>,
    align: Cell<usize>,
    address: Cell<*mut u8>,
}

thread_local! {
    // No destructor and a constant beginning, so reading it neither allocates nor fails, also
    // while a thread ends.
    static SLOT: Slot = const {
        Slot { size: Cell::new(DISARMED), align: Cell::new(0), address: Cell::new(ptr::null_mut()) }
    };
}

/// The address that this allocation shall get, if it is the one that the thread waits for.
#[inline]
pub(super) fn take(layout: Layout) -> Option<*mut u8> {
    SLOT.with(|slot| {
        if slot.size.get() != layout.size() {
            return None;
        }
        take_slowly(slot, layout)
    })
}

#[cold]
fn take_slowly(slot: &Slot, layout: Layout) -> Option<*mut u8> {
    if slot.align.get() != layout.align() {
        return None;
    }
    slot.size.set(DISARMED);
    let address = slot.address.get();
    range::retain(address.addr());
    Some(address)
}

/// Runs `allocate` with the slot armed for one allocation of this size, a multiple of [`UNIT`], and
/// alignment.
pub(super) fn armed<R>(layout: Layout, address: *mut u8, allocate: impl FnOnce() -> R) -> R {
    assert!(layout.size().is_multiple_of(UNIT), "invariant: a capacity in units");
    SLOT.with(|slot| {
        slot.align.set(layout.align());
        slot.address.set(address);
        slot.size.set(layout.size());
        let result = allocate();
        // Whoever allocates next on this thread gets ordinary memory, whatever happened above.
        slot.size.set(DISARMED);
        result
    })
}

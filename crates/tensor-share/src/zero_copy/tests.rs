//! Tests of the premises that need the inside of the module. The others stand in
//! `tests/it/soundness.rs`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::DType;

use super::tensors::map_after;
use super::{ShareAlloc, WhyCopied, range, slot};
use crate::header::{Directory, Kind, plan};
use crate::id::ArenaId;
use crate::os::memfd;

fn sealed(n_tensors: usize, n_bytes: usize) -> (rustix::fd::OwnedFd, Directory) {
    let entries = (0..n_tensors).map(|i| plan(&i.to_string(), DType::U8, &[n_bytes]).unwrap());
    let id = ArenaId::random().unwrap();
    let directory = Directory::lay_out(id, Kind::Sealed, entries.collect()).unwrap();
    let file = memfd::create(id, directory.file_len).unwrap();
    memfd::seal(&file, Kind::Sealed).unwrap();
    (file, directory)
}

fn has_region(id: ArenaId) -> bool {
    super::regions().iter().any(|&(arena, _)| arena == id)
}

#[test]
fn an_armed_allocation_taken_by_somebody_else_is_ordinary_memory() {
    let (file, directory) = sealed(3, 5000);
    let mut thief = Vec::new();
    let mut calls = 0;
    let mapped = map_after(&file, &directory, || {
        calls += 1;
        if calls == 2 {
            thief = Vec::<u8>::with_capacity(5056);
        }
    });
    assert_eq!(mapped.unwrap().unwrap_err(), WhyCopied::NoAllocator);
    assert!(range::contains(thief.as_ptr().addr()), "it took the place");
    assert!(has_region(directory.id), "its memory stays");

    // It can use the memory for whatever it likes, and grow out of it.
    thief.resize(5056, 7);
    thief.push(8);
    assert_eq!((thief[0], thief[5055], thief[5056]), (7, 7, 8));
    assert!(!range::contains(thief.as_ptr().addr()));
    assert!(!has_region(directory.id), "and goes with its last user");
}

#[test]
fn the_file_is_mapped_after_the_last_vector_was_allocated() {
    let (file, directory) = sealed(3, 5000);
    let is_mapped = || {
        let region = super::regions().into_iter().find(|&(arena, _)| arena == directory.id);
        let start = format!("{:x}-", region.expect("invariant: claimed").1.start);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.starts_with(&start));
        line.is_some_and(|line| line.contains("memfd:tensor-share"))
    };
    let mut before = Vec::new();
    let tensors = map_after(&file, &directory, || before.push(is_mapped())).unwrap().unwrap();
    assert_eq!(before, [false; 3]);
    assert!(is_mapped());
    assert_eq!(tensors.len(), 3);
}

#[test]
fn a_string_that_takes_the_place_of_the_first_tensor_is_a_string() {
    let (file, directory) = sealed(1, 64);
    let mut thief = String::new();
    let mapped = map_after(&file, &directory, || thief = String::with_capacity(64));
    assert!(mapped.unwrap().is_err());
    thief.push_str("still a string");
    assert_eq!(thief, "still a string");
    drop(thief);
    assert!(!has_region(directory.id));
}

#[test]
fn sizes_that_no_mapped_vector_has_are_passed_on() {
    let (file, directory) = sealed(3, 5000);
    let mapped = map_after(&file, &directory, || {
        assert!(!range::contains(Vec::<u8>::with_capacity(5000).as_ptr().addr()));
    });
    assert_eq!(mapped.unwrap().unwrap().len(), 3);
    // In other words, each of the vectors has a size that may be mapped.
    let capacities = [1, 63, 64, 65, 128].map(|n_bytes| {
        let (_, directory) = sealed(1, n_bytes);
        super::tensors::capacity::<u8>(&directory.entries[0])
    });
    assert_eq!(capacities, [64, 64, 64, 128, 128]);
}

/// A place that nothing is mapped at and that may be given out.
fn place() -> range::Region {
    range::Region::claim(4096, ArenaId::random().unwrap()).unwrap()
}

#[test]
fn only_the_size_and_alignment_that_are_waited_for_are_answered() {
    let place = place();
    let layout = Layout::from_size_align(192, 16).unwrap();
    let others = [(192, 8), (192, 32), (193, 16), (191, 16), (128, 16), (256, 16)];
    let others = others.map(|(size, align)| Layout::from_size_align(size, align).unwrap());
    let answered = slot::armed(layout, place.start(), || others.map(slot::take));
    assert_eq!(answered, [None; 6]);
    assert_eq!(slot::take(layout), None, "disarmed afterwards");
}

#[test]
fn another_thread_is_not_answered() {
    let place = place();
    let layout = Layout::from_size_align(64, 16).unwrap();
    let answered = slot::armed(layout, place.start(), || {
        let other = std::thread::spawn(move || slot::take(layout).is_some());
        other.join().unwrap()
    });
    assert!(!answered);
}

#[test]
fn addresses_are_used_again() {
    // 300 GiB in turn through a range of 256 GiB.
    let (file, directory) = sealed(1, 64);
    let mut far = directory;
    far.file_len = 1 << 30;
    for _ in 0..300 {
        let region = range::Region::claim(far.file_len, far.id).unwrap();
        drop(region);
    }
    drop(file);
    assert!(!has_region(far.id));
}

#[test]
fn a_full_range_is_said_and_not_an_error() {
    let (file, directory) = sealed(1, 64);
    let mut too_large = directory;
    too_large.file_len = 1 << 39;
    let mapped = super::map(&file, &too_large).unwrap();
    assert_eq!(mapped.unwrap_err(), WhyCopied::RangeUsed);
}

/// An allocator that counts what reaches it.
#[derive(Default)]
struct Counting([AtomicUsize; 4]);

impl Counting {
    fn count(&self, index: usize) {
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: everything is passed on to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(0);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        self.count(1);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.dealloc(address, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(2);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.count(3);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.realloc(address, layout, new_size) }
    }
}

#[test]
fn other_allocations_reach_the_inner_allocator_unchanged() {
    let allocator = ShareAlloc::new(Counting::default());
    let layout = Layout::from_size_align(1000, 32).unwrap();
    let larger = Layout::from_size_align(2000, 32).unwrap();
    // SAFETY: the size is not zero.
    let plain = unsafe { allocator.alloc(layout) };
    // SAFETY: allocated above with this layout; the size is not zero.
    let plain = unsafe { allocator.realloc(plain, layout, 2000) };
    // SAFETY: the size is not zero.
    let zeroed = unsafe { allocator.alloc_zeroed(layout) };
    // SAFETY: 1000 bytes were allocated and set to zero.
    let bytes = unsafe { std::slice::from_raw_parts(zeroed, 1000) };
    assert!(black_box(bytes).iter().all(|&byte| byte == 0));
    assert_eq!((plain.addr() % 32, zeroed.addr() % 32), (0, 0));
    // SAFETY: reallocated above to this size.
    unsafe { allocator.dealloc(plain, larger) };
    // SAFETY: allocated above with this layout.
    unsafe { allocator.dealloc(zeroed, layout) };
    let counts = allocator.inner.0.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [1, 2, 1, 1]);
}

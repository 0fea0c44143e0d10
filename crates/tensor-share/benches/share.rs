//! Times, printed as ratios where there is something to compare with.
//!
//! ```text
//! cargo bench -p tensor-share --bench share
//! ```
//!
//! Whatever is compared runs in turn, and what is printed is the median over the turns and the
//! quartiles, so that a busy machine shows as spread and not as a result.
#![expect(clippy::print_stdout, reason = "it prints")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(unsafe_code, reason = "it calls allocators")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use candle_core::{DType, Device, Module as _, Tensor};
use candle_nn::Linear;
use tensor_share::{Arena, ShareAlloc, SharedTensor, SharingStrategy, attach, collect, detach};

/// With or without the crate's allocator, so that the same code can be measured with both.
struct Switch {
    with: AtomicBool,
    share: ShareAlloc,
}

#[global_allocator]
static ALLOCATOR: Switch = Switch { with: AtomicBool::new(true), share: ShareAlloc::new(System) };

// SAFETY: both are allocators over `System`, so what one gave out the other may take; memory of
// tensors is taken by `share` alone, since it is only left out while no arena is open.
unsafe impl GlobalAlloc for Switch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.with.load(Ordering::Relaxed) {
            // SAFETY: the caller's promises are those that `share` asks for.
            return unsafe { self.share.alloc(layout) };
        }
        // SAFETY: the caller's promises; `System` gave the memory out, by itself or through `share`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if self.with.load(Ordering::Relaxed) {
            // SAFETY: the caller's promises are those that `share` asks for.
            return unsafe { self.share.dealloc(address, layout) };
        }
        // SAFETY: the caller's promises; `System` gave the memory out, by itself or through `share`.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if self.with.load(Ordering::Relaxed) {
            // SAFETY: the caller's promises are those that `share` asks for.
            return unsafe { self.share.realloc(address, layout, new_size) };
        }
        // SAFETY: the caller's promises; `System` gave the memory out, by itself or through `share`.
        unsafe { System.realloc(address, layout, new_size) }
    }
}

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    println!("zero copy: {:?}\n", tensor_share::zero_copy());
    for strategy in [SharingStrategy::FileDescriptor, SharingStrategy::FileSystem] {
        println!("{strategy}");
        arenas(strategy)?;
    }
    println!("\nhandles");
    handles()?;
    println!("\na forward pass on mapped weights / on own weights");
    for (rows, width) in [(1, 256), (1, 1024), (1, 4096), (64, 512)] {
        forward(rows, width)?;
    }
    println!("\nother allocations with the allocator / without");
    programs();
    println!("  and nothing but the allocator:");
    for size in [16, 64, 256, 4096, 65_536] {
        allocations(size);
    }
    growing();
    Ok(())
}

/// Code that does little but allocate, with both allocators in turn.
fn programs() {
    let record = |index| serde_json::json!({"id": index, "name": format!("agent {index}"), "orders": [1, 2, 3]});
    let json = serde_json::Value::from((0..200).map(record).collect::<Vec<_>>()).to_string();
    let parse = || drop(black_box(serde_json::from_str::<serde_json::Value>(&json)));
    let map = || {
        let map: BTreeMap<String, Vec<u64>> =
            (0..1000u64).map(|key| (key.to_string(), vec![key; 5])).collect();
        drop(black_box(map));
    };
    let compare = |what: &str, work: &dyn Fn()| {
        let run = |with| {
            ALLOCATOR.with.store(with, Ordering::Relaxed);
            time(50, work)
        };
        run(true);
        let ratios = (0..201).map(|turn| {
            if turn % 2 == 0 {
                let without = run(false);
                run(true) / without
            } else {
                let with = run(true);
                with / run(false)
            }
        });
        let ratios = ratios.collect();
        ALLOCATOR.with.store(true, Ordering::Relaxed);
        print(what, ratios, "");
    };
    compare("parse and drop 200 objects of JSON", &parse);
    compare("make and drop a map of 1000 strings", &map);
}

/// Nanoseconds of one call, of `n` calls together.
fn time(n: u32, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..n {
        call();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(n)
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn print(what: &str, values: Vec<f64>, unit: &str) {
    let [low, median, high] = quartiles(values);
    println!("  {what:<46} {median:>10.3} {unit:<3} ({low:.3}..{high:.3})");
}

fn arena(strategy: SharingStrategy, n_tensors: usize, mebibytes: usize) -> Outcome<Arena> {
    let mut builder = Arena::builder();
    let n = mebibytes * (1 << 18) / n_tensors;
    for index in 0..n_tensors {
        builder.strategy(strategy).add(&format!("layer.{index}"), DType::F32, n)?;
    }
    let mut writer = builder.create()?;
    for index in 0..n_tensors {
        writer.slice_mut::<f32>(&format!("layer.{index}"))?.fill(0.5);
    }
    Ok(writer.seal()?)
}

fn arenas(strategy: SharingStrategy) -> Outcome {
    let mut makes = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        let made = arena(strategy, 600, 64)?;
        makes.push(start.elapsed().as_secs_f64() * 1e3);
        drop(made);
    }
    print("make, 600 tensors of 64 MiB", makes, "ms");
    for (n_tensors, mebibytes) in [(6, 1), (6, 416), (600, 64), (600, 416)] {
        let what = format!("first open, {n_tensors} tensors of {mebibytes} MiB");
        print(&what, opens(strategy, n_tensors, mebibytes)?, "µs");
    }
    Ok(())
}

/// Microseconds of opening an arena that this process does not have open.
fn opens(strategy: SharingStrategy, n_tensors: usize, mebibytes: usize) -> Outcome<Vec<f64>> {
    let arena = arena(strategy, n_tensors, mebibytes)?;
    let (bytes, found) = collect(|| {
        serde_json::to_vec(&arena.shared("layer.0")?).map_err(Box::<dyn std::error::Error>::from)
    });
    let bytes = bytes?;
    let mut times = Vec::new();
    if strategy == SharingStrategy::FileSystem {
        // Another name for the object, since the last one to hold it here removes it.
        let object = format!("/dev/shm/tensor-share-{}", arena.id());
        let kept = format!("/dev/shm/bench-{}", std::process::id());
        std::fs::hard_link(&object, &kept)?;
        drop((arena, found));
        for _ in 0..30 {
            std::fs::hard_link(&kept, &object).ok();
            let start = Instant::now();
            let tensor = serde_json::from_slice::<SharedTensor>(&bytes)?.tensor()?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
            drop(tensor);
        }
        std::fs::remove_file(kept)?;
        std::fs::remove_file(object).ok();
        return Ok(times);
    }
    let key = arena.id().key();
    let file = found[0].descriptor().ok_or("a descriptor")?.try_clone_to_owned()?;
    drop((arena, found));
    for _ in 0..30 {
        let received = file.try_clone()?;
        let start = Instant::now();
        attach(key, received)?;
        let tensor = serde_json::from_slice::<SharedTensor>(&bytes)?.tensor()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        drop(tensor);
        detach(key);
    }
    Ok(times)
}

fn handles() -> Outcome {
    let config = bincode::config::standard();
    let arena = arena(SharingStrategy::FileDescriptor, 600, 64)?;
    let all: Vec<SharedTensor> = arena.iter().map(|(_, shared)| shared).collect();
    let bytes = bincode::serde::encode_to_vec(&all, config)?;
    println!(
        "  {:<46} {:>10.1} bytes",
        "a handle, of 600 in one message",
        bytes.len() as f64 / 600.0
    );
    let made = (0..50).map(|_| {
        time(1, || drop(black_box(arena.iter().map(|(_, shared)| shared).collect::<Vec<_>>())))
            / 1e3
    });
    print("make 600 handles", made.collect(), "µs");
    let encoded = (0..50)
        .map(|_| time(1, || drop(black_box(bincode::serde::encode_to_vec(&all, config)))) / 1e3);
    print("encode 600 handles", encoded.collect(), "µs");
    let one = bincode::serde::encode_to_vec(&all[300], config)?;
    let open = || -> Outcome<Tensor> {
        let (shared, _) = bincode::serde::decode_from_slice::<SharedTensor, _>(&one, config)?;
        Ok(shared.tensor()?)
    };
    for _ in 0..10_000 {
        open()?;
    }
    let again = (0..50).map(|_| time(1000, || drop(black_box(open()))));
    print("decode a handle and open it, from the 10,001st", again.collect(), "ns");
    let held = (0..50).map(|_| time(1000, || drop(black_box(all[300].tensor()))));
    print("tensor of a handle that is open", held.collect(), "ns");
    Ok(())
}

fn forward(rows: usize, width: usize) -> Outcome {
    let x = Tensor::randn(0f32, 1.0, (rows, width), &Device::Cpu)?;
    let n = u32::try_from(50_000_000 / (rows * width * width)).unwrap_or(1).clamp(1, 500);
    let run = |layer: &Linear| time(n, || drop(black_box(layer.forward(&x))));
    let mut ratios = Vec::new();
    // Which pages the two get decides some percent, so they get new ones many times.
    for _ in 0..20 {
        let weights = Tensor::randn(0f32, 1.0, (width, width), &Device::Cpu)?;
        let arena = Arena::from_tensors([("w", &weights)])?;
        let (own, mapped) = (Linear::new(weights, None), Linear::new(arena.tensor("w")?, None));
        run(&own);
        run(&mapped);
        for _ in 0..5 {
            let own = run(&own);
            ratios.push(run(&mapped) / own);
        }
    }
    print(&format!("[{rows}, {width}] x [{width}, {width}]"), ratios, "");
    Ok(())
}

/// Allocates and frees as a program does: many blocks at a time, in another order.
fn churn(allocator: &impl GlobalAlloc, layout: Layout) -> f64 {
    let mut blocks = [std::ptr::null_mut(); 64];
    time(500, || {
        for block in &mut blocks {
            // SAFETY: the size is not zero.
            *block = black_box(unsafe { allocator.alloc(layout) });
        }
        for block in &blocks {
            // SAFETY: allocated above with this layout, freed once.
            unsafe { allocator.dealloc(black_box(*block), layout) };
        }
    }) / 64.0
}

fn allocations(size: usize) {
    let layout = Layout::from_size_align(size, 8).expect("invariant: a small size");
    let wrapped = ShareAlloc::new(System);
    churn(&System, layout);
    let ratios = (0..201).map(|turn| {
        if turn % 2 == 0 {
            let without = churn(&System, layout);
            churn(&wrapped, layout) / without
        } else {
            let with = churn(&wrapped, layout);
            with / churn(&System, layout)
        }
    });
    print(&format!("allocate and free {size} bytes"), ratios.collect(), "");
}

fn growing() {
    fn grow(allocator: &impl GlobalAlloc) -> f64 {
        time(200, || {
            let mut layout = Layout::from_size_align(16, 8).expect("invariant: a small size");
            // SAFETY: the size is not zero.
            let mut block = unsafe { allocator.alloc(layout) };
            while layout.size() < 1 << 16 {
                let size = layout.size() * 2;
                // SAFETY: allocated with this layout; the new size is not zero and small.
                block = black_box(unsafe { allocator.realloc(block, layout, size) });
                layout = Layout::from_size_align(size, 8).expect("invariant: a small size");
            }
            // SAFETY: allocated with this layout, freed once.
            unsafe { allocator.dealloc(block, layout) };
        })
    }
    let wrapped = ShareAlloc::new(System);
    grow(&System);
    let ratios = (0..201).map(|_| {
        let without = grow(&System);
        grow(&wrapped) / without
    });
    print("grow a vector from 16 bytes to 64 KiB", ratios.collect(), "");
}

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
use std::hint::black_box;
use std::time::Instant;

use candle_core::{DType, Device, Module as _, Tensor};
use candle_nn::Linear;
use tensor_share::{Arena, ShareAlloc, SharedTensor, SharingStrategy, attach, collect, detach};

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(System);

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
    for size in [16, 64, 256, 4096, 65_536] {
        allocations(size);
    }
    growing();
    Ok(())
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
    let weights = Tensor::randn(0f32, 1.0, (width, width), &Device::Cpu)?;
    let arena = Arena::from_tensors([("w", &weights)])?;
    let (own, mapped) = (Linear::new(weights, None), Linear::new(arena.tensor("w")?, None));
    let x = Tensor::randn(0f32, 1.0, (rows, width), &Device::Cpu)?;
    let n = u32::try_from(200_000_000 / (rows * width * width)).unwrap_or(1).clamp(1, 500);
    let run = |layer: &Linear| time(n, || drop(black_box(layer.forward(&x))));
    run(&own);
    run(&mapped);
    let ratios = (0..41).map(|_| {
        let own = run(&own);
        run(&mapped) / own
    });
    print(&format!("[{rows}, {width}] x [{width}, {width}]"), ratios.collect(), "");
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

//! The memory of several processes that read the same parameters.
//!
//! ```text
//! cargo bench -p tensor-share --bench memory
//! ```
//!
//! Proportional set size: a page that n processes share counts 1/n in each. `torch_memory.py` beside
//! this file measures the same with torch.multiprocessing.
#![expect(clippy::print_stdout, reason = "it prints")]
#![expect(clippy::disallowed_methods, reason = "it tells its processes what to do by variables")]

use std::alloc::System;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

use candle_core::DType;
use tensor_share::{Arena, ShareAlloc, SharingStrategy, attach, collect};

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(System);

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const N_TENSORS: usize = 600;
const MEGABYTES: f64 = 416.0;

fn main() -> Outcome {
    if let Ok(handle) = std::env::var("HANDLE") {
        return reader(&handle);
    }
    for strategy in [SharingStrategy::FileDescriptor, SharingStrategy::FileSystem] {
        println!("{strategy}, {MEGABYTES} MB in {N_TENSORS} tensors");
        for n_readers in [1, 2, 8] {
            measure(strategy, n_readers)?;
        }
    }
    Ok(())
}

fn measure(strategy: SharingStrategy, n_readers: u32) -> Outcome {
    let mut builder = Arena::builder();
    let n = 104_000_000 / N_TENSORS;
    for index in 0..N_TENSORS {
        builder.strategy(strategy).add(&index.to_string(), DType::F32, n)?;
    }
    let mut writer = builder.create()?;
    for index in 0..N_TENSORS {
        writer.slice_mut::<f32>(&index.to_string())?.fill(1.0);
    }
    let arena = writer.seal()?;
    let mut readers = (0..n_readers).map(|_| start(&arena)).collect::<Outcome<Vec<_>>>()?;
    // All must have read everything before anybody is measured.
    for reader in &mut readers {
        line(reader)?;
    }
    // The process that made the arena maps it and has not read it.
    let mut total = pss()?;
    for reader in &mut readers {
        reader.stdin.as_mut().ok_or("its input")?.write_all(b"\n")?;
        total += line(reader)?.trim().parse::<f64>()?;
    }
    for mut reader in readers {
        drop(reader.stdin.take());
        reader.wait()?;
    }
    let own = (total - MEGABYTES) / f64::from(n_readers + 1);
    println!(
        "  main and {n_readers} reading: {total:>6.1} MB together, {own:>5.1} MB each beyond the \
         parameters"
    );
    Ok(())
}

fn start(arena: &Arena) -> Outcome<Child> {
    let (handle, found) = collect(|| serde_json::to_string(arena));
    let mut command = Command::new(std::env::current_exe()?);
    command.env("HANDLE", handle?).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(descriptor) = found[0].descriptor() {
        // The child opens it from here: it needs no inherited descriptor.
        let number = std::os::fd::AsRawFd::as_raw_fd(&descriptor.as_fd());
        command.env("FILE", format!("/proc/{}/fd/{number}", std::process::id()));
        command.env("KEY", found[0].key().to_string());
    }
    Ok(command.spawn()?)
}

fn line(child: &mut Child) -> Outcome<String> {
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().ok_or("its output")?).read_line(&mut line)?;
    Ok(line)
}

fn reader(handle: &str) -> Outcome {
    if let (Ok(path), Ok(key)) = (std::env::var("FILE"), std::env::var("KEY")) {
        attach(key.parse()?, std::fs::File::open(path)?.into())?;
    }
    let arena: Arena = serde_json::from_str(handle)?;
    let tensors = arena.iter().map(|(_, shared)| shared.tensor()).collect::<Result<Vec<_>, _>>()?;
    let mut sum = 0.0;
    for tensor in &tensors {
        sum += f64::from(tensor.sum_all()?.to_scalar::<f32>()?);
    }
    println!("{sum}");
    std::io::stdin().read_exact(&mut [0])?;
    println!("{}", pss()?);
    // Nobody ends before all are measured.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// The proportional set size of this process in MB.
fn pss() -> Outcome<f64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("Pss")?;
    let kib: f64 = pss.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0 / 1e6)
}

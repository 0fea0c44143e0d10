//! What a forked child may do with its parent's arenas, and which system calls opening needs. A
//! program of its own, without the threads of a test harness: a fork takes only its own thread along.
#![expect(unsafe_code, reason = "it forks")]

use std::alloc::System;
use std::process::ExitCode;

use candle_core::{DType, Tensor};
use tensor_share::{Arena, ShareAlloc, SharedTensor, SharingStrategy, ZeroCopy, zero_copy};

#[global_allocator]
static ALLOCATOR: ShareAlloc = ShareAlloc::new(System);

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<ExitCode> {
    for &strategy in tensor_share::all_sharing_strategies() {
        let arena = arena(strategy, 1.0)?;
        let tensor = arena.tensor("x")?;
        let before = names()?;

        // SAFETY: this program's `main` starts no thread and has no test harness, so the child finds
        // no lock that another thread holds.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let status = i32::from(in_the_child(arena, &tensor, strategy).is_err());
            // SAFETY: `_exit` takes a number and asks for nothing; it skips the parent's exit handlers.
            unsafe { libc::_exit(status) };
        }
        let mut status = 1;
        // SAFETY: the pointer is to a local `c_int` that lives until the call returns.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((waited, status), (child, 0), "the child did what it should");

        assert_eq!(names()?, before, "the child removed what is its own, and nothing else");
        assert_eq!(tensor.to_vec1::<f32>()?, [1.0; 3], "what it wrote stayed there");
        assert_eq!(arena.copied_bytes()?, 0);
        opening_again_is_no_system_call(&arena)?;
        drop((arena, tensor));
    }
    Ok(ExitCode::SUCCESS)
}

/// In a child that the kernel ends at any system call but reading, writing and ending.
fn opening_again_is_no_system_call(arena: &Arena) -> Outcome {
    let message = serde_json::to_string(&arena.shared("x")?)?;
    let open = || -> Outcome<usize> {
        Ok(serde_json::from_str::<SharedTensor>(&message)?.tensor()?.elem_count())
    };
    // The allocator of the system gets what it needs.
    assert_eq!(open()?, 3);
    // SAFETY: as above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: this option takes numbers and touches no memory.
        let forbidden = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) };
        let opened = (0..1000).all(|_| open().is_ok_and(|n| n == 3));
        let status = i32::from(!opened || forbidden != 0);
        // SAFETY: `exit` takes a number and does not return; it is the one way to end that is allowed.
        unsafe { libc::syscall(libc::SYS_exit, status) };
    }
    let mut status = 1;
    // SAFETY: the pointer is to a local `c_int` that lives until the call returns.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "opened 1000 times without a system call");
    Ok(())
}

fn in_the_child(arena: Arena, tensor: &Tensor, strategy: SharingStrategy) -> Outcome {
    assert_eq!(zero_copy(), ZeroCopy::Shared);
    assert_eq!(tensor.to_vec1::<f32>()?, [1.0; 3]);
    tensor.zero_set()?;
    assert_eq!(arena.copied_bytes()?, 4096);
    drop(arena);
    // Its own arenas are held by a lease of its own.
    let own = self::arena(strategy, 2.0)?;
    assert_eq!(own.tensor("x")?.to_vec1::<f32>()?, [2.0; 3]);
    Ok(())
}

fn arena(strategy: SharingStrategy, value: f32) -> Outcome<Arena> {
    let mut builder = Arena::builder();
    builder.strategy(strategy).add("x", DType::F32, 3)?;
    let mut writer = builder.create()?;
    writer.slice_mut::<f32>("x")?.fill(value);
    Ok(writer.seal()?)
}

/// The names of this process's user in /dev/shm that belong to this test: those of its arenas.
fn names() -> Outcome<Vec<String>> {
    let ids: Vec<String> = tensor_share::report()?
        .into_iter()
        .filter(|arena| arena.here.is_some())
        .map(|arena| arena.id.to_string())
        .collect();
    let mut names = Vec::new();
    for entry in std::fs::read_dir("/dev/shm")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if ids.iter().any(|id| name.contains(id)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

//! Limits and damage: an error that says what to do, never a signal.

use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use tensor_share::{
    ArenaId, Attachment, ErrorKind, SharedTensor, SharingStrategy, attach, collect, detach,
};

use crate::child::{start, start_after};
use crate::soundness::skipped;
use crate::util::{Place, arena, decode, encode, range, try_decode};

fn sealed_file(bytes: &[u8]) -> OwnedFd {
    let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    assert_eq!(rustix::io::write(&file, bytes).unwrap(), bytes.len());
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL | SealFlags::WRITE;
    fcntl_add_seals(&file, seals).unwrap();
    file
}

/// The bytes of a small arena that this process does not have open any more.
fn sample() -> (u128, Vec<u8>) {
    let arena = arena(Place::FileDescriptor, &[("weight", &range(20)), ("bias", &range(3))]);
    let (_, found) = collect(|| encode(&arena));
    let mut bytes = vec![0; arena.bytes()];
    rustix::io::pread(found[0].descriptor().unwrap(), &mut bytes, 0).unwrap();
    (arena.id().key(), bytes)
}

#[test]
fn truncated_segments_are_errors() {
    let (key, bytes) = sample();
    for length in (0..bytes.len()).step_by(61) {
        let error = attach(key, sealed_file(&bytes[..length])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{length}: {error}");
    }
    let error = attach(key, sealed_file(&bytes[..1000])).unwrap_err().to_string();
    assert!(error.ends_with("the header says 4096 bytes, the file has 1000"), "{error}");
}

#[test]
fn altered_headers_are_errors() {
    let (key, bytes) = sample();
    for index in (0..64).chain(128..190) {
        let mut altered = bytes.clone();
        altered[index] ^= 0x10;
        let error = attach(key, sealed_file(&altered)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Format | ErrorKind::Untrusted),
            "{index}: {error}"
        );
    }
    let mut other_version = bytes.clone();
    other_version[8] = 2;
    let error = attach(key, sealed_file(&other_version)).unwrap_err().to_string();
    assert!(error.ends_with("is not an arena of this version: version 2, expected 1"), "{error}");
}

#[test]
fn random_segments_are_errors() {
    let mut state = 7u64;
    for length in [0, 1, 127, 128, 129, 4096, 8192] {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_le_bytes()[7]
            })
            .collect();
        let error = attach(1, sealed_file(&bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    }
}

#[test]
fn a_descriptor_under_another_key_is_an_error() {
    let (key, bytes) = sample();
    let error = attach(key ^ 1, sealed_file(&bytes)).unwrap_err().to_string();
    let (found, expected) = (ArenaId::from_key(key), ArenaId::from_key(key ^ 1));
    assert_eq!(error, format!("the descriptor holds arena {found}, it was sent as {expected}"));
    let pipe = std::io::pipe().unwrap().0.into();
    assert!(attach(key, pipe).is_err(), "not even a file");
}

#[test]
fn handles_of_other_programs_and_versions_are_errors() {
    let (key, bytes) = sample();
    let arena = arena(Place::FileDescriptor, &[("x", &range(3))]);
    let mut handle = encode(&arena.shared("x").unwrap());
    // A handle that says more than the arena has.
    let last = handle.len() - 1;
    handle[last] = 4;
    let error = decode::<SharedTensor>(&handle).tensor().unwrap_err();
    assert_eq!(error.to_string(), "shape mismatch in open of x, arena [3], handle [4]");
    handle[0] = 9;
    let error = try_decode::<SharedTensor>(&handle).unwrap_err();
    assert!(
        error.contains("a handle of version 9 was met, this program reads version 1"),
        "{error}"
    );

    attach(key, sealed_file(&bytes)).unwrap();
    assert!(detach(key));
    drop(arena);
    handle[0] = 1;
    let error = decode::<SharedTensor>(&handle).tensor().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownArena);
    assert!(error.to_string().contains("its descriptor has not been attached"), "{error}");
}

#[test]
fn few_descriptors_are_enough_for_many_tensors() {
    for strategy in [SharingStrategy::FileDescriptor, SharingStrategy::FileSystem] {
        let mut worker =
            start_after("ulimit -n 64;", "many arenas", &(strategy, 1usize, 10_000usize));
        assert_eq!(worker.line(), "10000");
    }
    let mut worker = start_after(
        "ulimit -n 64;",
        "many arenas",
        &(SharingStrategy::FileSystem, 1000usize, 10usize),
    );
    assert_eq!(worker.line(), "10000");
    let mut worker = start_after(
        "ulimit -n 64;",
        "many arenas",
        &(SharingStrategy::FileDescriptor, 1000usize, 10usize),
    );
    let error = worker.line();
    assert!(error.contains("the limit of this process is 64 (ulimit -n)"), "{error}");
}

#[test]
fn three_hundred_tensors_travel_through_one_descriptor() {
    let tensors: Vec<_> = (0..300).map(|n| (n.to_string(), range(10))).collect();
    let named: Vec<_> = tensors.iter().map(|(name, tensor)| (&**name, tensor)).collect();
    for place in [Place::FileDescriptor, Place::FileSystem] {
        let arena = arena(place, &named);
        let shared: Vec<_> = arena.iter().map(|(_, shared)| shared).collect();
        if place == Place::FileSystem {
            let mut reader = start_after("ulimit -n 64;", "read", &shared[7]);
            assert_eq!(reader.line(), "[0.0, 1.0, 2.0]");
            continue;
        }
        let mut reader = start_after("ulimit -n 64;", "attach and count", &shared);
        assert_eq!(reader.line(), "300");
        assert_eq!(reader.line(), "10");
        assert_eq!(reader.line(), "true false", "its last user ends the mapping");
    }
}

#[test]
fn few_descriptors_are_enough_to_receive_many_arenas() {
    let arenas: Vec<_> =
        (0..300).map(|_| arena(Place::FileDescriptor, &[("x", &range(3))])).collect();
    let tensors: Vec<_> = arenas.iter().map(|arena| arena.shared("x").unwrap()).collect();
    let (_, found) = collect(|| encode(&tensors));
    let file = |one: &Attachment| (one.key(), one.descriptor().unwrap().as_raw_fd());
    let files: Vec<_> = found.iter().map(file).collect();
    let mut worker = start_after("ulimit -n 64;", "attach many", &(files, tensors));
    assert_eq!(worker.line(), "300");
    assert_eq!(worker.line(), "16", "a quarter of its descriptors is kept to be sent on");
}

#[test]
fn a_hundred_thousand_tensors_need_one_mapping() {
    let mut worker = start("many arenas", &(SharingStrategy::FileDescriptor, 1usize, 100_000usize));
    assert_eq!(worker.line(), "100000");
}

#[test]
fn more_arenas_than_mappings_are_an_error_with_both_numbers() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 100_000 {
        return skipped("this machine allows so many mappings that the test would be long");
    }
    // A /dev/shm of its own, so that the other tests need not list tens of thousands of names.
    let Some(shell) = own_shm("1g") else { return };
    let mut worker =
        start_after(&shell, "many arenas", &(SharingStrategy::FileSystem, limit, 1usize));
    let error = worker.line();
    assert!(error.contains(&format!("vm.max_map_count is {limit}; put many tensors")), "{error}");
    worker.finish();
}

/// What a shell does to have a /dev/shm of this size of its own.
pub(crate) fn own_shm(size: &str) -> Option<String> {
    let mount = format!("mount -t tmpfs -o size={size} tmpfs /dev/shm &&");
    let tried = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", &format!("{mount} true")])
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        skipped("no private mount namespace for a /dev/shm of its own");
        return None;
    }
    Some(format!("exec unshare -m sh -c '{mount} exec \"$0\" \"$@\"' \"$0\" \"$@\";"))
}

#[test]
fn a_full_dev_shm_is_an_error_with_both_sizes() {
    let Some(shell) = own_shm("1m") else { return };
    let mut worker = start_after(&shell, "make", &(SharingStrategy::FileSystem, 5_000_000usize));
    let error = worker.line();
    assert!(error.starts_with("no room for arena "), "{error}");
    assert!(error.contains("in /dev/shm, asked 5001216 bytes, free 1044480 bytes"), "{error}");
    let mut worker = start_after(&shell, "make", &(SharingStrategy::FileSystem, 500_000usize));
    assert_eq!(worker.line(), "made");
    // A memory file does not ask /dev/shm.
    let mut worker =
        start_after(&shell, "make", &(SharingStrategy::FileDescriptor, 5_000_000usize));
    assert_eq!(worker.line(), "made");
}

/// A control group whose processes may use so many bytes of memory.
struct ControlGroup(PathBuf);

impl ControlGroup {
    fn new(limit: u64) -> Option<Self> {
        let name = format!("tensor-share-test-{}", std::process::id());
        // Version 1 first: the root of version 2 is a plain folder there.
        let kinds = [("memory", "memory.limit_in_bytes"), ("", "memory.max")];
        for (root, file) in kinds {
            let group = Path::new("/sys/fs/cgroup").join(root).join(&name);
            if std::fs::create_dir(&group).is_err() {
                continue;
            }
            let group = Self(group);
            let opened = std::fs::OpenOptions::new().write(true).open(group.0.join(file));
            if opened.is_ok_and(|mut file| write!(file, "{limit}").is_ok()) {
                return Some(group);
            }
        }
        None
    }

    /// What a shell does to be in the group.
    fn shell(&self) -> String {
        format!("echo $$ > {}/cgroup.procs || exit 1;", self.0.display())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

#[test]
fn a_memory_file_larger_than_its_control_group_allows_is_an_error() {
    let Some(group) = ControlGroup::new(200 << 20) else {
        return skipped("no control group can be made here");
    };
    let make = |n_bytes: usize| {
        let value = (SharingStrategy::FileDescriptor, n_bytes);
        start_after(&group.shell(), "make", &value).line()
    };
    let error = make(300 << 20);
    assert!(error.starts_with("no memory for arena "), "{error}");
    assert!(error.contains("asked 314576896 bytes, the machine has "), "{error}");
    let free = error.split("has ").nth(1).unwrap().split(' ').next().unwrap();
    let free: u64 = free.parse().unwrap();
    assert!((1..=200 << 20).contains(&free), "what the group has left, not the machine: {free}");
    assert_eq!(make(20 << 20), "made");
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    let mut worker = start("make", &(SharingStrategy::FileDescriptor, 1usize << 60));
    let error = worker.line();
    assert!(error.contains("asked 1152921504606851072 bytes"), "{error}");
}

//! The premises of the argument in the module `zero_copy`, as far as they show from outside.
//!
//! Run with and without optimisation: the compiler may believe things about fresh memory that only
//! show when it optimises.

use candle_core::{CpuStorage, DType, Device, InplaceOp1, Layout, Result, Tensor};
use half::{bf16, f16};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, memfd_create};
use tensor_share::{ErrorKind, SharedTensor, ZeroCopy, attach, collect, detach};

use crate::util::{
    Place, address, arena, builder, decode, elements, encode, mapping_at, names_of, range,
};

#[test]
fn tensors_lie_on_the_pages_of_the_file() {
    for (place, name) in [
        (Place::FileDescriptor, "memfd:tensor-share"),
        (Place::FileSystem, "/dev/shm/tensor-share-"),
    ] {
        let arena = arena(place, &[("x", &range(10)), ("y", &range(20))]);
        assert_eq!(arena.zero_copy(), ZeroCopy::Shared);
        let (x, y) = (arena.tensor("x").unwrap(), arena.tensor("y").unwrap());
        let line = mapping_at(address(&x)).unwrap();
        assert!(line.contains(name) && line.contains("rw-p"), "{line}");
        assert_eq!(mapping_at(address(&y)).unwrap(), line, "one mapping for both");
        assert_eq!(address(&y) - address(&x), 64);
    }
}

#[test]
fn mapped_elements_are_read_as_the_file_has_them() {
    // Read at once, by code that the compiler sees as a whole with the allocation.
    for round in 0..50u8 {
        let mut builder = builder(Place::FileDescriptor);
        builder.add("x", DType::U8, 100_000).unwrap();
        builder.add("y", DType::F64, 33).unwrap();
        let mut writer = builder.create().unwrap();
        writer.slice_mut::<u8>("x").unwrap().fill(round | 1);
        writer.slice_mut::<f64>("y").unwrap().fill(f64::from(round) + 0.5);
        let arena = writer.seal().unwrap();
        assert!(elements::<u8>(&arena.tensor("x").unwrap()).iter().all(|&x| x == round | 1));
        let y = arena.tensor("y").unwrap().sum_all().unwrap().to_scalar::<f64>().unwrap();
        assert_eq!(y.to_bits(), (33.0 * (f64::from(round) + 0.5)).to_bits());
    }
}

#[test]
fn every_pattern_of_bits_is_read_back() {
    let mut builder = builder(Place::FileDescriptor);
    for (name, dtype) in [("f16", DType::F16), ("bf16", DType::BF16), ("i16", DType::I16)] {
        builder.add(name, dtype, 1 << 16).unwrap();
    }
    builder.add("f32", DType::F32, 1 << 16).unwrap();
    let mut writer = builder.create().unwrap();
    for pattern in 0..=u16::MAX {
        let index = usize::from(pattern);
        writer.slice_mut::<f16>("f16").unwrap()[index] = f16::from_bits(pattern);
        writer.slice_mut::<bf16>("bf16").unwrap()[index] = bf16::from_bits(pattern);
        writer.slice_mut::<i16>("i16").unwrap()[index] = pattern.cast_signed();
        writer.slice_mut::<f32>("f32").unwrap()[index] =
            f32::from_bits(u32::from(pattern) << 16 | 1);
    }
    let arena = writer.seal().unwrap();
    let read = |name| arena.tensor(name).unwrap();
    let all = || 0..=u16::MAX;
    assert!(elements::<f16>(&read("f16")).iter().map(|x| x.to_bits()).eq(all()));
    assert!(elements::<bf16>(&read("bf16")).iter().map(|x| x.to_bits()).eq(all()));
    assert!(elements::<i16>(&read("i16")).iter().map(|x| x.cast_unsigned()).eq(all()));
    assert!(
        elements::<f32>(&read("f32"))
            .iter()
            .map(|x| x.to_bits())
            .eq(all().map(|x| u32::from(x) << 16 | 1))
    );
}

#[test]
fn dtypes_without_elements_are_refused() {
    for dtype in [DType::F4, DType::F6E2M3, DType::F6E3M2, DType::F8E8M0] {
        let error = builder(Place::FileDescriptor).add("x", dtype, 8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DType);
        let text =
            format!("dtype {} of x cannot be shared, candle has no elements of it", dtype.as_str());
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn clones_and_views_outlive_the_arena() {
    let arena = arena(
        Place::FileDescriptor,
        &[("x", &range(12).reshape((3, 4)).unwrap()), ("y", &range(7))],
    );
    let tensor = arena.tensor("x").unwrap();
    let shared = arena.shared("x").unwrap();
    let view = tensor.t().unwrap().narrow(0, 1, 2).unwrap();
    let place = address(&tensor);
    drop((arena, shared));
    let copy = tensor.clone();
    drop(tensor);
    assert_eq!(elements::<f32>(&view), [1.0, 5.0, 9.0, 2.0, 6.0, 10.0]);
    drop(view);
    assert_eq!(elements::<f32>(&copy).len(), 12);
    assert!(mapping_at(place).unwrap().contains("tensor-share"));
    drop(copy);
    assert!(!mapping_at(place).is_some_and(|line| line.contains("tensor-share")));
}

#[test]
fn tensors_dropped_on_other_threads_end_the_mapping() {
    let tensors: Vec<_> = (0..50).map(|n| (n.to_string(), range(100))).collect();
    let named: Vec<_> = tensors.iter().map(|(name, tensor)| (&**name, tensor)).collect();
    let arena = arena(Place::FileDescriptor, &named);
    let mapped: Vec<_> = arena.names().map(|name| arena.tensor(name).unwrap()).collect();
    let place = address(&mapped[0]);
    drop(arena);
    std::thread::scope(|scope| {
        for tensor in mapped {
            scope.spawn(move || drop(tensor));
        }
    });
    assert!(!mapping_at(place).is_some_and(|line| line.contains("tensor-share")));
}

#[test]
fn an_arena_closed_while_tensors_live_keeps_their_pages() {
    let arena = arena(Place::FileSystem, &[("x", &range(100))]);
    let tensor = arena.tensor("x").unwrap();
    let id = arena.id();
    drop(arena);
    assert_eq!(names_of(id), [""; 0]);
    assert!(mapping_at(address(&tensor)).unwrap().contains("(deleted)"));
    assert_eq!(elements::<f32>(&tensor)[99].to_bits(), 99f32.to_bits());
}

/// Takes the vector out of a tensor, grows it, and puts it back.
struct Grow;

impl InplaceOp1 for Grow {
    fn name(&self) -> &'static str {
        "grow"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> Result<()> {
        let CpuStorage::F32(vector) = storage else { panic!("f32") };
        // First into what is left of its place, then out of it.
        let (n, capacity) = (vector.len(), vector.capacity());
        while vector.len() <= capacity {
            vector.push(77.0);
        }
        assert_eq!(vector[n - 1].to_bits(), 99f32.to_bits());
        vector.truncate(n);
        vector.shrink_to_fit();
        Ok(())
    }
}

#[test]
fn a_mapped_vector_that_grows_moves_out() {
    let arena = arena(Place::FileDescriptor, &[("x", &range(100)), ("y", &range(100))]);
    let (x, y) = (arena.tensor("x").unwrap(), arena.tensor("y").unwrap());
    let place = address(&x);
    x.inplace_op1(&Grow).unwrap();
    assert_ne!(address(&x), place);
    assert!(!mapping_at(address(&x)).unwrap().contains("tensor-share"));
    assert_eq!(elements::<f32>(&x), elements::<f32>(&y), "nothing of the neighbour was written");
    drop((arena, x));
    assert_eq!(elements::<f32>(&y).len(), 100);
}

#[test]
fn other_allocations_keep_their_addresses() {
    // The layout that the tensors have, on this thread and on another one, before and after.
    let make = || vec![1u32; 112];
    let before = make();
    let arena = arena(Place::FileDescriptor, &[("x", &range(100)), ("y", &range(100))]);
    let after = make();
    let other = std::thread::spawn(make).join().unwrap();
    let mapped = address(&arena.tensor("x").unwrap());
    for vector in [before, after, other] {
        assert!(vector.as_ptr().addr().abs_diff(mapped) > 4096);
        assert_eq!(vector, [1; 112]);
    }
}

#[test]
fn in_place_operations_are_seen_by_this_process_only_and_reported() {
    let arena = arena(Place::FileDescriptor, &[("x", &range(3)), ("y", &range(3))]);
    assert_eq!(arena.copied_bytes().unwrap(), 0);
    let (x, same) = (arena.tensor("x").unwrap(), arena.tensor("x").unwrap());
    x.zero_set().unwrap();
    assert_eq!(elements::<f32>(&same), [0.0; 3], "clones share their storage, as always");
    assert_eq!(arena.copied_bytes().unwrap(), 4096, "one page");
    assert!(tensor_share::copied_arenas().unwrap().iter().any(|found| found.arena == arena.id()));

    // What another process would map: the file is as it was written.
    let (_, found) = collect(|| encode(&arena));
    let mut bytes = vec![0; arena.bytes()];
    rustix::io::pread(found[0].descriptor().unwrap(), &mut bytes, 0).unwrap();
    let floats: Vec<u8> = [0f32, 1.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert!(bytes.windows(12).any(|window| window == floats));
}

#[test]
fn unsealed_memory_files_are_refused() {
    let arena = arena(Place::FileDescriptor, &[("x", &range(3))]);
    let (_, found) = collect(|| encode(&arena));
    let mut bytes = vec![0; arena.bytes()];
    rustix::io::pread(found[0].descriptor().unwrap(), &mut bytes, 0).unwrap();
    let copy = |seals: SealFlags| {
        let file = memfd_create("copy", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        assert_eq!(rustix::io::write(&file, &bytes).unwrap(), bytes.len());
        fcntl_add_seals(&file, seals).unwrap();
        file
    };
    let key = arena.id().key();
    let fixed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    drop((found, arena));
    for seals in [SealFlags::empty(), fixed, (fixed - SealFlags::SHRINK) | SealFlags::WRITE] {
        let error = attach(key, copy(seals)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Untrusted, "{error}");
    }
    attach(key, copy(fixed | SealFlags::WRITE)).unwrap();
    assert!(detach(key));
    assert!(!detach(key));
}

#[test]
fn the_kernel_keeps_a_sealed_file_as_it_is() {
    let arena = arena(Place::FileDescriptor, &[("x", &range(3))]);
    let (_, found) = collect(|| encode(&arena));
    let file = found[0].descriptor().unwrap();
    assert!(rustix::io::pwrite(file, &[1], 0).is_err());
    assert!(rustix::fs::ftruncate(file, 0).is_err());
    let stat = fstat(file).unwrap();
    assert_eq!(usize::try_from(stat.st_size).unwrap(), arena.bytes());
}

#[test]
fn a_named_object_is_read_only_once_it_is_finished() {
    use std::os::unix::fs::PermissionsExt;
    let modes = |id| {
        let mode = |name: &String| std::fs::metadata(format!("/dev/shm/{name}")).unwrap();
        names_of(id).iter().map(|name| mode(name).permissions().mode() & 0o7777).collect::<Vec<_>>()
    };
    for (is_sealed, mode) in [(true, 0o400), (false, 0o600)] {
        let mut builder = builder(Place::FileSystem);
        builder.add("x", DType::F32, 3).unwrap();
        let mut writer = builder.create().unwrap();
        writer.slice_mut::<f32>("x").unwrap().fill(0.0);
        let text = format!("{writer:?}");
        let id = text.split("ArenaId(").nth(1).unwrap()[..32].parse().unwrap();
        assert_eq!(modes(id), [0o600], "under the name of its maker's hold alone");
        let (sealed, open) = if is_sealed {
            (Some(writer.seal().unwrap()), None)
        } else {
            (None, Some(writer.open_to_all().unwrap()))
        };
        assert_eq!(modes(id), [mode; 2], "one object, by which it is opened and held");
        drop((sealed, open));
        assert!(modes(id).is_empty());
    }
}

#[test]
fn objects_of_others_or_unfinished_ones_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let arena = arena(Place::FileSystem, &[("x", &range(3))]);
    let path = format!("/dev/shm/tensor-share-{}", arena.id());
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(), 0o400);
    let bytes = encode(&arena.shared("x").unwrap());
    let contents = std::fs::read(&path).unwrap();
    drop(arena);
    let opened = || decode::<SharedTensor>(&bytes).tensor();

    std::fs::write(&path, &contents).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let error = opened().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Untrusted);
    assert!(error.to_string().contains("with mode 0644, expected"), "{error}");

    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let error = opened().unwrap_err();
    assert!(error.to_string().ends_with("is mutable, the handle wants sealed"), "{error}");

    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        let error = opened().unwrap_err();
        assert!(error.to_string().contains("belongs to user 12345"), "{error}");
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    } else {
        skipped("only root can give a file to another user");
    }
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert!(opened().is_err(), "no link is followed");
    std::fs::remove_file(&path).unwrap();
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

#[test]
fn a_mapped_tensor_is_trained_on_like_any_other() {
    use candle_core::Var;
    let arena = arena(Place::FileDescriptor, &[("w", &range(3))]);
    let weights = arena.tensor("w").unwrap();
    let var = Var::from_tensor(&weights).unwrap();
    let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu).unwrap();
    let loss = (var.as_tensor() * &x).unwrap().sum_all().unwrap();
    let gradient = loss.backward().unwrap().remove(var.as_tensor()).unwrap();
    var.set(&(var.as_tensor() - gradient).unwrap()).unwrap();
    assert_eq!(elements::<f32>(var.as_tensor()), [-1.0, -1.0, -1.0]);
    assert_eq!(elements::<f32>(&weights), [0.0, 1.0, 2.0], "a variable is a copy");
}

//! What callers may rely on, wherever an arena lives and whether its tensors are mapped or copied.

use candle_core::{DType, Device, Tensor};
use half::{bf16, f16};
use tensor_share::{
    Arena, ArenaId, ErrorKind, MutableArena, SharedTensor, SharedVar, Snapshot, collect,
};

use crate::util::{
    Place, address, arena, builder, decode, elements, encode, mutable, names_of, range, try_decode,
};

macro_rules! suite {
    ($($test:ident)*) => {
        mod file_descriptor {
            $(#[test] fn $test() { super::$test(super::Place::FileDescriptor); })*
        }
        mod file_system {
            $(#[test] fn $test() { super::$test(super::Place::FileSystem); })*
        }
        mod in_process {
            $(#[test] fn $test() { super::$test(super::Place::InProcess); })*
        }
    };
}

suite! {
    tensors_read_as_they_were_written
    every_dtype_is_shared
    tensors_without_elements_are_tensors
    an_arena_without_tensors_is_an_arena
    views_are_written_in_the_order_of_their_shape
    tensors_are_aligned_to_64_bytes
    a_handle_has_a_few_dozen_bytes
    a_handle_gives_the_tensor_that_was_meant
    an_arena_is_opened_once
    a_tensor_outlives_arena_and_handles
    a_closed_arena_is_unknown
    a_dropped_writer_leaves_nothing
    nothing_is_left_in_dev_shm
    mistakes_of_writers_name_both_values
    a_tensor_that_was_forgotten_is_an_error
    what_a_message_speaks_of_is_collected_once
    a_sealed_arena_is_not_mutable_and_the_other_way_round
    variables_are_set_and_added_to
    versions_count_steps
    snapshots_are_whole
    changes_of_a_copy_do_not_reach_a_mutable_arena
}

fn tensors_read_as_they_were_written(place: Place) {
    let (x, y) = (range(12).reshape((3, 4)).unwrap(), range(5));
    let arena = arena(place, &[("x", &x), ("y", &y)]);
    assert_eq!(arena.names().collect::<Vec<_>>(), ["x", "y"]);
    for (name, tensor) in [("x", &x), ("y", &y)] {
        let read = arena.tensor(name).unwrap();
        assert_eq!(read.dims(), tensor.dims());
        assert_eq!(elements::<f32>(&read), elements::<f32>(tensor));
    }
    assert_eq!(
        arena.iter().map(|(_, shared)| shared.dims().to_vec()).collect::<Vec<_>>(),
        [vec![3, 4], vec![5]]
    );
}

fn every_dtype_is_shared(place: Place) {
    use DType::{BF16, F8E4M3, F16, F32, F64, I16, I32, I64, U8, U32};
    let dtypes = [U8, U32, I16, I32, I64, BF16, F16, F32, F64, F8E4M3];
    let tensors = dtypes.map(|dtype| range(7).to_dtype(dtype).unwrap());
    let named: Vec<_> = dtypes.iter().map(|dtype| dtype.as_str()).zip(&tensors).collect();
    let arena = arena(place, &named);
    for (name, written) in named {
        let read = arena.tensor(name).unwrap();
        assert_eq!(read.dtype(), written.dtype());
        let [read, written] = [&read, written].map(|tensor| tensor.to_dtype(F32).unwrap());
        assert_eq!(elements::<f32>(&read), elements::<f32>(&written), "{name}");
    }
}

fn tensors_without_elements_are_tensors(place: Place) {
    let empty = Tensor::zeros((3, 0), DType::F32, &Device::Cpu).unwrap();
    let scalar = Tensor::new(5f32, &Device::Cpu).unwrap();
    let arena = arena(place, &[("a", &empty), ("b", &scalar), ("c", &empty)]);
    for (name, dims) in [("a", &[3, 0][..]), ("b", &[]), ("c", &[3, 0])] {
        let shared: SharedTensor = decode(&encode(&arena.shared(name).unwrap()));
        assert_eq!(shared.tensor().unwrap().dims(), dims);
    }
    assert_eq!(elements::<f32>(&arena.tensor("b").unwrap()), [5.0]);
}

fn an_arena_without_tensors_is_an_arena(place: Place) {
    let arena = arena(place, &[]);
    assert_eq!((arena.n_tensors(), arena.names().len()), (0, 0));
    assert_eq!(arena.tensor("x").unwrap_err().to_string(), "the arena has no tensor x, it has 0: ");
}

fn views_are_written_in_the_order_of_their_shape(place: Place) {
    let whole = range(12).reshape((3, 4)).unwrap();
    let views = [
        whole.t().unwrap(),
        whole.narrow(0, 1, 2).unwrap(),
        whole.narrow(1, 1, 2).unwrap(),
        range(3).unsqueeze(1).unwrap().broadcast_as((3, 2)).unwrap(),
    ];
    for view in views {
        let arena = arena(place, &[("view", &view)]);
        let read = arena.tensor("view").unwrap();
        assert_eq!((read.dims(), elements::<f32>(&read)), (view.dims(), elements::<f32>(&view)));
    }
}

fn tensors_are_aligned_to_64_bytes(place: Place) {
    let tensors: Vec<_> = (1..20).map(|n| (n.to_string(), range(n))).collect();
    let named: Vec<_> = tensors.iter().map(|(name, tensor)| (&**name, tensor)).collect();
    let arena = arena(place, &named);
    if arena.zero_copy() == tensor_share::ZeroCopy::Shared {
        for name in arena.names() {
            assert_eq!(address(&arena.tensor(name).unwrap()) % 64, 0, "{name}");
        }
    }
}

fn a_handle_has_a_few_dozen_bytes(place: Place) {
    let small = arena(place, &[("x", &range(1))]);
    let many: Vec<_> = (0..1000).map(|n| n.to_string()).collect();
    let tensor = Tensor::zeros((100, 100), DType::F32, &Device::Cpu).unwrap();
    let large = arena(place, &many.iter().map(|name| (&**name, &tensor)).collect::<Vec<_>>());
    let sizes =
        [small.shared("x"), large.shared("999")].map(|shared| encode(&shared.unwrap()).len());
    assert!(sizes.iter().all(|&size| size <= 32), "{sizes:?}");
    assert!(encode(&large).len() <= 20, "{}", encode(&large).len());
}

fn a_handle_gives_the_tensor_that_was_meant(place: Place) {
    let (x, y) = (range(4), range(8));
    let arena = arena(place, &[("x", &x), ("y", &y)]);
    let shared = arena.shared("y").unwrap();
    let received: SharedTensor = decode(&encode(&shared));
    assert_eq!(received, shared);
    assert_eq!(
        (received.dims(), received.dtype(), received.arena_id()),
        (&[8][..], DType::F32, arena.id())
    );
    assert_eq!(elements::<f32>(&received.tensor().unwrap()), elements::<f32>(&y));
    let whole: Arena = decode(&encode(&arena));
    assert_eq!((whole.id(), whole.n_tensors()), (arena.id(), 2));
    assert_eq!(received.arena().unwrap().id(), arena.id());
}

fn an_arena_is_opened_once(place: Place) {
    let arena = arena(place, &[("x", &range(4))]);
    let bytes = encode(&arena.shared("x").unwrap());
    let first = address(&decode::<SharedTensor>(&bytes).tensor().unwrap());
    for _ in 0..10 {
        let again: SharedTensor = decode(&bytes);
        assert_eq!(address(&again.tensor().unwrap()), first);
        assert_eq!(address(&again.clone().tensor().unwrap()), first);
    }
}

fn a_tensor_outlives_arena_and_handles(place: Place) {
    let arena = arena(place, &[("x", &range(1000))]);
    let tensor = arena.tensor("x").unwrap().narrow(0, 500, 2).unwrap();
    drop(arena);
    assert_eq!(elements::<f32>(&tensor), [500.0, 501.0]);
}

fn a_closed_arena_is_unknown(place: Place) {
    let arena = arena(place, &[("x", &range(4))]);
    let message = (arena.shared("x").unwrap(), arena.id());
    let bytes = encode(&message);
    drop((arena, message));
    let (shared, id): (SharedTensor, ArenaId) = decode(&bytes);
    let error = shared.tensor().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownArena);
    assert!(error.to_string().contains(&id.to_string()), "{error}");
}

fn a_dropped_writer_leaves_nothing(place: Place) {
    let mut builder = builder(place);
    builder.add("x", DType::F32, 1000).unwrap();
    let mut writer = builder.create().unwrap();
    writer.slice_mut::<f32>("x").unwrap().fill(1.0);
    let text = format!("{writer:?}");
    let id = text.split("ArenaId(").nth(1).unwrap()[..32].parse().unwrap();
    drop(writer);
    assert_eq!(names_of(id), [""; 0]);
}

fn nothing_is_left_in_dev_shm(place: Place) {
    let arena = arena(place, &[("x", &range(4))]);
    let id = arena.id();
    let n_names = if place == Place::FileSystem { 2 } else { 0 };
    assert_eq!(names_of(id).len(), n_names);
    let tensor = arena.tensor("x").unwrap();
    drop(arena);
    assert_eq!(names_of(id), [""; 0], "also while a tensor lives");
    assert_eq!(elements::<f32>(&tensor), [0.0, 1.0, 2.0, 3.0]);
}

fn mistakes_of_writers_name_both_values(place: Place) {
    let mut builder = builder(place);
    builder.add("w", DType::F32, (64, 32)).unwrap();
    let twice = builder.add("w", DType::F32, 1).unwrap_err();
    assert_eq!(twice.to_string(), "the name w is used twice in one arena");
    let mut writer = builder.create().unwrap();
    let other = Tensor::zeros((32, 64), DType::F32, &Device::Cpu).unwrap();
    let half = Tensor::zeros((64, 32), DType::F16, &Device::Cpu).unwrap();
    let texts = [writer.write("w", &other), writer.write("w", &half), writer.write("v", &half)]
        .map(|result| result.unwrap_err().to_string());
    assert_eq!(
        texts,
        [
            "shape mismatch in write of w, arena [64, 32], tensor [32, 64]",
            "dtype mismatch in write of w, arena f32, tensor f16",
            "the arena has no tensor v, it has 1: w",
        ]
    );
    let error = writer.slice_mut::<f64>("w").unwrap_err();
    assert_eq!(error.to_string(), "dtype mismatch in slice_mut of w, arena f32, slice f64");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
}

fn a_tensor_that_was_forgotten_is_an_error(place: Place) {
    let mut builder = builder(place);
    builder.add("w", DType::F32, 2).unwrap();
    builder.add("b", DType::F32, 2).unwrap();
    let mut writer = builder.create().unwrap();
    writer.slice_mut::<f32>("w").unwrap().fill(1.0);
    let error = writer.seal().unwrap_err();
    assert_eq!(error.to_string(), "1 of 2 tensors were not written before the arena was sealed: b");
}

fn what_a_message_speaks_of_is_collected_once(place: Place) {
    let (one, other) =
        (arena(place, &[("x", &range(2)), ("y", &range(3))]), arena(place, &[("x", &range(2))]));
    let tensors: Vec<_> = ["x", "y", "x"].map(|name| one.shared(name).unwrap()).into();
    let (bytes, found) = collect(|| encode(&(&tensors, &other)));
    let mut expected = [one.id(), other.id()];
    expected.sort_unstable();
    assert_eq!(found.iter().map(|attachment| attachment.arena_id()).collect::<Vec<_>>(), expected);
    for attachment in &found {
        assert_eq!(attachment.descriptor().is_some(), place == Place::FileDescriptor);
    }
    let ((), nothing) = collect(|| ());
    assert!(nothing.is_empty());

    // What was found keeps the arenas open until the message has arrived.
    drop((one, other, tensors));
    let (tensors, arena): (Vec<SharedTensor>, Arena) = decode(&bytes);
    assert_eq!(elements::<f32>(&tensors[1].tensor().unwrap()), [0.0, 1.0, 2.0]);
    assert_eq!(arena.n_tensors(), 1);
}

fn a_sealed_arena_is_not_mutable_and_the_other_way_round(place: Place) {
    let sealed = arena(place, &[("x", &range(4))]);
    let mutable = mutable(place, &[("x", &range(4))]);
    let is_mutable = |encode: &dyn Fn() -> Vec<u8>| collect(encode).1[0].is_mutable();
    assert!(!is_mutable(&|| encode(&sealed)));
    assert!(is_mutable(&|| encode(&mutable)));
    assert!(is_mutable(&|| encode(&mutable.var("x").unwrap())));
    let error = try_decode::<MutableArena>(&encode(&sealed)).unwrap_err();
    assert!(error.contains("is sealed, the handle wants mutable"), "{error}");
    let error = try_decode::<Arena>(&encode(&mutable)).unwrap_err();
    assert!(error.contains("is mutable, the handle wants sealed"), "{error}");
    let shared: SharedTensor = decode(&encode(&mutable.var("x").unwrap()));
    assert_eq!(shared.tensor().unwrap_err().kind(), ErrorKind::Format);
}

fn variables_are_set_and_added_to(place: Place) {
    let halves = range(5).to_dtype(DType::F16).unwrap();
    let brains = range(3).to_dtype(DType::BF16).unwrap();
    let arena = mutable(place, &[("x", &range(5)), ("h", &halves), ("b", &brains)]);
    let var: SharedVar = decode(&encode(&arena.var("x").unwrap()));
    var.add(&range(5)).unwrap();
    assert_eq!(
        elements::<f32>(&arena.var("x").unwrap().tensor().unwrap()),
        [0.0, 2.0, 4.0, 6.0, 8.0]
    );
    var.set(&range(5).affine(-1.0, 0.0).unwrap()).unwrap();
    assert_eq!(elements::<f32>(&var.tensor().unwrap()), [0.0, -1.0, -2.0, -3.0, -4.0]);

    arena.var("h").unwrap().add(&halves).unwrap();
    arena.var("b").unwrap().add(&brains).unwrap();
    let doubled = [0.0, 2.0, 4.0, 6.0, 8.0];
    assert_eq!(
        elements::<f16>(&arena.var("h").unwrap().tensor().unwrap()),
        doubled.map(f16::from_f32)
    );
    assert_eq!(
        elements::<bf16>(&arena.var("b").unwrap().tensor().unwrap()),
        [0.0, 2.0, 4.0].map(bf16::from_f32)
    );
    let error = var.set(&range(4)).unwrap_err();
    assert_eq!(error.to_string(), "shape mismatch in set of x, arena [5], tensor [4]");
}

fn versions_count_steps(place: Place) {
    let arena = mutable(place, &[("x", &range(5)), ("y", &range(2))]);
    assert_eq!(arena.version().unwrap(), 0);
    arena.var("x").unwrap().set(&range(5)).unwrap();
    assert_eq!(arena.version().unwrap(), 1);
    let step = arena.step().unwrap();
    assert_eq!(arena.version().unwrap(), 1);
    drop(step);
    assert_eq!(arena.version().unwrap(), 2);
}

fn snapshots_are_whole(place: Place) {
    let zeros = Tensor::zeros(4000, DType::F32, &Device::Cpu).unwrap();
    let ones = zeros.ones_like().unwrap();
    let arena = mutable(place, &[("x", &zeros), ("y", &zeros)]);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let step = arena.step().unwrap();
                        step.add(&arena.var("x").unwrap(), &ones).unwrap();
                        step.add(&arena.var("y").unwrap(), &ones).unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            let Snapshot { tensors, .. } = arena.snapshot().unwrap();
            let [x, y] = ["x", "y"].map(|name| elements::<f32>(&tensors[name]));
            assert!(x.iter().chain(&y).all(|value| value.to_bits() == x[0].to_bits()), "torn");
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let last = arena.snapshot().unwrap();
    assert_eq!(
        elements::<f32>(&last.tensors["x"])[3999].to_bits(),
        100f32.to_bits(),
        "nothing was lost"
    );
    assert_eq!(last.version, 100);
}

fn changes_of_a_copy_do_not_reach_a_mutable_arena(place: Place) {
    let arena = mutable(place, &[("x", &range(5))]);
    let copy = arena.var("x").unwrap().tensor().unwrap();
    copy.zero_set().unwrap();
    assert_eq!(
        elements::<f32>(&arena.var("x").unwrap().tensor().unwrap())[4].to_bits(),
        4f32.to_bits()
    );
}

#[test]
fn public_types_go_to_other_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Arena>();
    check::<SharedTensor>();
    check::<MutableArena>();
    check::<SharedVar>();
    check::<tensor_share::ArenaWriter>();
    check::<tensor_share::Attachment>();
    check::<tensor_share::Error>();
}

#[test]
fn strategies_have_the_names_that_people_know() {
    use tensor_share::{SharingStrategy, all_sharing_strategies};
    let names: Vec<_> = all_sharing_strategies().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["file_descriptor", "file_system"]);
    for (name, &strategy) in names.iter().zip(all_sharing_strategies()) {
        assert_eq!(name.parse::<SharingStrategy>().unwrap(), strategy);
        assert_eq!(serde_json::to_string(&strategy).unwrap(), format!("{name:?}"));
    }
    let error = "filesystem".parse::<SharingStrategy>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown sharing strategy \"filesystem\", expected one of file_descriptor, file_system"
    );
}

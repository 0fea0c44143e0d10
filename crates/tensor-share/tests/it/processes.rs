//! Several processes: reading, writing, dying.

use candle_core::{DType, Device, Tensor};
use serde::Serialize;
use tensor_share::{
    ArenaId, ErrorKind, MutableArena, SharedTensor, SharingStrategy, report, sweep,
};

use crate::child::{from_hex, start, start_after};
use crate::soundness::skipped;
use crate::util::{Place, arena, decode, elements, encode, mutable, names_of, range};

const BOTH: [Place; 2] = [Place::FileDescriptor, Place::FileSystem];

#[test]
fn another_process_reads_a_tensor() {
    for place in BOTH {
        let arena =
            arena(place, &[("w", &range(7)), ("x", &range(1000).affine(1.0, 1.0).unwrap())]);
        let mut reader = start("read", &arena.shared("x").unwrap());
        assert_eq!(reader.line(), "[1.0, 2.0, 3.0]");
        reader.finish();
        // It ended, and the arena of this process is still whole.
        assert_eq!(elements::<f32>(&arena.tensor("x").unwrap())[999].to_bits(), 1000f32.to_bits());
        let again: SharedTensor = decode(&encode(&arena.shared("w").unwrap()));
        assert_eq!(elements::<f32>(&again.tensor().unwrap()).len(), 7);
    }
}

#[test]
fn in_place_operations_stay_in_their_process() {
    for place in BOTH {
        let arena = arena(place, &[("x", &range(5000).affine(1.0, 1.0).unwrap())]);
        let here = arena.tensor("x").unwrap();
        let mut writer = start("write in place", &arena.shared("x").unwrap());
        assert_eq!(writer.line(), "0", "reading copies nothing");
        assert_eq!(writer.line(), "[0.0, 0.0, 1.0]", "it sees what it wrote");
        assert_eq!(writer.line(), "true", "and knows in which arena");
        assert_eq!(writer.line(), "20480", "and how much of it: the five pages of 20,000 bytes");
        writer.finish();
        assert_eq!(elements::<f32>(&here)[..3], [1.0, 2.0, 3.0]);
        assert_eq!(arena.copied_bytes().unwrap(), 0);
        let mut reader = start("read", &arena.shared("x").unwrap());
        assert_eq!(reader.line(), "[1.0, 2.0, 3.0]");
    }
}

#[test]
fn the_data_is_there_when_the_sender_has_gone() {
    let arena = arena(Place::FileDescriptor, &[("x", &range(10))]);
    let shared = arena.shared("x").unwrap();
    // The descriptor is on its way in the new process when everything here is closed.
    let mut reader = start("read and stay", &shared);
    drop((arena, shared));
    assert_eq!(reader.line(), "[0.0, 1.0, 2.0]");
    reader.kill();

    // A named arena is there as long as somebody holds it, and a message may.
    let arena = self::arena(Place::FileSystem, &[("x", &range(10))]);
    let (shared, id) = (arena.shared("x").unwrap(), arena.id());
    drop(arena);
    let mut reader = start("read and stay", &shared);
    assert_eq!(reader.line(), "[0.0, 1.0, 2.0]");
    drop(shared);
    assert_eq!(names_of(id).len(), 2, "the reader holds it now");
    let again = arena_by(id);
    assert_eq!(elements::<f32>(&again).len(), 10);
}

/// Opens a named arena that this process did not make.
fn arena_by(id: ArenaId) -> Tensor {
    #[derive(Serialize)]
    struct Handle(((u8, u8, [u8; 16]), u8, u64, Vec<u64>));
    // As the handle of a tensor of 10 f32 at the first place.
    let bytes = encode(&Handle(((1, 1, id.key().to_be_bytes()), 6, 192, vec![10])));
    decode::<SharedTensor>(&bytes).tensor().unwrap()
}

#[test]
fn a_killed_reader_leaves_the_arena_to_others_and_its_hold_to_a_sweep() {
    let arena = arena(Place::FileSystem, &[("x", &range(10))]);
    let mut reader = start("read and stay", &arena.shared("x").unwrap());
    reader.line();
    assert_eq!(names_of(arena.id()).len(), 3);
    reader.kill();
    sweep().unwrap();
    assert_eq!(names_of(arena.id()).len(), 2);
    let mut other = start("read", &arena.shared("x").unwrap());
    assert_eq!(other.line(), "[0.0, 1.0, 2.0]");
}

#[test]
fn what_killed_makers_leave_is_swept() {
    let mut maker = start("make and stay", &SharingStrategy::FileSystem);
    let shared: SharedTensor = decode(&from_hex(&maker.line()));
    let id = shared.arena_id();
    sweep().unwrap();
    assert_eq!(names_of(id).len(), 2, "it lives");
    maker.kill();
    sweep().unwrap();
    assert_eq!(names_of(id), [""; 0]);
    let error = shared.tensor().unwrap_err().to_string();
    assert!(error.contains("does not exist, because its last holder has ended"), "{error}");

    let mut writer = start("write and stay", &());
    let id: ArenaId = writer.line().parse().unwrap();
    sweep().unwrap();
    assert_eq!(names_of(id).len(), 1, "it is being written");
    writer.kill();
    sweep().unwrap();
    assert_eq!(names_of(id), [""; 0]);
}

#[test]
fn an_arena_lives_while_a_reader_does_though_its_maker_was_killed() {
    let mut maker = start("make and stay", &SharingStrategy::FileSystem);
    let shared: SharedTensor = decode(&from_hex(&maker.line()));
    let mut reader = start("read and stay", &shared);
    assert_eq!(reader.line(), "[7.0, 7.0, 7.0]");
    maker.kill();
    sweep().unwrap();
    let mut other = start("read", &shared);
    assert_eq!(other.line(), "[7.0, 7.0, 7.0]");
    other.finish();
    reader.kill();
    let id = shared.arena_id();
    // This process opened it to send it on.
    drop(shared);
    sweep().unwrap();
    assert_eq!(names_of(id), [""; 0]);
}

#[test]
fn the_next_start_sweeps() {
    let mut maker = start("make and stay", &SharingStrategy::FileSystem);
    let shared: SharedTensor = decode(&from_hex(&maker.line()));
    maker.kill();
    let mut next = start("make and stay", &SharingStrategy::FileSystem);
    next.line();
    assert_eq!(names_of(shared.arena_id()), [""; 0]);
}

/// What a shell does to be another user.
fn as_another_user() -> Option<&'static str> {
    let shell = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\";";
    let tried = std::process::Command::new("sh")
        .args(["-c", shell])
        .arg(std::env::current_exe().unwrap())
        .arg("--list")
        .stdout(std::process::Stdio::null())
        .status();
    if tried.is_ok_and(|status| status.success()) {
        return Some(shell);
    }
    skipped("only root can start a program as another user, who must be able to read it");
    None
}

#[test]
fn what_another_user_shares_is_refused_here_and_left_to_that_user() {
    let Some(shell) = as_another_user() else { return };
    let mut maker = start_after(shell, "make and stay", &SharingStrategy::FileSystem);
    let shared: SharedTensor = decode(&from_hex(&maker.line()));
    let id = shared.arena_id();
    let error = shared.tensor().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Untrusted);
    assert!(error.to_string().contains("belongs to user 65534"), "{error}");
    assert!(report().unwrap().iter().all(|arena| arena.id != id));
    maker.kill();
    sweep().unwrap();
    assert_eq!(names_of(id).len(), 2, "these are not ours to remove");
    let mut sweeper = start_after(shell, "sweep", &());
    assert_eq!(sweeper.line(), "1", "the process that was killed");
    assert_eq!(names_of(id), [""; 0]);
}

#[test]
fn a_panic_leaves_nothing() {
    let arena = arena(Place::FileSystem, &[("x", &range(10))]);
    let mut worker = start("panic", &arena.shared("x").unwrap());
    assert_eq!(worker.line(), "true");
    worker.finish();
    assert_eq!(names_of(arena.id()).len(), 2);
    let id = worker_lease_count();
    assert_eq!(id, 0, "leases of ended processes");
}

/// How many leases say that they belong to a process that is not there.
fn worker_lease_count() -> usize {
    let dead = |holder: &tensor_share::Holder| !holder.is_alive;
    let arenas = report().unwrap();
    let ours: Vec<_> = arenas.iter().filter(|arena| arena.here.is_some()).collect();
    ours.iter().filter(|arena| arena.holders.iter().any(dead)).count()
}

#[test]
fn an_object_removed_from_outside_is_no_trouble() {
    let arena = arena(Place::FileSystem, &[("x", &range(10))]);
    for name in names_of(arena.id()) {
        std::fs::remove_file(format!("/dev/shm/{name}")).unwrap();
    }
    let tensor = arena.tensor("x").unwrap();
    assert_eq!(elements::<f32>(&tensor).len(), 10);
    drop(arena);
    sweep().unwrap();
}

#[test]
fn a_report_names_sizes_and_holders() {
    for place in BOTH {
        let arena = arena(place, &[("x", &range(10)), ("y", &range(2000))]);
        let mut reader = start("read and stay", &arena.shared("x").unwrap());
        reader.line();
        let report = report().unwrap();
        let found = report.iter().find(|found| found.id == arena.id()).unwrap();
        assert_eq!(found.bytes, 12288);
        assert_eq!(found.strategy, arena.strategy());
        assert_eq!(found.here.unwrap().n_tensors, 2);
        let mut processes: Vec<_> = found.holders.iter().map(|holder| holder.process).collect();
        processes.sort_unstable();
        let mut expected = vec![std::process::id()];
        // The kernel knows who else has an anonymous file, and tells nobody.
        if place == Place::FileSystem {
            expected.push(reader.id());
        }
        expected.sort_unstable();
        assert_eq!(processes, expected);
        assert!(found.holders.iter().all(|holder| holder.is_alive && !holder.program.is_empty()));
    }
}

/// An arena of three zeros that all may change.
fn zeros(place: Place) -> MutableArena {
    mutable(place, &[("x", &Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap())])
}

#[test]
fn all_processes_train_a_mutable_arena() {
    for place in BOTH {
        let arena = zeros(place);
        let mut workers = [(); 3].map(|()| start("train", &arena));
        for worker in &mut workers {
            assert_eq!(worker.line(), "trained");
        }
        let last = arena.snapshot().unwrap();
        assert_eq!(elements::<f32>(&last.tensors["x"]), [300.0; 3], "no addition was lost");
        assert_eq!(last.version, 300);
    }
}

#[test]
fn a_writer_killed_in_a_step_stops_no_snapshot() {
    for place in BOTH {
        let arena = zeros(place);
        let mut worker = start("step and stay", &arena);
        assert_eq!(worker.line(), "in a step");
        worker.kill();
        assert_eq!(arena.snapshot().unwrap().version, 0, "its step did not end");
        arena.var("x").unwrap().add(&Tensor::ones(3, DType::F32, &Device::Cpu).unwrap()).unwrap();
        assert_eq!(arena.version().unwrap(), 1);
    }
}

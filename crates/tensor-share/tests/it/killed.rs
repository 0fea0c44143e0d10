//! Processes that are killed while they make, open, change and drop arenas.

use candle_core::{DType, Device, Tensor};
use serde::Serialize;
use tensor_share::sweep;

use crate::child::{say, start, start_after};
use crate::faults::own_shm;
use crate::util::{Place, arena, elements, mutable, range};

#[test]
fn killed_at_any_moment_they_leave_nothing_that_a_sweep_does_not_remove() {
    // A /dev/shm of its own, in which everything that is left is theirs.
    let Some(shell) = own_shm("64m") else { return };
    let mut killer = start_after(&shell, "kill others at any moment", &());
    for what in ["makers", "readers", "writers"] {
        assert_eq!(killer.line(), what);
    }
    killer.finish();
}

/// What the test does in a /dev/shm of its own.
pub(crate) fn kill_others_at_any_moment() {
    for round in 0..40 {
        kill_in_the_middle("make and drop for ever", &(), round % 7);
        sweep().unwrap();
        assert_eq!(names(), [""; 0], "round {round}");
    }
    say("makers");

    let held = arena(Place::FileSystem, &[("x", &range(9))]);
    let shared = held.shared("x").unwrap();
    let before = names();
    for round in 0..20 {
        kill_in_the_middle("open and drop for ever", &shared, round % 7);
        sweep().unwrap();
        assert_eq!(names(), before, "round {round}");
        assert_eq!(elements::<f32>(&held.tensor("x").unwrap()).len(), 9);
    }
    drop((held, shared));
    assert_eq!(names(), [""; 0]);
    say("readers");

    for place in [Place::FileDescriptor, Place::FileSystem] {
        let arena = mutable(place, &[("x", &Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap())]);
        let mut least = 0;
        for round in 0..20 {
            least += 1 + round % 7;
            kill_in_the_middle("train and look for ever", &arena, round % 7);
            // Neither waits for the one that was killed.
            assert!(arena.snapshot().unwrap().version >= least);
            arena.var("x").unwrap().set(&range(3)).unwrap();
        }
    }
    sweep().unwrap();
    assert_eq!(names(), [""; 0]);
    say("writers");
}

/// Starts a process that does something for ever, and kills it somewhere after it has done so.
fn kill_in_the_middle(scenario: &str, value: &impl Serialize, n_times: u64) {
    let mut process = start(scenario, value);
    for _ in 0..=n_times {
        process.line();
    }
    process.kill();
}

fn names() -> Vec<String> {
    let names = std::fs::read_dir("/dev/shm").unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

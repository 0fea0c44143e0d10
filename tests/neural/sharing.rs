//! What workers are told, and what they must not do to the tensors of others.

use std::path::PathBuf;

use pams_runner::{ProcessExecutor, RunnerBuilder, SequentialRunner};
use pams_tests::neural::{COUNTS, Marking};
use pams_torch::{SharingStrategy, TorchAgentParallelRunner};

use crate::{HELPER, config, count, outcome};

fn torch<I: pams_runner::WorkerInitializer>(
    arguments: I::Arguments,
) -> TorchAgentParallelRunner<I> {
    let mut runner = TorchAgentParallelRunner::<I>::with_initializer(arguments);
    runner.executable = Some(HELPER.into());
    runner
}

#[test]
fn workers_know_strategy_and_threads_and_ran_both_initializers() {
    let says = |runner: TorchAgentParallelRunner<Marking>, what: &str| {
        let text = outcome(runner.builder().num_parallel(count(2)), &config("Informer", ""));
        assert!(text.contains("Others-"), "it names the agent: {text}");
        assert!(text.ends_with(what), "expected {what}, found {text}");
    };
    let runner = || torch::<Marking>(PathBuf::from("here"));

    let mut three = runner();
    three.torch_num_threads = Some(count(3));
    says(three, ": file_system, 3 threads, Some(\"here\")");

    let mut other = runner();
    other.torch_num_threads = Some(count(1));
    other.torch_sharing_strategy = Some(SharingStrategy::FileDescriptor);
    says(other, ": file_descriptor, 1 threads, Some(\"here\")");
}

#[test]
fn the_config_says_how_many_threads() {
    let config = config("Informer", "")
        .replace(r#""simulation": {"#, r#""simulation": {"torchNumThreads": 5, "#);
    let text = outcome(torch::<()>(()).builder().num_parallel(count(2)), &config);
    assert!(text.contains("5 threads, None"), "{text}");
}

#[test]
fn a_change_in_place_is_an_error_that_names_the_arena() {
    let config = config("Scribbler", "");
    let found = [
        outcome(torch::<()>(()).builder().num_parallel(count(2)), &config),
        outcome(
            RunnerBuilder::default().executor(ProcessExecutor::new().executable(HELPER)),
            &config,
        ),
    ];
    for text in found {
        assert!(text.starts_with("error: the workers failed: worker "), "{text}");
        for part in ["changed tensors in `submit_orders`", "bytes of arena", "mutable_arenas"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn changes_of_a_mutable_arena_are_seen_by_all_when_they_are_allowed() {
    let config = config("Counter", "").replace("\"numAgents\": 2", "\"numAgents\": 1");
    let refused = outcome(torch::<()>(()).builder().num_parallel(count(2)), &config);
    assert!(refused.contains("memory that every process may change"), "{refused}");

    let mut runner = torch::<()>(());
    runner.mutable_arenas = true;
    let report = outcome(runner.builder().num_parallel(count(2)), &config);
    assert!(report.contains("records_hash: Some"), "{report}");
    let turns = counted();
    let sequential = outcome(SequentialRunner::builder(), &config);
    assert_eq!((report, turns), (sequential, counted()));
}

/// How many turns all counters together had in the last run.
fn counted() -> f32 {
    let arena = COUNTS.lock().take().expect("a counter was made");
    let turns = arena.var("turns").and_then(|var| var.tensor()).expect("it is open");
    let turns = turns.to_vec1::<f32>().expect("one number")[0];
    assert!(turns > 0.0, "somebody had a turn");
    turns
}

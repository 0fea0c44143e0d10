//! Every runner gives the records of the sequential one.

use std::num::NonZeroUsize;

use pams_core::random::GeneratorKind;
use pams_runner::{
    MultiThreadAgentParallelRunner, ProcessExecutor, Runner, RunnerBuilder, SequentialRunner,
};
use pams_tests::tcp::TcpExecutor;
use pams_tests::{Reference, references};

/// The executable that workers run: the test harness owns this one's `main`.
const HELPER: &str = env!("CARGO_BIN_EXE_pams-with-test-classes");

/// The outcome of a run, so that errors are compared too.
fn outcome(builder: RunnerBuilder<'_>, reference: &Reference, kind: GeneratorKind) -> String {
    let outcome = builder
        .registry(pams_tests::registry())
        .config_text(reference.config.as_bytes())
        .seed(reference.seed)
        .generator(kind)
        .build()
        .and_then(Runner::run);
    match outcome {
        Ok(report) => format!("{report:?}"),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn threads_give_the_records_of_one_thread_however_many_there_are() {
    let runs = references("random.jsonl.gz").expect("the data is readable").step_by(4);
    for reference in runs.map(|reference| reference.expect("the data is readable")) {
        for kind in [GeneratorKind::Mt19937, GeneratorKind::Xoshiro256PlusPlus] {
            let expected = outcome(SequentialRunner::builder(), &reference, kind);
            for workers in [1, 2, 3, 100] {
                let workers = NonZeroUsize::new(workers).expect("workers");
                let builder = MultiThreadAgentParallelRunner::builder().num_parallel(workers);
                let found = outcome(builder, &reference, kind);
                assert_eq!(found, expected, "{} with {workers} workers", reference.name);
            }
        }
    }
}

#[test]
fn processes_give_the_records_of_one_thread_however_many_there_are() {
    pams_runner::init(&pams_tests::registry());
    let runs = references("random.jsonl.gz").expect("the data is readable").step_by(20);
    for reference in runs.map(|reference| reference.expect("the data is readable")) {
        for kind in [GeneratorKind::Mt19937, GeneratorKind::Xoshiro256PlusPlus] {
            let expected = outcome(SequentialRunner::builder(), &reference, kind);
            for workers in [1, 2, 3, 8] {
                let workers = NonZeroUsize::new(workers).expect("workers");
                let executor = ProcessExecutor::new().executable(HELPER);
                let builder = RunnerBuilder::default().executor(executor).num_parallel(workers);
                let found = outcome(builder, &reference, kind);
                assert_eq!(found, expected, "{} with {workers} workers", reference.name);
            }
        }
    }
}

#[test]
fn an_executor_from_outside_gives_the_records_of_one_thread() {
    let runs = references("random.jsonl.gz").expect("the data is readable").step_by(30);
    for reference in runs.map(|reference| reference.expect("the data is readable")) {
        let kind = GeneratorKind::default();
        let expected = outcome(SequentialRunner::builder(), &reference, kind);
        for workers in [1, 3] {
            let workers = NonZeroUsize::new(workers).expect("workers");
            let builder =
                RunnerBuilder::default().executor(TcpExecutor::new(HELPER)).num_parallel(workers);
            assert_eq!(outcome(builder, &reference, kind), expected, "{}", reference.name);
        }
    }
}

#[test]
fn the_splitting_does_not_matter() {
    for reference in references("random.jsonl.gz").expect("the data is readable").take(40) {
        let reference = reference.expect("the data is readable");
        let expected = outcome(SequentialRunner::builder(), &reference, GeneratorKind::default());
        let one_by_one = MultiThreadAgentParallelRunner::builder()
            .num_parallel(NonZeroUsize::new(2).expect("two"))
            .splitting(|n_agents, _| vec![1; n_agents]);
        assert_eq!(outcome(one_by_one, &reference, GeneratorKind::default()), expected);
    }
}

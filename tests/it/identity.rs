//! Every runner gives the records of the sequential one.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;

use pams_core::random::GeneratorKind;
use pams_runner::{
    Choice, MultiThreadAgentParallelRunner, ProcessExecutor, Runner, RunnerBuilder,
    SequentialRunner, ThreadExecutor,
};
use pams_tests::tcp::TcpExecutor;
use pams_tests::{Reference, references};
use serde_json::{Value as Json, json};

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

/// A market of agents that end their process where there is a fuse.
fn fragile(fuses: &Path) -> Json {
    json!({
        "simulation": {"markets": ["Market"], "agents": ["Agents"], "sessions": [
            {"sessionName": 0, "iterationSteps": 60, "withOrderPlacement": true,
             "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 4}]},
        "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
        "Agents": {"class": "FragileAgent", "numAgents": 10, "markets": ["Market"],
                   "cashAmount": 10000, "assetVolume": 50, "fuses": fuses},
    })
}

#[test]
fn workers_that_die_in_the_middle_of_a_step_change_nothing() {
    pams_runner::init(&pams_tests::registry());
    let fuses = tempfile::tempdir().expect("a temporary directory");
    let config = fragile(fuses.path());
    let build = |builder: RunnerBuilder<'static>| {
        builder.registry(pams_tests::registry()).config_value(config.clone()).build()
    };
    let expected = build(SequentialRunner::builder()).and_then(Runner::run).expect("it runs");
    // Every third step one agent in four takes its worker with it.
    let fuses_laid: Vec<(usize, usize)> =
        (0..60).step_by(3).flat_map(|step| (0..10).map(move |agent| (agent, step))).collect();
    for (agent, step) in fuses_laid.iter().filter(|(agent, step)| (agent + step) % 4 == 0) {
        File::create(fuses.path().join(format!("{agent}-{step}"))).expect("a fuse");
    }
    let laid = fuses.path().read_dir().expect("a directory").count();
    let executor = ProcessExecutor::new().executable(HELPER);
    let workers = NonZeroUsize::new(2).expect("two");
    let builder = RunnerBuilder::default().executor(executor).num_parallel(workers);
    let found = build(builder).and_then(Runner::run).expect("deaths are survived");
    let burnt = laid - fuses.path().read_dir().expect("a directory").count();
    assert!(burnt >= 5, "only {burnt} of {laid} fuses were met");
    assert_eq!(found, expected);
}

#[test]
fn a_choice_at_the_beginning_gives_the_records_of_one_thread() {
    pams_runner::init(&pams_tests::registry());
    type Choose = fn() -> Choice;
    let choices: [Choose; 3] = [
        || Choice::Sequential,
        || Choice::Prepared,
        || Choice::Executor(Box::new(ThreadExecutor::default())),
    ];
    let kind = GeneratorKind::default();
    let runs = references("random.jsonl.gz").expect("the data is readable").step_by(30);
    for reference in runs.map(|reference| reference.expect("the data is readable")) {
        let expected = outcome(SequentialRunner::builder(), &reference, kind);
        for choose in choices {
            let executor = ProcessExecutor::new().executable(HELPER);
            let builder = RunnerBuilder::default().executor(executor).choose(move |rehearsal| {
                for &agent in rehearsal.agents() {
                    rehearsal.ask(agent);
                    assert!(!rehearsal.shares_memory(agent));
                }
                choose()
            });
            let workers = NonZeroUsize::new(2).expect("two");
            let found = outcome(builder.num_parallel(workers), &reference, kind);
            assert_eq!(found, expected, "{}, {:?}", reference.name, choose());
        }
    }
}

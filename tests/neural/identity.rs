//! Every runner gives the records of the sequential one.

use pams_runner::{
    MultiThreadAgentParallelRunner, ProcessExecutor, RunnerBuilder, SequentialRunner,
};
use pams_tests::neural::Marking;
use pams_torch::{SharingStrategy, StartMethod, TorchAgentParallelRunner, all_sharing_strategies};

use crate::{HELPER, config, count, outcome, outcome_with};

const WORKERS: [usize; 4] = [1, 2, 3, 8];

fn torch() -> TorchAgentParallelRunner {
    let mut runner = TorchAgentParallelRunner::new();
    runner.executable = Some(HELPER.into());
    runner
}

fn config_and_records() -> (String, String) {
    let config = config("Historian", "");
    let expected = outcome(SequentialRunner::builder(), &config);
    assert!(expected.contains("records_hash: Some"), "{expected}");
    (config, expected)
}

#[test]
fn threads_give_the_records_of_one_thread() {
    let (config, expected) = config_and_records();
    for workers in WORKERS {
        let builder = MultiThreadAgentParallelRunner::builder().num_parallel(count(workers));
        assert_eq!(outcome(builder, &config), expected, "{workers} workers");
    }
}

#[test]
fn plain_processes_give_the_records_of_one_thread() {
    let (config, expected) = config_and_records();
    for &strategy in all_sharing_strategies() {
        for workers in WORKERS {
            let executor = ProcessExecutor::new().executable(HELPER);
            let builder = RunnerBuilder::default().executor(executor).num_parallel(count(workers));
            let found = outcome_with(strategy, builder, &config);
            assert_eq!(found, expected, "{strategy}, {workers} workers");
        }
    }
}

#[test]
fn torch_style_workers_give_the_records_of_one_thread() {
    let (config, expected) = config_and_records();
    for &strategy in all_sharing_strategies() {
        for workers in WORKERS {
            for threads in [1, 2] {
                let mut runner = torch();
                runner.torch_sharing_strategy = Some(strategy);
                runner.torch_num_threads = Some(count(threads));
                let builder = runner.builder().num_parallel(count(workers));
                let found = outcome(builder, &config);
                assert_eq!(found, expected, "{strategy}, {workers} workers, {threads} threads");
            }
        }
    }
}

#[test]
fn workers_of_a_fork_server_give_the_records_of_one_thread() {
    let (config, expected) = config_and_records();
    let mut runner = torch();
    runner.default_start_method = StartMethod::ForkServer;
    assert_eq!(outcome(runner.builder().num_parallel(count(2)), &config), expected);
}

#[test]
fn memory_that_callbacks_make_reaches_the_workers() {
    let config = config("Learner", "");
    let expected = outcome(SequentialRunner::builder(), &config);
    assert!(expected.contains("records_hash: Some"), "{expected}");
    for &strategy in all_sharing_strategies() {
        let executor = ProcessExecutor::new().executable(HELPER);
        let builder = RunnerBuilder::default().executor(executor).num_parallel(count(2));
        assert_eq!(outcome_with(strategy, builder, &config), expected, "{strategy}");
    }
}

#[test]
fn large_networks_have_the_same_bits_with_any_number_of_threads() {
    let config = config("Historian", "")
        .replace("[16, 16]", "[1024, 1024]")
        .replace("\"numAgents\": 6", "\"numAgents\": 1")
        .replace("\"iterationSteps\": 40", "\"iterationSteps\": 6");
    let expected = outcome(SequentialRunner::builder(), &config);
    assert!(expected.contains("records_hash: Some"), "{expected}");
    for threads in [1, 2, 4] {
        let mut runner = torch();
        runner.torch_num_threads = Some(count(threads));
        let found = outcome(runner.builder().num_parallel(count(2)), &config);
        assert_eq!(found, expected, "{threads} threads");
    }
}

#[test]
fn a_worker_that_dies_changes_nothing() {
    let config = config("Doomed", "");
    let expected = outcome(SequentialRunner::builder(), &config);
    for &strategy in all_sharing_strategies() {
        let folder = tempfile::tempdir().expect("a folder");
        let died = folder.path().join("died");
        let mut runner = TorchAgentParallelRunner::<Marking>::with_initializer(died.clone());
        runner.executable = Some(HELPER.into());
        runner.torch_sharing_strategy = Some(strategy);
        let builder = runner.builder().num_parallel(count(2));
        assert_eq!(outcome(builder, &config), expected, "{strategy}");
        assert!(died.exists(), "a worker died");
    }
}

#[test]
fn a_wrong_strategy_is_told_the_right_ones() {
    let error = "shm".parse::<SharingStrategy>().expect_err("there is none of that name");
    let text = error.to_string();
    assert!(text.contains("file_system") && text.contains("file_descriptor"), "{text}");
}

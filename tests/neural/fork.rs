//! Neural agents in workers that are forked. Forking needs a process with one thread, and so a
//! `main` of its own.

use std::alloc::System;
use std::num::NonZeroUsize;

use libtest_mimic::{Arguments, Trial};
use pams_runner::{RunReport, RunnerBuilder, SequentialRunner};
use pams_torch::{StartMethod, TorchAgentParallelRunner, all_sharing_strategies};
use tensor_share::ShareAlloc;

#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

const CONFIG: &str = r#"{
    "simulation": {"markets": ["Market"], "agents": ["Networks"], "sessions": [
        {"sessionName": "day", "iterationSteps": 40, "withOrderPlacement": true,
         "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 5}]},
    "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
    "Networks": {"class": "CandleAgent", "numAgents": 12, "markets": ["Market"],
                 "cashAmount": 10000, "assetVolume": 50, "hiddenSizes": [16, 16]}
}"#;

fn run(builder: RunnerBuilder<'_>) -> RunReport {
    let builder = builder.registry(pams_tests::neural::registry());
    let runner = builder.config_text(CONFIG).seed(7).build();
    runner.and_then(pams_runner::Runner::run).unwrap_or_else(|error| panic!("{error}"))
}

fn forked_workers_give_the_records_of_one_thread() {
    let expected = run(SequentialRunner::builder());
    for &strategy in all_sharing_strategies() {
        for workers in 1..=3 {
            let mut runner = TorchAgentParallelRunner::new();
            runner.default_start_method = StartMethod::Fork;
            runner.torch_sharing_strategy = Some(strategy);
            let workers = NonZeroUsize::new(workers).expect("at least one");
            let found = run(runner.builder().num_parallel(workers));
            assert_eq!(found, expected, "{strategy}, {workers} workers");
        }
    }
}

fn main() {
    pams_tests::neural::init();
    process_pool::prepare_fork().expect("this process has one thread");
    let test = Trial::test("forked_workers_give_the_records_of_one_thread", || {
        forked_workers_give_the_records_of_one_thread();
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![test]).exit();
}

//! Neural agents under every runner.

use std::alloc::System;
use std::num::NonZeroUsize;

use pams_runner::{Runner, RunnerBuilder};
use parking_lot::Mutex;
use tensor_share::{ShareAlloc, SharingStrategy};

mod faults;
mod identity;
mod sharing;

#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

/// The executable that workers run: the test harness owns this one's `main`.
const HELPER: &str = env!("CARGO_BIN_EXE_pams-neural-worker");

/// The strategy belongs to the process, so one run is set up and done at a time.
static STRATEGY: Mutex<()> = Mutex::new(());

fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("at least one")
}

/// One market and a group of agents of a class, a few at a time.
fn config(class: &str, keys: &str) -> String {
    let (networks, shared) = ("\"hiddenSizes\": [16, 16]", "\"sharedNetwork\": true");
    format!(
        r#"{{
        "simulation": {{"markets": ["Market"], "agents": ["Networks", "Twins", "Others"], "sessions": [
            {{"sessionName": "day", "iterationSteps": 40, "withOrderPlacement": true,
              "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 5}}]}},
        "Market": {{"class": "Market", "tickSize": 0.01, "marketPrice": 300.0}},
        "Networks": {{"class": "CandleAgent", "numAgents": 6, "markets": ["Market"],
                      "cashAmount": 10000, "assetVolume": 50, {networks}}},
        "Twins": {{"class": "CandleAgent", "numAgents": 6, "markets": ["Market"],
                   "cashAmount": 10000, "assetVolume": 50, {shared}}},
        "Others": {{"class": "{class}", "numAgents": 2, "markets": ["Market"],
                    "cashAmount": 10000, "assetVolume": 50{keys}}}
    }}"#
    )
}

/// What a run came to, so that errors are compared too.
fn outcome(builder: RunnerBuilder<'_>, config: &str) -> String {
    outcome_with(SharingStrategy::FileDescriptor, builder, config)
}

/// As [`outcome`], with a sharing strategy for runners that set none.
fn outcome_with(strategy: SharingStrategy, builder: RunnerBuilder<'_>, config: &str) -> String {
    let _alone = STRATEGY.lock();
    tensor_share::set_sharing_strategy(strategy);
    pams_tests::neural::init();
    let outcome = builder
        .registry(pams_tests::neural::registry())
        .config_text(config)
        .seed(7)
        .build()
        .and_then(Runner::run);
    match outcome {
        Ok(report) => format!("{report:?}"),
        Err(error) => format!("error: {error}"),
    }
}

//! What an agent's turn costs more on threads and in worker processes than on the calling thread:
//! `overhead [STEPS]`.
//!
//! Agents are FCN agents, so cheap that all of the difference is the way there and back. Prints
//! microseconds a turn for several numbers of agents, agents asked in a step, steps of history and
//! resting orders; a row should be flat.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints what it measured"
)]

use std::num::NonZeroUsize;
use std::time::Instant;

use pams_runner::{
    Error, MultiProcessAgentParallelRunner, MultiThreadAgentParallelRunner, RunnerBuilder,
    SequentialRunner,
};
use serde_json::{Value as Json, json};

/// How often each way is measured, in turn; the median counts.
const ROUNDS: usize = 5;

fn config(agents: u64, asked: u64, steps: u64) -> Json {
    json!({
        "simulation": {
            "markets": ["Market"],
            "agents": ["FCNAgents"],
            "sessions": [{
                "sessionName": 0, "iterationSteps": steps, "withOrderPlacement": true,
                "withOrderExecution": true, "withPrint": false, "maxNormalOrders": asked,
            }],
        },
        "Market": {"class": "Market", "tickSize": 0.00001, "marketPrice": 300.0},
        "FCNAgents": {
            "class": "FCNAgent", "numAgents": agents, "markets": ["Market"],
            "assetVolume": 50, "cashAmount": 10000,
            "fundamentalWeight": {"expon": [1.0]}, "chartWeight": 0.0,
            "noiseWeight": {"expon": [1.0]}, "noiseScale": 0.001,
            "timeWindowSize": [100, 200], "orderMargin": [0.0, 0.1],
        },
    })
}

fn seconds(builder: RunnerBuilder<'_>, config: &Json) -> Result<f64, Error> {
    let workers = NonZeroUsize::new(2).expect("two is not zero");
    let runner = builder.config_value(config.clone()).seed(1).num_parallel(workers).build()?;
    let start = Instant::now();
    runner.run()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Microseconds that a turn costs more than sequentially: two lengths of run are compared, so that
/// starting the workers does not count.
fn overhead(
    make: fn() -> RunnerBuilder<'static>,
    agents: u64,
    asked: u64,
    steps: u64,
) -> Result<f64, Error> {
    let (short, long) = (config(agents, asked, steps / 4), config(agents, asked, steps));
    let mut differences = Vec::new();
    for _ in 0..ROUNDS {
        let parallel = seconds(make(), &long)? - seconds(make(), &short)?;
        let sequential = seconds(SequentialRunner::builder(), &long)?
            - seconds(SequentialRunner::builder(), &short)?;
        differences.push((parallel - sequential) * 1e6 / (asked * (steps - steps / 4)) as f64);
    }
    Ok(median(differences))
}

fn main() -> Result<(), Error> {
    pams_runner::init(&pams_agent::Registry::builtin());
    let steps = std::env::args().nth(1).and_then(|steps| steps.parse().ok()).unwrap_or(2_000);
    for (name, make) in [
        ("threads", MultiThreadAgentParallelRunner::builder as fn() -> RunnerBuilder<'static>),
        ("processes", MultiProcessAgentParallelRunner::builder),
    ] {
        for asked in [1, 8] {
            for agents in [50, 500, 2_000] {
                let cost = overhead(make, agents, asked, steps)?;
                println!("{name:10} {asked:2} a step, {agents:5} agents: {cost:6.1} µs a turn");
            }
        }
    }
    Ok(())
}

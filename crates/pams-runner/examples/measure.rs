//! Times a config in one warm process: `measure CONFIG GENERATOR RUNS [STEPS]`.
//!
//! Prints one JSON object a run (setup and run seconds, steps, orders), and at last what the draws
//! of the shuffles alone cost for as many agents and steps. `benches/compare_with_pams.py` reads
//! it.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints what it measured"
)]

use std::time::Instant;

use pams_core::random::{Generator, GeneratorKind, Permutation};
use pams_runner::SequentialRunner;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, config, generator, runs] = &arguments[..] else {
        return Err("usage: measure CONFIG GENERATOR RUNS".into());
    };
    let kind: GeneratorKind = generator.parse()?;
    let mut steps = 0;
    for seed in 1..=runs.parse()? {
        let start = Instant::now();
        let runner =
            SequentialRunner::builder().config_path(config).seed(seed).generator(kind).build()?;
        let setup = start.elapsed();
        let start = Instant::now();
        let report = runner.run()?;
        let run = start.elapsed();
        steps = report.steps;
        let line = serde_json::json!({
            "seed": seed,
            "setup_seconds": setup.as_secs_f64(),
            "run_seconds": run.as_secs_f64(),
            "steps": report.steps,
            "orders": report.orders,
            "executions": report.executions,
        });
        println!("{line}");
    }
    let agents = SequentialRunner::builder().config_path(config).check()?.agent_count();
    let line = serde_json::json!({"agents": agents, "draws_seconds": draws(kind, agents, steps)});
    println!("{line}");
    Ok(())
}

/// The seconds that a run's shuffles of all agents take when nobody is asked.
fn draws(kind: GeneratorKind, agents: usize, steps: u64) -> f64 {
    let mut generator = Generator::new(kind, 1);
    let mut order = Permutation::new(agents);
    let start = Instant::now();
    for _ in 0..steps {
        order.start(&mut generator);
        std::hint::black_box(order.next(&mut generator));
    }
    start.elapsed().as_secs_f64()
}

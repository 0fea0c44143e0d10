//! Asks agents that take their time on threads: the same records, sooner.
//!
//! `cargo run --release -p pams-examples --bin thread_runner`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use pams_examples::{config_path, registry};
use pams_runner::{MultiThreadAgentParallelRunner, RunReport, RunnerBuilder, SequentialRunner};

fn main() -> anyhow::Result<()> {
    let (sequential, needed) = run(SequentialRunner::builder())?;
    show("one after the other", &sequential, needed);
    for workers in [2, 4].into_iter().filter_map(NonZeroUsize::new) {
        let builder = MultiThreadAgentParallelRunner::builder().num_parallel(workers);
        let (report, needed) = run(builder)?;
        show(&format!("on threads: {workers}"), &report, needed);
        anyhow::ensure!(report == sequential, "the records differ");
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is what the example shows")]
fn run(builder: RunnerBuilder<'_>) -> anyhow::Result<(RunReport, Duration)> {
    let builder = builder.registry(registry()).config_path(config_path("deliberation.json"));
    let runner = builder.seed(42).build()?;
    let start = Instant::now();
    let report = runner.run()?;
    Ok((report, start.elapsed()))
}

fn show(how: &str, report: &RunReport, needed: Duration) {
    let RunReport { orders, executions, .. } = report;
    let hash = report.records_hash.map(|hash| hash.to_string()).unwrap_or_default();
    println!("{how:20} {needed:>8.0?}  {orders} orders, {executions} executions, {hash:.15}…");
}

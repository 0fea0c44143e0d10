//! Asks agents in worker processes: an agent that brings its process down does not end the run, and
//! changes no record.
//!
//! `cargo run --release -p pams-examples --bin process_runner`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Registry, Turn};
use pams_core::Step;
use pams_examples::{Deliberator, config_path};
use pams_runner::{ProcessExecutor, RunnerBuilder, SequentialRunner, WorkerInitializer};
use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::LevelFilter;

/// A file in a worker process; who removes it first ends its process. Nothing in other processes.
static FUSE: OnceLock<PathBuf> = OnceLock::new();

/// Tells each worker where the fuse is, before it is asked anything.
#[derive(Debug)]
struct LayFuse;

impl WorkerInitializer for LayFuse {
    const NAME: &'static str = "lay the fuse";
    type Arguments = PathBuf;

    fn initialize(path: PathBuf) -> Result<(), AgentError> {
        FUSE.set(path).map_err(|_| "the fuse is laid already".into())
    }
}

/// A deliberator with a mistake in a library that it calls.
#[derive(Debug, Serialize, Deserialize)]
struct Fragile(Deliberator);

impl Agent for Fragile {
    type Settings = <Deliberator as Agent>::Settings;
    type State = ();

    fn create(settings: &Self::Settings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Deliberator::create(settings, setup).map(Self)
    }

    fn submit_orders(
        &self,
        state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let in_the_middle = markets.iter().any(|market| market.time() >= Step(75));
        if in_the_middle && FUSE.get().is_some_and(|fuse| fs::remove_file(fuse).is_ok()) {
            std::process::abort();
        }
        self.0.submit_orders(state, markets, turn)
    }

    fn look_back(&self) -> u64 {
        self.0.look_back()
    }
}

fn main() -> anyhow::Result<()> {
    let mut registry = Registry::builtin();
    registry.agent::<Fragile>("Deliberator");
    // A worker is this program, run again: it runs `main` up to here.
    pams_runner::init_with(&registry, &[pams_runner::worker_service::<LayFuse>()]);
    // The runner warns of a worker's death; here, on standard error.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(LevelFilter::WARN)
        .without_time()
        .with_target(false)
        .init();

    let run = |name: &str, builder: RunnerBuilder<'_>| -> anyhow::Result<_> {
        let builder = builder.registry(registry.clone());
        let report =
            builder.config_path(config_path("deliberation.json")).seed(42).build()?.run()?;
        let hash = report.records_hash.map(|hash| hash.to_string()).unwrap_or_default();
        println!("{name:12} {} orders, {} executions, {hash}", report.orders, report.executions);
        Ok(report)
    };

    let sequential = run("sequential", SequentialRunner::builder())?;
    let folder = tempfile::tempdir()?;
    let fuse = folder.path().join("fuse");
    fs::write(&fuse, "")?;
    let workers = ProcessExecutor::<LayFuse>::with_initializer(fuse.clone());
    let builder = RunnerBuilder::default().executor(workers);
    let processes = run("processes", builder.num_parallel(NonZeroUsize::MIN.saturating_add(1)))?;
    anyhow::ensure!(!fuse.exists(), "no worker died");
    println!("A worker died on the way. Its agents were asked again in a new one.");
    anyhow::ensure!(processes == sequential, "the records differ");
    Ok(())
}

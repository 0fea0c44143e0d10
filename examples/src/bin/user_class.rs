//! Registers a class under the name that an old config has for it, and runs the config.
//!
//! `cargo run -p pams-examples --bin user_class`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use pams_agent::{FcnAgent, Registry};
use pams_runner::SequentialRunner;

fn main() -> anyhow::Result<()> {
    let mut registry = Registry::builtin();
    registry.agent::<FcnAgent>("UserDefinedFCNAgent");
    let report = SequentialRunner::builder()
        .registry(registry)
        .config_path(pams_examples::config_path("configs/user_class.json"))
        .seed(42)
        .build()?
        .run()?;
    println!("{} orders, {} executions", report.orders, report.executions);
    Ok(())
}

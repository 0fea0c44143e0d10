//! Runs a config that names an agent, a market and an event of one's own; their code is in
//! `examples/src`. A market takes a fee, and the keepers of its order book pass it on. When the fee
//! is dropped, they trade more.
//!
//! `cargo run -p pams-examples --bin own_classes`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use pams_core::Record;
use pams_examples::{config_path, registry};
use pams_runner::{MemorySaver, SequentialRunner};

fn main() -> anyhow::Result<()> {
    let mut saver = MemorySaver::default();
    let runner = SequentialRunner::builder()
        .registry(registry())
        .config_path(config_path("own_classes.json"))
        .seed(42)
        .logger(&mut saver)
        .build()?;
    runner.run()?;

    let Some(names) = saver.names() else { return Ok(()) };
    let is_keeper = |agent| names.agent(agent).starts_with("Keepers");
    let (mut trades, mut kept) = (0, 0);
    for record in saver.records() {
        match record {
            Record::SessionBegin(_) => (trades, kept) = (0, 0),
            Record::Execution(fill) => {
                trades += 1;
                kept += i32::from(is_keeper(fill.buy_agent) || is_keeper(fill.sell_agent));
            }
            Record::SessionEnd(session) => {
                let session = names.session(session.session);
                println!("{session}: {trades} trades, {kept} of them with a keeper");
            }
            _ => {}
        }
    }
    Ok(())
}

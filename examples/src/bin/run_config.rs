//! Runs a config through the library.
//!
//! `cargo run -p pams-examples --bin run_config [CONFIG]`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use pams_runner::{MemorySaver, SequentialRunner};

fn main() -> anyhow::Result<()> {
    let path = std::env::args_os().nth(1);
    let path = path.unwrap_or_else(|| pams_examples::config_path("configs/CI2002.json").into());
    let mut saver = MemorySaver::default();
    let runner =
        SequentialRunner::builder().config_path(path).seed(42).logger(&mut saver).build()?;
    let report = runner.run()?;
    println!("{} steps, {} orders, {} executions", report.steps, report.orders, report.executions);
    for market in &report.markets {
        let prices = || saver.market_prices(&market.name).map(|(_, price)| price);
        let lowest = prices().fold(f64::INFINITY, f64::min);
        let highest = prices().fold(f64::NEG_INFINITY, f64::max);
        let last = market.market_price;
        println!("{}: from {lowest:.2} to {highest:.2}, last {last:.2}", market.name);
    }
    Ok(())
}

//! Long runs and wide ones: whether a step's time stays the same, and what things take in memory.
//!
//! `long_and_wide [STEPS]` prints all figures. Each is measured in a process of its own, which is
//! this program with the name of the figure. Time is that of the processor; memory is the
//! difference of two peaks.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark starts itself again and prints what it measured"
)]

use std::error::Error;
use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustix::time::{ClockId, clock_gettime};

use pams_core::random::{Generator, GeneratorKind};
use pams_core::{AgentId, Book, NewOrder, Record, Side, Step, Tick, Volume};
use pams_runner::{Logger, NameTable, SequentialRunner};
use serde_json::{Value as Json, json};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => everything(1_000_000),
        [steps] => everything(steps.parse()?),
        ["agents", agents] => run(&config(1, agents.parse()?, 1, 1)),
        ["markets", markets, steps] => run(&config(markets.parse()?, 100, steps.parse()?, 100)),
        ["quiet", markets, steps] => run(&config(markets.parse()?, 1, steps.parse()?, 0)),
        ["orders", resting, left] => orders(resting.parse()?, left.parse()?),
        ["long", steps, window] => long(steps.parse()?, window.parse()?),
        _ => Err("usage: long_and_wide [STEPS]".into()),
    }
}

/// So many markets, FCN agents that trade in all of them, steps, and agents asked in a step.
fn config(markets: u64, agents: u64, steps: u64, asked: u64) -> Json {
    json!({
        "simulation": {
            "markets": ["Market"],
            "agents": ["FCNAgents"],
            "sessions": [{
                "sessionName": 0, "iterationSteps": steps, "withOrderPlacement": true,
                "withOrderExecution": true, "withPrint": false, "maxNormalOrders": asked,
            }],
        },
        "Market": {
            "class": "Market", "numMarkets": markets, "tickSize": 0.01, "marketPrice": 300.0,
        },
        "FCNAgents": {
            "class": "FCNAgent", "numAgents": agents, "markets": ["Market"],
            "assetVolume": 50, "cashAmount": 10000,
            "fundamentalWeight": {"expon": [1.0]}, "chartWeight": 0.0,
            "meanReversionTime": {"uniform": [50, 100]}, "noiseWeight": {"expon": [1.0]}, "noiseScale": 0.001,
            "timeWindowSize": [100, 200], "orderMargin": [0.0, 0.1],
        },
    })
}

fn run(config: &Json) -> Outcome {
    let start = processor_seconds();
    let runner = SequentialRunner::builder().config_value(config.clone()).seed(1).build()?;
    let set_up = processor_seconds();
    let report = runner.run()?;
    let line = json!({
        "setup_seconds": set_up - start,
        "run_seconds": processor_seconds() - set_up,
        "orders": report.orders,
        "peak_bytes": peak_bytes()?,
    });
    println!("{line}");
    Ok(())
}

/// A book with orders that rest and others that have left but are still known.
fn orders(resting: u64, left: u64) -> Outcome {
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
    let mut book = Book::new(None);
    let mut order = || -> Result<NewOrder, Box<dyn Error>> {
        let buys = generator.below(2) == 0;
        let away = 1 + i64::try_from(generator.below(10_000_000))?;
        Ok(NewOrder {
            agent: AgentId(u32::try_from(generator.below(1_000))?),
            side: if buys { Side::Buy } else { Side::Sell },
            tick: Some(Tick(if buys { -away } else { away })),
            volume: Volume(1),
            placed_at: Step(0),
            time_to_live: None,
        })
    };
    for _ in 0..left {
        let id = book.place(order()?);
        book.cancel(id);
    }
    for _ in 0..resting {
        book.place(order()?);
    }
    println!("{}", json!({"peak_bytes": peak_bytes()?}));
    Ok(())
}

/// Notes the time at the end of some steps.
struct Clock {
    stops: Vec<i64>,
    at: Arc<Mutex<Vec<(i64, f64)>>>,
}

impl Clock {
    /// The steps at which the clock is read: some of interest, each with one a fifth earlier, as a
    /// step's time is the mean of the steps between.
    fn stops(steps: u64) -> Vec<i64> {
        let interesting = [500, 5_000, 50_000, 500_000, 1_000_000];
        let ends = interesting.into_iter().filter(|&step: &i64| step.unsigned_abs() <= steps);
        ends.flat_map(|step| [step - step / 5, step]).collect()
    }
}

impl Logger for Clock {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        if let Record::Step(step) = record {
            let mut at = self.at.lock().map_err(|_| io::Error::other("a reader panicked"))?;
            if self.stops.get(at.len()) == Some(&step.time.0) {
                at.push((step.time.0, processor_seconds()));
            }
        }
        Ok(())
    }
}

/// Microseconds a step at some steps of one run; `window` 0 keeps all history.
fn long(steps: u64, window: u64) -> Outcome {
    let mut config = config(1, 100, steps + 1, 1);
    if window > 0 {
        config["simulation"]["historyWindow"] = window.into();
    }
    let at = Arc::default();
    let stops = Clock::stops(steps);
    let clock = Clock { stops, at: Arc::clone(&at) };
    SequentialRunner::builder().config_value(config).seed(1).logger(clock).build()?.run()?;
    let at = at.lock().map_err(|_| "the clock panicked")?;
    let mut line = json!({"peak_bytes": peak_bytes()?});
    for pair in at.chunks(2) {
        if let [(first, from), (last, to)] = *pair {
            let steps = f64::from(i32::try_from(last - first)?);
            line[format!("{last:>9}")] = json!((to - from) * 1e6 / steps);
        }
    }
    println!("{line}");
    Ok(())
}

/// What this thread has used of a processor, so that other programs count less.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a few hours are exact")]
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The most memory that this process ever had in use.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.ok_or("no VmHWM in /proc/self/status")?.parse::<u64>()? * 1024)
}

fn figure(words: &[&str]) -> Result<Json, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args(words).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Bytes that each of `n` more things take.
fn bytes_each(few: &[&str], many: &[&str], n: f64) -> Result<f64, Box<dyn Error>> {
    let peak = |words| {
        Ok::<f64, Box<dyn Error>>(figure(words)?["peak_bytes"].as_f64().unwrap_or(f64::NAN))
    };
    Ok((peak(many)? - peak(few)?) / n)
}

fn everything(steps: u64) -> Outcome {
    for (window, name) in [("0", "all history kept"), ("200", "a window of 200 steps")] {
        println!("1 market, 100 FCN agents, one asked a step, {name}:");
        let figures = figure(&["long", &steps.to_string(), window])?;
        for (step, value) in figures.as_object().into_iter().flatten() {
            let value = value.as_f64().unwrap_or(f64::NAN);
            if step == "peak_bytes" {
                println!("  peak memory {:.1} MiB", value / 1_048_576.0);
            } else {
                println!("  at step {step}: {value:.3} µs a step");
            }
        }
    }
    let wide = figure(&["agents", "1000000"])?;
    println!("1,000,000 FCN agents: set up in {} s", wide["setup_seconds"]);
    let agents = bytes_each(&["agents", "100000"], &["agents", "1000000"], 900_000.0)?;
    println!("  an agent with an account in 1 market: {agents:.0} bytes");
    let wide = figure(&["markets", "1000", "20"])?;
    let (seconds, orders) = (&wide["run_seconds"], &wide["orders"]);
    println!(
        "1,000 markets, 20 steps, 100 agents a step in all markets: {orders} orders in {seconds} s"
    );
    let market = bytes_each(&["quiet", "10000", "1"], &["quiet", "20000", "1"], 10_000.0)?;
    println!("  a market: {market:.0} bytes");
    let step = bytes_each(&["quiet", "100", "2000"], &["quiet", "100", "22000"], 2e6)?;
    println!("  a market's step without orders: {step:.0} bytes");
    let left = bytes_each(&["orders", "0", "100000"], &["orders", "0", "1100000"], 1e6)?;
    println!("an order that has left and is still known: {left:.0} bytes");
    let resting = bytes_each(&["orders", "100000", "0"], &["orders", "1100000", "0"], 1e6)?;
    println!("an order that rests on a level of its own: {resting:.0} bytes");
    Ok(())
}

//! A long run in worker processes, to see that nothing grows: `soak [STEPS [WINDOW]]`.
//!
//! 50 FCN agents, 8 of them asked in a step, 2 markets, 2 workers. At some steps the main process
//! and each worker are looked at: descriptors, proportional memory (PSS), and what lies in
//! /dev/shm. With a history window (100 steps if none is given) all of it should stay where it is
//! after step 1,000. With `0` there is no window; then the growth for each step and market is
//! printed. At last a worker is killed, and it is told how long it took until two more steps were
//! over and until there were two workers again.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints what it measured"
)]

use std::error::Error;
use std::num::NonZeroUsize;
use std::time::Instant;
use std::{env, fs, io};

use pams_core::Record;
use pams_runner::{Logger, MultiProcessAgentParallelRunner, NameTable};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

/// Steps that follow the kill.
const AFTERWARDS: u64 = 1000;

const MARKETS: u64 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    pams_runner::init(&pams_agent::Registry::builtin());
    let mut arguments = env::args().skip(1);
    let steps: u64 = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let window: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let load = fs::read_to_string("/proc/loadavg")?;
    println!("{steps} steps, window {window}; load {}", load.trim());
    let mut probe = Probe {
        looks: vec![1_000.min(steps / 4), steps / 4, steps / 2, steps],
        ..Probe::default()
    };
    let workers = NonZeroUsize::new(2).expect("two is not zero");
    let report = MultiProcessAgentParallelRunner::builder()
        .config_value(config(steps + AFTERWARDS, window))
        .seed(1)
        .num_parallel(workers)
        .logger(&mut probe)
        .build()?
        .run()?;
    let killed = probe.killed.as_ref().ok_or("there was no worker to kill")?;
    let replaced = killed.replaced.ok_or("the worker was not replaced")?;
    println!(
        "a worker killed at step {steps}: two more steps after {:.1} ms, two workers again after \
         {replaced:.1} ms",
        killed.went_on.ok_or("the run did not go on")?
    );
    if window == 0 {
        probe.print_growth();
    }
    println!(
        "{} orders, records {}",
        report.orders,
        report.records_hash.map(|hash| hash.to_string()).unwrap_or_default()
    );
    Ok(())
}

fn config(steps: u64, window: u64) -> Json {
    let mut config = json!({
        "simulation": {
            "markets": ["Market"], "agents": ["FCNAgents"],
            "sessions": [{
                "sessionName": 0, "iterationSteps": steps, "withOrderPlacement": true,
                "withOrderExecution": true, "withPrint": false, "maxNormalOrders": 8,
            }],
        },
        "Market": {
            "class": "Market", "numMarkets": MARKETS, "tickSize": 0.00001, "marketPrice": 300.0,
        },
        "FCNAgents": {
            "class": "FCNAgent", "numAgents": 50, "markets": ["Market"],
            "assetVolume": 50, "cashAmount": 10000,
            "fundamentalWeight": {"expon": [1.0]}, "chartWeight": 0.0,
            "noiseWeight": {"expon": [1.0]}, "noiseScale": 0.001,
            "timeWindowSize": [50, 100], "orderMargin": [0.0, 0.1],
        },
    });
    if window > 0 {
        config["simulation"]["historyWindow"] = window.into();
    }
    config
}

/// Looks at the processes at some steps and kills a worker at the last of them.
#[derive(Default)]
struct Probe {
    looks: Vec<u64>,
    seen: Vec<(u64, Vec<Look>)>,
    killed: Option<Killed>,
}

/// What a process holds.
struct Look {
    descriptors: usize,
    /// Bytes.
    memory: u64,
}

struct Killed {
    process: u32,
    since: Instant,
    steps: u32,
    /// Milliseconds.
    went_on: Option<f64>,
    replaced: Option<f64>,
}

impl Logger for Probe {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        let Record::Step(step) = record else { return Ok(()) };
        if step.market.index() > 0 {
            return Ok(());
        }
        if let Some(killed) = &mut self.killed {
            return killed.look();
        }
        let time = step.time.since_start();
        if self.looks.first() == Some(&time) {
            self.looks.remove(0);
            self.look(time)?;
            if self.looks.is_empty() {
                self.kill()?;
            }
        }
        Ok(())
    }
}

impl Probe {
    fn look(&mut self, time: u64) -> io::Result<()> {
        let mut looks = vec![Look::at("self".to_owned())?];
        for worker in workers()? {
            looks.push(Look::at(worker.to_string())?);
        }
        let mut shm = 0;
        for entry in fs::read_dir("/dev/shm")? {
            shm += entry?.metadata().map_or(0, |metadata| metadata.len());
        }
        println!("step {time}: {shm} bytes in /dev/shm");
        for (index, Look { descriptors, memory }) in looks.iter().enumerate() {
            let name = if index == 0 { "main" } else { "worker" };
            println!("  {name:6}  {descriptors:3} descriptors, {:6} KiB", memory / 1024);
        }
        self.seen.push((time, looks));
        Ok(())
    }

    fn kill(&mut self) -> io::Result<()> {
        let Some(&process) = workers()?.first() else { return Ok(()) };
        let pid = Pid::from_raw(process.cast_signed()).ok_or(io::ErrorKind::InvalidData)?;
        let since = Instant::now();
        kill_process(pid, Signal::KILL)?;
        self.killed = Some(Killed { process, since, steps: 0, went_on: None, replaced: None });
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "sizes for people")]
    fn print_growth(&self) {
        let [(from, first), .., (to, last)] = &self.seen[..] else { return };
        for (index, (first, last)) in first.iter().zip(last).enumerate() {
            let name = if index == 0 { "main" } else { "a worker" };
            let bytes = last.memory as f64 - first.memory as f64;
            let each = bytes / (to - from) as f64 / MARKETS as f64;
            println!("{name} grew by {each:.1} bytes for each step and market");
        }
    }
}

impl Look {
    fn at(process: String) -> io::Result<Self> {
        let descriptors = fs::read_dir(format!("/proc/{process}/fd"))?.count();
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().map_err(io::Error::other)?;
        Ok(Self { descriptors, memory: kib * 1024 })
    }
}

impl Killed {
    fn look(&mut self) -> io::Result<()> {
        let now = || self.since.elapsed().as_secs_f64() * 1000.0;
        self.steps += 1;
        if self.steps == 2 {
            self.went_on = Some(now());
        }
        if self.replaced.is_none() {
            let workers = workers()?;
            if workers.len() == 2 && !workers.contains(&self.process) {
                self.replaced = Some(now());
            }
        }
        Ok(())
    }
}

/// The children of this process.
fn workers() -> io::Result<Vec<u32>> {
    let mut text = String::new();
    for task in fs::read_dir("/proc/self/task")? {
        text += &fs::read_to_string(task?.path().join("children"))?;
    }
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}

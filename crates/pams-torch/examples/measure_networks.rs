//! Times neural agents on the torch-style runner beside the sequential one:
//! `measure_networks [ROUNDS [WORKERS]]`, and `measure_networks tensors [ROUNDS]`.
//!
//! Both runners run in turn, each in a fresh program, with one thread of candle per process. Printed
//! are medians over the rounds with their extremes: milliseconds per step, the overhead of a turn
//! (the difference over the turns of a step), the time to the end of the first step with workers,
//! and the memory (PSS) of the main process and all workers in the middle of the run. With
//! `tensors` the networks are small and have 6, 60 and 600 tensors, and there is one worker, so
//! that the overhead of a turn is the way alone; it should not grow with the tensors.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and the environment and prints what it measured"
)]

use std::alloc::System;
use std::error::Error;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use pams_agent::Registry;
use pams_core::Record;
use pams_runner::{Logger, NameTable, SequentialRunner};
use pams_torch::TorchAgentParallelRunner;
use tensor_share::ShareAlloc;

#[global_allocator]
static ALLOCATOR: ShareAlloc<System> = ShareAlloc::new(System);

/// How many agents are asked in each step.
const TURNS: u32 = 8;

struct Case {
    name: &'static str,
    agents: usize,
    /// The hidden layers, and the neurons of each.
    hidden: (usize, usize),
    steps: u64,
}

const CASES: [Case; 5] = [
    Case { name: "50 agents x (32-64-64-1)", agents: 50, hidden: (2, 64), steps: 2000 },
    Case { name: "100 agents x (32-1024-1024-1)", agents: 100, hidden: (2, 1024), steps: 150 },
    Case { name: "50 agents x 6 tensors", agents: 50, hidden: (2, 2), steps: 2000 },
    Case { name: "50 agents x 60 tensors", agents: 50, hidden: (29, 2), steps: 2000 },
    Case { name: "50 agents x 600 tensors", agents: 50, hidden: (299, 2), steps: 500 },
];

/// Those of the table.
const LARGE: Range<usize> = 0..2;

/// The cases that differ in nothing but the number of tensors.
const TENSORS: Range<usize> = 2..5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::builtin();
    pams_candle::register(&mut registry);
    pams_torch::init(&registry);
    let arguments: Vec<String> = env::args().collect();
    match &arguments[1..] {
        [run, case, runner, workers] if run == "run" => {
            run_once(&CASES[case.parse::<usize>()?], runner, workers.parse()?, registry)
        }
        [tensors] if tensors == "tensors" => compare(TENSORS, 5, 1),
        [tensors, rounds] if tensors == "tensors" => compare(TENSORS, rounds.parse()?, 1),
        [] => compare(LARGE, 5, 2),
        [rounds] => compare(LARGE, rounds.parse()?, 2),
        [rounds, workers] => compare(LARGE, rounds.parse()?, workers.parse()?),
        _ => Err("usage: measure_networks [tensors] [ROUNDS [WORKERS]]".into()),
    }
}

/// What one run measured: milliseconds to the end of the first step, milliseconds of each further
/// step, MB of memory, and the hash of the records.
struct Measured {
    first: f64,
    step: f64,
    memory: f64,
    hash: String,
}

fn compare(cases: Range<usize>, rounds: usize, workers: usize) -> Result<(), Box<dyn Error>> {
    let load = fs::read_to_string("/proc/loadavg")?;
    println!("load before: {}; {TURNS} turns a step, {workers} workers", load.trim());
    for number in cases {
        let case = &CASES[number];
        let mut found: [Vec<Measured>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (runs, runner) in found.iter_mut().zip(["sequential", "torch"]) {
                runs.push(run_in_fresh_program(number, runner, workers)?);
            }
        }
        let [sequential, torch] = &found;
        let hashes = found.iter().flatten().map(|run| &run.hash);
        assert!(hashes.clone().all(|hash| *hash == sequential[0].hash), "the records differ");
        println!("{}", case.name);
        for (runs, runner) in found.iter().zip(["sequential", "torch"]) {
            println!("  {runner:10}  ms/step {}", spread(runs.iter().map(|run| run.step)));
            println!(
                "              first step after ms {}",
                spread(runs.iter().map(|run| run.first))
            );
            println!("              memory MB {}", spread(runs.iter().map(|run| run.memory)));
        }
        let pairs = || sequential.iter().zip(torch);
        let overhead =
            pairs().map(|(one, other)| (other.step - one.step) * 1000.0 / f64::from(TURNS));
        println!("  overhead of a turn, us: {}", spread(overhead));
        println!(
            "  sequential / torch: {}",
            spread(pairs().map(|(one, other)| one.step / other.step))
        );
    }
    println!("load after: {}", fs::read_to_string("/proc/loadavg")?.trim());
    Ok(())
}

/// The median, and the extremes.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[0], values[values.len() - 1]);
    format!("{:.3} ({low:.3} to {high:.3})", values[values.len() / 2])
}

fn run_in_fresh_program(
    case: usize,
    runner: &str,
    workers: usize,
) -> Result<Measured, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?)
        .args(["run", &case.to_string(), runner, &workers.to_string()])
        .env("RAYON_NUM_THREADS", "1")
        .env("CANDLE_NUM_THREADS", "1")
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let [first, step, memory, hash] = text.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    };
    let (first, step, memory) = (first.parse()?, step.parse()?, memory.parse()?);
    Ok(Measured { first, step, memory, hash: hash.to_owned() })
}

fn run_once(
    case: &Case,
    runner: &str,
    workers: NonZeroUsize,
    registry: Registry,
) -> Result<(), Box<dyn Error>> {
    let (layers, neurons) = case.hidden;
    let config = serde_json::json!({
        "simulation": {"markets": ["Market"], "agents": ["Networks"], "sessions": [
            {"sessionName": "day", "iterationSteps": case.steps, "withOrderPlacement": true,
             "withOrderExecution": true, "withPrint": false, "maxNormalOrders": TURNS}]},
        "Market": {"class": "Market", "tickSize": 0.01, "marketPrice": 300.0},
        "Networks": {"class": "CandleAgent", "numAgents": case.agents, "markets": ["Market"],
                     "cashAmount": 10000, "assetVolume": 50, "hiddenSizes": vec![neurons; layers]}
    });
    let builder = match runner {
        "torch" => TorchAgentParallelRunner::new().builder().num_parallel(workers),
        _ => SequentialRunner::builder(),
    };
    let mut clock = Clock { half: case.steps / 2, ..Clock::default() };
    let runner =
        builder.registry(registry).config_value(config).seed(1).logger(&mut clock).build()?;
    // What came before, drawing the networks, is the same for both.
    let start = Instant::now();
    let report = runner.run()?;
    let (Some(first), Some(last)) = (clock.first, clock.last) else {
        return Err("there was no step".into());
    };
    let milliseconds = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1000.0;
    let steps = u32::try_from(case.steps - 1)?;
    let hash = report.records_hash.map(|hash| hash.to_string()).unwrap_or_default();
    println!(
        "{} {} {} {hash}",
        milliseconds(start, first),
        milliseconds(first + clock.looking, last) / f64::from(steps),
        clock.memory
    );
    Ok(())
}

/// Notes when the first and the last step ended, and the memory in the middle.
#[derive(Default)]
struct Clock {
    half: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    memory: f64,
    /// How long looking at the memory took, which is no part of a step.
    looking: Duration,
}

impl Logger for Clock {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        let Record::Step(step) = record else { return Ok(()) };
        let now = Instant::now();
        self.first.get_or_insert(now);
        if step.time.since_start() == self.half {
            self.memory = memory()?;
            self.looking += now.elapsed();
        }
        self.last = Some(Instant::now());
        Ok(())
    }
}

/// The proportional set size of this process and its children, in MB.
fn memory() -> io::Result<f64> {
    let mut processes = vec![String::from("self")];
    for task in fs::read_dir("/proc/self/task")? {
        let children = fs::read_to_string(task?.path().join("children"))?;
        processes.extend(children.split_whitespace().map(str::to_owned));
    }
    let mut kib = 0.0;
    for process in processes {
        // A process may have ended meanwhile.
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        kib += number.unwrap_or(0.0);
    }
    Ok(kib / 1000.0)
}

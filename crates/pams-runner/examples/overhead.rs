//! What an agent's turn costs more on threads and in worker processes than on the calling thread:
//! `overhead [STEPS [ROUNDS]]`.
//!
//! Agents are FCN agents, so cheap that all of the difference is the way there and back. Each case
//! is measured over `STEPS` steps in `ROUNDS` rounds, sequentially and in parallel in turn; printed
//! are the median and the least, in microseconds a turn. Varied are the agents of the simulation,
//! the agents asked in a step, the steps of history, and the resting orders; but for the number
//! asked, none should matter. Also printed is how often the processes went to sleep in a step,
//! which says what the machine's load can't change.
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

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Registry, Turn};
use pams_config::config_block;
use pams_core::{OrderRequest, Record, Side};
use pams_runner::{
    Logger, MultiProcessAgentParallelRunner, MultiThreadAgentParallelRunner, NameTable,
    RunnerBuilder, SequentialRunner,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

config_block! {
    /// Keys of a wall.
    pub struct WallSettings {
        /// How many orders it places in the first step, where nobody ever trades.
        pub orders: u64 = "orders",
    }
}

/// Places resting orders in the first step and nothing later.
#[derive(Debug, Serialize, Deserialize)]
struct Wall {
    orders: u64,
}

impl Agent for Wall {
    type Settings = WallSettings;
    type State = ();

    fn create(settings: &WallSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self { orders: settings.orders })
    }

    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    fn submit_orders(
        &self,
        (): &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let market = turn.markets()[0];
        if markets[market].time().since_start() == 0 {
            for order in 0..self.orders {
                let price = 1.0 + order as f64 / 100.0;
                turn.submit(OrderRequest::limit(market, Side::Buy, price, 1));
            }
        }
        Ok(())
    }
}

/// What is varied.
#[derive(Clone, Copy)]
struct Case {
    agents: u64,
    asked: u64,
    history: u64,
    resting: u64,
}

const USUAL: Case = Case { agents: 50, asked: 8, history: 100, resting: 0 };

fn main() -> Result<(), Box<dyn Error>> {
    pams_runner::init(&registry());
    let mut arguments = env::args().skip(1);
    let steps = arguments.next().map_or(Ok(2_000), |text| text.parse())?;
    let rounds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    println!("load before: {}", fs::read_to_string("/proc/loadavg")?.trim());
    let mut cases = Vec::new();
    for asked in [1, 8] {
        cases.extend([50, 500, 2_000].map(|agents| Case { agents, asked, ..USUAL }));
    }
    cases.extend([100, 10_000].map(|history| Case { history, ..USUAL }));
    cases.extend([100, 10_000].map(|resting| Case { resting, ..USUAL }));
    for (name, make) in [
        ("threads", MultiThreadAgentParallelRunner::builder as fn() -> RunnerBuilder<'static>),
        ("processes", MultiProcessAgentParallelRunner::builder),
    ] {
        for &case in &cases {
            compare(name, make, case, steps, rounds)?;
        }
    }
    println!("load after: {}", fs::read_to_string("/proc/loadavg")?.trim());
    Ok(())
}

fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry.agent::<Wall>("Wall");
    registry
}

#[expect(clippy::cast_precision_loss, reason = "numbers of turns")]
fn compare(
    name: &str,
    make: fn() -> RunnerBuilder<'static>,
    case: Case,
    steps: u64,
    rounds: usize,
) -> Result<(), Box<dyn Error>> {
    let turns = (case.asked * steps) as f64;
    let mut differences = Vec::new();
    let mut sleeps = Vec::new();
    for _ in 0..rounds {
        let parallel = measure(make(), case, steps)?;
        let sequential = measure(SequentialRunner::builder(), case, steps)?;
        differences.push((parallel.seconds - sequential.seconds) * 1e6 / turns);
        sleeps.push(parallel.sleeps as f64 / steps as f64);
    }
    differences.sort_by(f64::total_cmp);
    sleeps.sort_by(f64::total_cmp);
    let Case { agents, asked, history, resting } = case;
    println!(
        "{name:10} {asked} a step, {agents:5} agents, {history:6} steps of history, {resting:6} \
         orders: {:6.1} µs a turn (least {:.1}), {:.1} sleeps a step",
        differences[rounds / 2],
        differences[0],
        sleeps[rounds / 2],
    );
    Ok(())
}

/// What the measured steps took.
struct Measured {
    seconds: f64,
    /// How often a thread of this process or of a worker went to sleep.
    sleeps: u64,
}

fn measure(builder: RunnerBuilder<'_>, case: Case, steps: u64) -> Result<Measured, Box<dyn Error>> {
    let mut clock = Clock { from: case.history, to: case.history + steps, ..Clock::default() };
    let workers = NonZeroUsize::new(2).expect("two is not zero");
    builder
        .registry(registry())
        .config_value(config(case, steps))
        .seed(1)
        .num_parallel(workers)
        .logger(&mut clock)
        .build()?
        .run()?;
    clock.measured.ok_or_else(|| "the run was too short".into())
}

fn config(case: Case, steps: u64) -> Json {
    let Case { agents, asked, history, resting } = case;
    json!({
        "simulation": {
            "markets": ["Market"],
            "agents": ["FCNAgents", "Wall"],
            // All agents are asked in the first step, so that the wall stands.
            "sessions": [{
                "sessionName": 0, "iterationSteps": 1, "withOrderPlacement": true,
                "withOrderExecution": true, "withPrint": false, "maxNormalOrders": agents + 1,
            }, {
                "sessionName": 1, "iterationSteps": history + steps, "withOrderPlacement": true,
                "withOrderExecution": true, "withPrint": false, "maxNormalOrders": asked,
            }],
        },
        "Market": {"class": "Market", "tickSize": 0.00001, "marketPrice": 300.0},
        "Wall": {
            "class": "Wall", "numAgents": u64::from(resting > 0), "markets": ["Market"],
            "assetVolume": 50, "cashAmount": 10000, "orders": resting,
        },
        "FCNAgents": {
            "class": "FCNAgent", "numAgents": agents, "markets": ["Market"],
            "assetVolume": 50, "cashAmount": 10000,
            "fundamentalWeight": {"expon": [1.0]}, "chartWeight": 0.0,
            "noiseWeight": {"expon": [1.0]}, "noiseScale": 0.001,
            "timeWindowSize": [100, 200], "orderMargin": [0.0, 0.1],
        },
    })
}

/// Notes the time and the sleeps of the steps from one to another.
#[derive(Default)]
struct Clock {
    from: u64,
    to: u64,
    start: Option<(Instant, u64)>,
    measured: Option<Measured>,
}

impl Logger for Clock {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        let Record::Step(step) = record else { return Ok(()) };
        let time = step.time.since_start();
        if time == self.from {
            self.start = Some((Instant::now(), sleeps()?));
        }
        if time == self.to
            && let Some((start, before)) = self.start
        {
            let seconds = start.elapsed().as_secs_f64();
            self.measured = Some(Measured { seconds, sleeps: sleeps()?.saturating_sub(before) });
        }
        Ok(())
    }
}

/// How often the threads of this process and of its children went to sleep.
fn sleeps() -> io::Result<u64> {
    let mut sum = 0;
    let mut processes = vec!["self".to_owned()];
    while let Some(process) = processes.pop() {
        for task in fs::read_dir(format!("/proc/{process}/task"))? {
            let task = task?.path();
            if process == "self" {
                let children = fs::read_to_string(task.join("children"))?;
                processes.extend(children.split_whitespace().map(str::to_owned));
            }
            let status = fs::read_to_string(task.join("status")).unwrap_or_default();
            let line =
                status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            sum += line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Ok(sum)
}

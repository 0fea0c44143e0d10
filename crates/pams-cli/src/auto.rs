//! `--runner auto`: which runner a run gets, and why.
//!
//! The choice rests on what asking agents takes before the first step, and on whether they hold
//! shared memory. It may be another one on another day; the records are the same.

use std::time::{Duration, Instant};

use pams_runner::{Choice, Rehearsal, ThreadExecutor};

use crate::arguments::RunnerKind;
use crate::summary::Chosen;

/// What a turn costs more when a worker is asked, in seconds: an estimate. The example `overhead`
/// measures it on a machine; being off by some only moves the border between two right choices.
const TRIP: f64 = 10e-6;

/// What a batch costs more, however many agents are in it.
const WAKING: f64 = 40e-6;

/// How many agents are asked to find out what asking takes.
const SAMPLE: usize = 32;

/// How long finding out may go on.
const PATIENCE: Duration = Duration::from_millis(200);

/// What the choice rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    /// What asking an agent takes, in seconds.
    pub(crate) turn: f64,
    /// Whether agents hold memory that processes share.
    pub(crate) networks: bool,
    /// The most agents that are asked at the same time.
    pub(crate) batch: usize,
    pub(crate) workers: usize,
    pub(crate) cpus: usize,
}

/// Looks at a run that is about to begin and chooses.
pub(crate) fn choose(rehearsal: &Rehearsal<'_>) -> (Choice, Chosen) {
    let chosen = decide(facts(rehearsal));
    let choice = match chosen.runner {
        RunnerKind::Threads => Choice::Executor(Box::new(ThreadExecutor::default())),
        RunnerKind::Torch => Choice::Prepared,
        _ => Choice::Sequential,
    };
    (choice, chosen)
}

fn facts(rehearsal: &Rehearsal<'_>) -> Facts {
    let agents = rehearsal.agents();
    let stride = agents.len().div_ceil(SAMPLE).max(1);
    let start = now();
    let (mut asked, mut taken, mut networks) = (0, Duration::ZERO, false);
    for &agent in agents.iter().step_by(stride) {
        networks |= rehearsal.shares_memory(agent);
        // The first time costs more than all others: pages are touched, threads started.
        rehearsal.ask(agent);
        let fastest = (0..2).map(|_| {
            let start = now();
            rehearsal.ask(agent);
            start.elapsed()
        });
        taken += fastest.min().unwrap_or_default();
        asked += 1;
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    let plan = rehearsal.plan();
    Facts {
        turn: taken.as_secs_f64() / f64::from(asked.max(1)),
        networks,
        batch: plan.largest_batch.min(agents.len()),
        workers: plan.workers,
        cpus: num_cpus::get(),
    }
}

/// The choice for what was found, with its reason.
fn decide(facts: Facts) -> Chosen {
    let Facts { turn, networks, batch, workers, cpus } = facts;
    let at_once = workers.min(cpus).min(batch);
    let micros = turn * 1e6;
    if at_once < 2 {
        let what = match at_once {
            _ if batch < 2 => "no two agents are asked at the same time",
            _ if cpus < 2 => "there is one CPU",
            _ => "there is one worker",
        };
        return chosen(
            RunnerKind::Sequential,
            format!("{what}, so that nothing is gained elsewhere"),
        );
    }
    let gained = turn * share(batch) * (1.0 - 1.0 / share(at_once));
    let lost = TRIP * share(batch) + WAKING;
    if gained <= lost {
        let reason = format!(
            "asking an agent takes {micros:.1} µs, and {at_once} workers would save less than the \
             way to them takes"
        );
        return chosen(RunnerKind::Sequential, reason);
    }
    let (runner, holding) = if networks && cfg!(feature = "torch") {
        (RunnerKind::Torch, "agents hold networks")
    } else {
        (RunnerKind::Threads, "agents hold no shared memory")
    };
    let reason = format!(
        "asking an agent takes {micros:.1} µs, {at_once} workers save more than the way to them \
         takes, and {holding}"
    );
    chosen(runner, reason)
}

fn chosen(runner: RunnerKind, reason: String) -> Chosen {
    Chosen { runner, reason }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of agents and workers are small")]
fn share(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::disallowed_methods, reason = "the choice never reaches a record")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAVY: Facts = Facts { turn: 1e-3, networks: false, batch: 8, workers: 2, cpus: 2 };

    fn runner(facts: Facts) -> RunnerKind {
        decide(facts).runner
    }

    #[test]
    fn heavy_agents_are_asked_elsewhere() {
        assert_eq!(runner(HEAVY), RunnerKind::Threads);
        let torch = if cfg!(feature = "torch") { RunnerKind::Torch } else { RunnerKind::Threads };
        assert_eq!(runner(Facts { networks: true, ..HEAVY }), torch);
    }

    #[test]
    fn nobody_is_sent_away_for_less_than_the_way() {
        for networks in [true, false] {
            let cheap = Facts { turn: 1e-6, networks, ..HEAVY };
            assert_eq!(runner(cheap), RunnerKind::Sequential);
            assert_eq!(runner(Facts { workers: 100, cpus: 100, ..cheap }), RunnerKind::Sequential);
        }
    }

    #[test]
    fn the_reason_says_why_workers_are_of_no_use() {
        for (facts, expected) in [
            (Facts { batch: 1, ..HEAVY }, "no two agents"),
            (Facts { batch: 0, ..HEAVY }, "no two agents"),
            (Facts { cpus: 1, ..HEAVY }, "one CPU"),
            (Facts { workers: 1, ..HEAVY }, "one worker"),
        ] {
            let Chosen { runner, reason } = decide(facts);
            assert_eq!(runner, RunnerKind::Sequential, "{facts:?}");
            assert!(reason.starts_with(expected) || reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn more_agents_at_a_time_pay_for_waking_the_workers() {
        let turn = 40e-6;
        assert_eq!(runner(Facts { turn, batch: 2, ..HEAVY }), RunnerKind::Sequential);
        assert_eq!(runner(Facts { turn, batch: 100, ..HEAVY }), RunnerKind::Threads);
    }
}

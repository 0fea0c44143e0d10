//! A sweep: the folder, the workers, and who does what next.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pams_agent::Registry;
use pams_core::random::GeneratorKind;
use process_pool::{ErrorKind as PoolErrorKind, ProcessPool, Task};

use crate::config::{ConfigText, Configs};
use crate::control::SweepControl;
use crate::error::{Error, ErrorKind};
use crate::folder::{Existing, Manifest, RUNS, SweepFolder, TABLE};
use crate::grid::Grid;
use crate::journal::{Journal, Line};
use crate::report::{Gatherer, SweepReport};
use crate::seeds::Seeds;
use crate::service::{Answer, Chunk, Start, SweepService};
use crate::table::TableWriter;

/// Where in its journal a run stands is held in memory, which bounds their number.
const MOST_RUNS: u64 = 100_000_000;

/// How long the runs of one task should take together, in seconds: long beside the way of a task to
/// its worker and back, short beside what a user notices.
const TASK_SECONDS: f64 = 0.01;

/// How many seeds a task has at most.
const MOST_SEEDS: usize = 64;

/// How many tasks there are for each worker at a time, so that none waits for the next one.
const TASKS_EACH: usize = 3;

/// How often a sweep in which nothing happens looks whether it should stop.
const PERIOD: Duration = Duration::from_millis(50);

/// Many runs of one config: a grid of parameters times a set of seeds.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The config.
    pub config: ConfigText,
    /// The parameters that are varied.
    pub grid: Grid,
    /// The seeds of each point of the grid.
    pub seeds: Seeds,
    /// The generator of all runs.
    pub generator: GeneratorKind,
}

/// How a sweep is run. None of it changes a number in its table.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// How many worker processes there are; by default as many as CPUs.
    pub jobs: Option<NonZeroUsize>,
    /// What is done with another sweep in the folder; by default it stays, and is an error.
    pub existing: Existing,
    /// Whether each run is kept in a folder of its own, below `runs`; by default not.
    pub keep_runs: KeepRuns,
    /// Variables in the environment of the workers, as names and values.
    pub environment: Vec<(String, String)>,
}

/// Whether each run of a sweep is kept in a folder of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepRuns {
    /// Only its row in the table. The default.
    #[default]
    No,
    /// As a run folder below `runs`.
    Yes,
}

impl Sweep {
    /// Runs what is not finished yet, and writes the table.
    ///
    /// Everything is checked before the first run: the config, the paths, and each point of the
    /// grid. Runs that fail are listed in the report.
    ///
    /// # Errors
    ///
    /// When the config or a point has mistakes, the folder can't be written or holds something else,
    /// the workers can't be started, or the sweep is asked to stop. What is finished by then stays,
    /// and another call goes on from there.
    pub fn run(
        &self,
        registry: &Registry,
        folder: &Path,
        options: &SweepOptions,
        control: &SweepControl,
    ) -> Result<SweepReport, Error> {
        let n_points = self.check_size()?;
        let configs = Configs::read(&self.config, self.grid.clone(), registry)?;
        let hash = configs.check(registry)?;
        let keep = options.keep_runs == KeepRuns::Yes;
        let named = (&*self.config.name, hash);
        let seeds = self.seeds.to_string();
        let manifest = Manifest::new(named, self.generator, &self.grid, keep, seeds);
        let folder = SweepFolder::open(folder, &manifest, options.existing)?;
        let mut journal = Journal::open(folder.path(), n_points, &self.seeds)?;
        let found = journal.n_done();
        control.begin(found, journal.n_runs());
        if found < journal.n_runs() {
            let start = Start {
                configs: configs.wire(),
                generator: self.generator.to_string(),
                runs: keep.then(|| folder.path().join(RUNS)),
            };
            Driver::new(&start, options, &mut journal, control)?.drive()?;
        }
        self.finish(&folder, &journal, n_points, found)
    }

    /// The number of points, if the sweep is not too large.
    fn check_size(&self) -> Result<usize, Error> {
        let n_points = self.grid.n_points();
        let n_runs = n_points
            .and_then(|points| u64::try_from(points).ok())
            .and_then(|points| points.checked_mul(self.seeds.count()));
        match (n_points, n_runs) {
            (Some(points), Some(runs)) if runs <= MOST_RUNS => Ok(points),
            _ => Err(Error::grid(format!(
                "a sweep has at most {MOST_RUNS} runs: take fewer seeds or values"
            ))),
        }
    }

    /// The table and the report, both from the journal: so they are the same however often the sweep
    /// was interrupted.
    fn finish(
        &self,
        folder: &SweepFolder,
        journal: &Journal,
        n_points: usize,
        found: u64,
    ) -> Result<SweepReport, Error> {
        let mut gatherer = Gatherer::new(&self.grid, n_points);
        for line in journal.lines()? {
            gatherer.add(line?);
        }
        let mut lines = journal.lines()?;
        let mut unreadable = None;
        let written = folder.replace(TABLE, |file| {
            let mut table = TableWriter::new(file, &self.grid, gatherer.markets())?;
            for line in &mut lines {
                match line {
                    Ok(line) => table.push(&line)?,
                    Err(error) => {
                        unreadable = Some(error);
                        return Err(std::io::ErrorKind::InvalidData.into());
                    }
                }
            }
            table.finish()
        });
        if let Some(error) = unreadable {
            return Err(error);
        }
        Ok(gatherer.report(journal.n_runs(), found, written?))
    }
}

/// Gives seeds to workers until all runs are over.
struct Driver<'a> {
    pool: ProcessPool<SweepService>,
    journal: &'a mut Journal,
    control: &'a SweepControl,
    /// The index of the first run that was not given to a worker so far.
    next: usize,
    /// Single runs whose task failed together with others.
    again: VecDeque<Chunk>,
    pending: BTreeMap<u64, (Chunk, Task<Answer>)>,
    n_tasks: u64,
    bell: (Sender<u64>, Receiver<u64>),
    /// Runs that are over in this start, and how long workers took for them in seconds.
    n_timed: u64,
    seconds: f64,
}

/// Rings when a task is over.
struct Bell {
    task: u64,
    sender: Sender<u64>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Nobody listens after the sweep.
        let _ = self.sender.send(self.task);
    }
}

impl<'a> Driver<'a> {
    fn new(
        start: &Start,
        options: &SweepOptions,
        journal: &'a mut Journal,
        control: &'a SweepControl,
    ) -> Result<Self, Error> {
        let n_open = journal.n_runs() - journal.n_done();
        let jobs = options.jobs.map_or_else(num_cpus::get, NonZeroUsize::get);
        let jobs = jobs.min(usize::try_from(n_open).unwrap_or(usize::MAX));
        let mut builder = ProcessPool::<SweepService>::builder(start).workers(jobs);
        for (name, value) in &options.environment {
            builder = builder.env(name, value);
        }
        Ok(Self {
            pool: builder.build()?,
            journal,
            control,
            next: 0,
            again: VecDeque::new(),
            pending: BTreeMap::new(),
            n_tasks: 0,
            bell: channel(),
            n_timed: 0,
            seconds: 0.0,
        })
    }

    fn drive(mut self) -> Result<(), Error> {
        let most = self.pool.n_workers() * TASKS_EACH;
        loop {
            if self.control.should_stop() {
                let (done, in_all) = (self.journal.n_done(), self.journal.n_runs());
                return Err(Error::new(ErrorKind::Interrupted { done, in_all }));
            }
            while self.pending.len() < most
                && let Some(chunk) = self.next_chunk()
            {
                self.submit(chunk)?;
            }
            if self.pending.is_empty() {
                return Ok(self.pool.shutdown()?);
            }
            match self.bell.1.recv_timeout(PERIOD) {
                Ok(task) => self.look_at(task)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// The next seeds of one point that no worker has.
    fn next_chunk(&mut self) -> Option<Chunk> {
        if let Some(chunk) = self.again.pop_front() {
            return Some(chunk);
        }
        let mut chunk: Option<Chunk> = None;
        for _ in 0..self.chunk_size() {
            let Some((index, point, seed)) = self.journal.next_open(self.next) else { break };
            let chunk = chunk.get_or_insert_with(|| Chunk { point, seeds: Vec::new() });
            if chunk.point != point {
                break;
            }
            chunk.seeds.push(seed);
            self.next = index + 1;
        }
        chunk
    }

    /// How many seeds a task should have by what runs took so far: one until that is known.
    fn chunk_size(&self) -> usize {
        if self.n_timed == 0 {
            return 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rough mean")]
        let mean = self.seconds / self.n_timed as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest whole number there is"
        )]
        let fitting = (TASK_SECONDS / mean) as usize;
        // Towards the end, all workers should still have something to do.
        let n_open = self.journal.n_runs() - self.journal.n_done();
        let fair = usize::try_from(n_open).unwrap_or(usize::MAX) / (2 * self.pool.n_workers());
        fitting.min(fair).clamp(1, MOST_SEEDS)
    }

    fn submit(&mut self, chunk: Chunk) -> Result<(), Error> {
        let task = self.pool.submit(&chunk)?;
        self.n_tasks += 1;
        self.pending.insert(self.n_tasks, (chunk, task));
        self.look_at(self.n_tasks)
    }

    /// Takes in what a task came to, or asks to be told when it is over.
    fn look_at(&mut self, number: u64) -> Result<(), Error> {
        let Some((_, task)) = self.pending.get_mut(&number) else { return Ok(()) };
        let bell = Waker::from(Arc::new(Bell { task: number, sender: self.bell.0.clone() }));
        let Poll::Ready(answer) = Pin::new(task).poll(&mut Context::from_waker(&bell)) else {
            return Ok(());
        };
        let (chunk, _) = self.pending.remove(&number).expect("invariant: it was there before");
        match answer {
            Ok(answer) => {
                self.n_timed += chunk.seeds.len() as u64;
                self.seconds += answer.seconds;
                self.append(&chunk, &answer.lines)
            }
            Err(error) => self.failed(chunk, &error),
        }
    }

    /// A task failed as a whole: its runs are repeated one by one, so that each has its own error.
    fn failed(&mut self, chunk: Chunk, error: &process_pool::Error) -> Result<(), Error> {
        let is_of_the_run = matches!(
            error.kind(),
            PoolErrorKind::Service | PoolErrorKind::Panic | PoolErrorKind::WorkerDied
        );
        if !is_of_the_run {
            return Err(error.clone().into());
        }
        let Chunk { point, seeds } = chunk;
        if let [seed] = seeds[..] {
            let line = Line::new(point, seed, Err(message(error)));
            return self.append(&Chunk { point, seeds }, &[line.text()]);
        }
        self.again.extend(seeds.into_iter().map(|seed| Chunk { point, seeds: vec![seed] }));
        Ok(())
    }

    fn append(&mut self, chunk: &Chunk, lines: &[String]) -> Result<(), Error> {
        self.journal.append(chunk.point, &chunk.seeds, lines)?;
        self.control.set_runs_done(self.journal.n_done());
        Ok(())
    }
}

/// An error of a task without the number of the worker, which is another one each time.
fn message(error: &process_pool::Error) -> String {
    let text = error.to_string();
    match error.worker().and_then(|worker| text.strip_prefix(&worker.to_string())) {
        Some(rest) => format!("the run{rest}"),
        None => text,
    }
}

/// Where the folder of a run is kept, for those who read sweeps.
#[must_use]
pub fn run_folder(sweep: &Path, point: usize, seed: u64) -> PathBuf {
    sweep.join(RUNS).join(crate::service::folder_name(point, seed))
}

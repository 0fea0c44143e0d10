//! The loop of a run: sessions, steps, who is asked when.

use std::fmt;
use std::sync::Arc;

use pams_agent::Registry;
use pams_core::{AgentId, Error as CoreError, SessionId, SessionSpec};

use crate::asking::Purity;
use crate::choice::{Choice, Chooser, Rehearsal};
use crate::control::RunControl;
use crate::error::{Error, ErrorKind};
use crate::logger::Logger;
use crate::parallel::{Parallel, Plan};
use crate::population::Submissions;
use crate::recorder::Recorder;
use crate::report::{MarketReport, RunReport};
use crate::setup::Simulation;

/// A simulation that is ready to run. See the [crate](crate).
pub struct Runner<'l> {
    simulation: Simulation,
    recorder: Recorder<'l>,
    control: Arc<RunControl>,
    seed: u64,
    crew: Crew<'l>,
    batch: Vec<AgentId>,
    submissions: Submissions,
    urgent: Submissions,
}

/// Who asks the agents.
pub(crate) struct Crew<'l> {
    pub(crate) registry: Registry,
    /// Asks the normal agents at the same time; one after the other when there is none.
    pub(crate) parallel: Option<Parallel>,
    /// Decides whether `parallel` does.
    pub(crate) chooser: Option<Chooser<'l>>,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Runner")
            .field("seed", &self.seed)
            .field("simulation", &self.simulation)
            .finish_non_exhaustive()
    }
}

impl<'l> Runner<'l> {
    pub(crate) fn new(
        simulation: Simulation,
        recorder: Recorder<'l>,
        control: Arc<RunControl>,
        seed: u64,
        crew: Crew<'l>,
    ) -> Self {
        Self {
            simulation,
            recorder,
            control,
            seed,
            crew,
            batch: Vec::new(),
            submissions: Submissions::default(),
            urgent: Submissions::default(),
        }
    }

    /// Adds a logger to a runner that is ready, for outputs that should only be opened when the config
    /// is known to be good.
    #[must_use]
    pub fn logger(mut self, logger: impl Logger + 'l) -> Self {
        self.recorder.add(Box::new(logger));
        self
    }

    /// How many workers ask agents beside the calling thread; 0 for a sequential run.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.crew.parallel.as_ref().map_or(0, |parallel| parallel.plan().workers)
    }

    /// How the workers are started; none for a sequential run.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.crew.parallel.as_ref().map(Parallel::plan)
    }

    /// Runs all sessions.
    ///
    /// # Errors
    ///
    /// When an agent, an instruction, an event or a logger fails, or the run is asked to stop. The
    /// loggers have then seen everything up to that point.
    pub fn run(mut self) -> Result<RunReport, Error> {
        let outcome = self.begin().and_then(|()| self.run_sessions()).and_then(|()| self.end());
        if let Some(parallel) = &mut self.crew.parallel {
            parallel.stop();
        }
        let finished = self.recorder.finish();
        outcome?;
        finished?;
        Ok(self.report())
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.simulation.simulator.begin(&mut self.recorder);
        self.choose()?;
        let Simulation { simulator, population, .. } = &mut self.simulation;
        match &mut self.crew.parallel {
            Some(parallel) => parallel.start(simulator, population),
            None => Ok(()),
        }
    }

    fn choose(&mut self) -> Result<(), Error> {
        let Crew { registry, parallel, chooser } = &mut self.crew;
        let Some(chooser) = chooser.take() else { return Ok(()) };
        let Some(prepared) = parallel.take() else { return Ok(()) };
        let Simulation { simulator, population, normal, .. } = &self.simulation;
        let plan = prepared.plan();
        *parallel = match chooser(&Rehearsal { population, simulator, normal, registry, plan }) {
            Choice::Sequential => None,
            Choice::Prepared => Some(prepared),
            Choice::Executor(other) => Some(prepared.with_executor(other)?),
        };
        Ok(())
    }

    /// Looks back when all steps are over.
    fn end(&mut self) -> Result<(), Error> {
        if let Some(parallel) = &mut self.crew.parallel {
            parallel.finish()?;
        }
        #[cfg(unix)]
        if self.simulation.population.purity == Purity::Checked
            && let Some(sharing) = self.crew.registry.shared()
        {
            sharing.check().map_err(|error| Error::run("", error))?;
        }
        Ok(())
    }

    fn run_sessions(&mut self) -> Result<(), Error> {
        let sessions = std::mem::take(&mut self.simulation.sessions);
        self.control.begin(sessions.iter().map(|session| session.iteration_steps).sum());
        for (index, session) in sessions.iter().enumerate() {
            self.run_session(SessionId::from_index(index), session)?;
        }
        self.simulation.simulator.end(&mut self.recorder);
        self.recorder.accounts(self.simulation.simulator.accounts());
        self.recorder.check()
    }

    fn run_session(&mut self, id: SessionId, session: &SessionSpec) -> Result<(), Error> {
        self.simulation
            .simulator
            .begin_session(id, session.order_execution, &mut self.recorder)
            .map_err(|error| self.failed(error))?;
        for _ in 0..session.iteration_steps {
            self.step(session)?;
            self.recorder.check()?;
            let time = self.simulation.simulator.time();
            self.control.set_steps_done(time.since_start());
            if self.control.should_stop() {
                return Err(Error::new(ErrorKind::Interrupted(time), ""));
            }
        }
        self.simulation
            .simulator
            .end_session(&mut self.recorder)
            .map_err(|error| self.failed(error))
    }

    fn step(&mut self, session: &SessionSpec) -> Result<(), Error> {
        self.simulation.simulator.before_step().map_err(|error| self.failed(error))?;
        if session.order_placement.is_on() {
            self.ask_normal_agents(session.max_normal_orders)?;
            self.process_submissions(session)?;
        }
        self.simulation
            .simulator
            .end_step(&mut self.recorder)
            .map_err(|error| self.failed(error))?;
        self.recorder.step_ended(self.simulation.simulator.markets());
        self.simulation.simulator.move_clock(&mut self.recorder);
        Ok(())
    }

    /// Asks normal agents in a random order until `wanted` have submitted something: in batches of
    /// as many as are still wanted, so that it does not matter whether a batch is asked one after
    /// the other or at the same time.
    fn ask_normal_agents(&mut self, wanted: i64) -> Result<(), Error> {
        let wanted = usize::try_from(wanted).unwrap_or(0);
        self.submissions.clear();
        self.simulation.normal.shuffle(&mut self.simulation.generator);
        if self.crew.parallel.is_none() {
            return self.ask_one_by_one(wanted);
        }
        while self.submissions.lists.len() < wanted {
            self.next_batch(wanted - self.submissions.lists.len());
            if self.batch.is_empty() {
                break;
            }
            self.ask_batch()?;
        }
        Ok(())
    }

    /// Asks the agents that all batches together would ask.
    fn ask_one_by_one(&mut self, wanted: usize) -> Result<(), Error> {
        let Simulation { simulator, population, normal, generator, .. } = &mut self.simulation;
        let (submissions, recorder) = (&mut self.submissions, &self.recorder);
        while submissions.lists.len() < wanted
            && let Some(agent) = normal.next(generator)
        {
            population
                .ask(agent, simulator, &mut submissions.instructions)
                .map_err(|error| Error::run(recorder.place(simulator.time(), agent), error))?;
            submissions.close(agent);
        }
        Ok(())
    }

    /// Takes the next agents of the shuffled order, at most `size`.
    fn next_batch(&mut self, size: usize) {
        let Simulation { normal, generator, .. } = &mut self.simulation;
        self.batch.clear();
        self.batch.extend(std::iter::from_fn(|| normal.next(generator)).take(size));
    }

    fn ask_batch(&mut self) -> Result<(), Error> {
        let Simulation { simulator, population, .. } = &mut self.simulation;
        let (submissions, recorder) = (&mut self.submissions, &self.recorder);
        let parallel = self.crew.parallel.as_mut();
        parallel.expect("invariant: without workers agents are asked one by one").ask(
            &self.batch,
            simulator,
            population,
            submissions,
            recorder,
        )
    }

    /// Processes the submitted lists in a random order, each followed by the high-frequency agents
    /// or not.
    fn process_submissions(&mut self, session: &SessionSpec) -> Result<(), Error> {
        self.simulation.generator.shuffle(&mut self.submissions.lists);
        for index in 0..self.submissions.lists.len() {
            let Simulation { simulator, population, generator, .. } = &mut self.simulation;
            let (agent, range) = self.submissions.lists[index].clone();
            let instructions = &self.submissions.instructions[range];
            simulator
                .process(agent, instructions, population, &mut self.recorder)
                .map_err(|error| Error::run(self.recorder.place(simulator.time(), agent), error))?;
            let rate = session.high_frequency_submit_rate;
            if rate < generator.random() {
                continue;
            }
            self.high_frequency_round(session.max_high_frequency_orders)?;
        }
        Ok(())
    }

    /// Asks high-frequency agents in a random order, each seeing what those before it did, until
    /// `wanted` have submitted something.
    fn high_frequency_round(&mut self, wanted: i64) -> Result<(), Error> {
        let Simulation { simulator, population, high_frequency, generator, .. } =
            &mut self.simulation;
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let urgent = &mut self.urgent;
        high_frequency.shuffle(generator);
        let mut submitted = 0;
        while submitted < wanted
            && let Some(agent) = high_frequency.next(generator)
        {
            urgent.clear();
            population
                .ask(agent, simulator, &mut urgent.instructions)
                .map_err(|error| Error::run(self.recorder.place(simulator.time(), agent), error))?;
            if !urgent.instructions.is_empty() {
                submitted += 1;
                simulator
                    .process(agent, &urgent.instructions, population, &mut self.recorder)
                    .map_err(|error| {
                        Error::run(self.recorder.place(simulator.time(), agent), error)
                    })?;
            }
        }
        Ok(())
    }

    fn report(mut self) -> RunReport {
        let simulator = &self.simulation.simulator;
        let counts = self.recorder.counts;
        RunReport {
            seed: self.seed,
            generator: self.simulation.generator.kind(),
            steps: simulator.time().since_start(),
            orders: counts.orders,
            cancels: counts.cancels,
            expirations: counts.expirations,
            executions: counts.executions,
            markets: simulator.markets().iter().map(MarketReport::new).collect(),
            records_hash: self.recorder.take_hash(),
        }
    }

    fn failed(&self, error: CoreError) -> Error {
        Error::run(format!("step {}", self.simulation.simulator.time()), error)
    }
}

//! The runner that asks one agent after the other.

use std::fmt;
use std::sync::Arc;

use pams_core::{AgentId, Error as CoreError, SessionId, SessionSpec};

use crate::builder::RunnerBuilder;
use crate::control::RunControl;
use crate::error::{Error, ErrorKind};
use crate::logger::Logger;
use crate::population::Submissions;
use crate::recorder::Recorder;
use crate::report::{MarketReport, RunReport};
use crate::setup::Simulation;

/// Runs a simulation on the calling thread. See the [crate](crate).
pub struct SequentialRunner<'l> {
    simulation: Simulation,
    recorder: Recorder<'l>,
    control: Arc<RunControl>,
    seed: u64,
    submissions: Submissions,
    urgent: Submissions,
}

impl fmt::Debug for SequentialRunner<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SequentialRunner")
            .field("seed", &self.seed)
            .field("simulation", &self.simulation)
            .finish_non_exhaustive()
    }
}

impl<'l> SequentialRunner<'l> {
    /// Begins to describe a run.
    #[must_use]
    pub fn builder() -> RunnerBuilder<'l> {
        RunnerBuilder::default()
    }

    pub(crate) fn new(
        simulation: Simulation,
        recorder: Recorder<'l>,
        control: Arc<RunControl>,
        seed: u64,
    ) -> Self {
        Self {
            simulation,
            recorder,
            control,
            seed,
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

    /// Runs all sessions.
    ///
    /// # Errors
    ///
    /// When an agent, an instruction, an event or a logger fails, or the run is asked to stop. The
    /// loggers have then seen everything up to that point.
    pub fn run(mut self) -> Result<RunReport, Error> {
        let outcome = self.run_sessions();
        let finished = self.recorder.finish();
        outcome?;
        finished?;
        Ok(self.report())
    }

    fn run_sessions(&mut self) -> Result<(), Error> {
        let sessions = std::mem::take(&mut self.simulation.sessions);
        self.control.begin(sessions.iter().map(|session| session.iteration_steps).sum());
        self.simulation.simulator.begin(&mut self.recorder);
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
        self.simulation.simulator.move_clock(&mut self.recorder);
        Ok(())
    }

    /// Asks normal agents in a random order until `wanted` have submitted something.
    fn ask_normal_agents(&mut self, wanted: i64) -> Result<(), Error> {
        let Simulation { simulator, population, normal, generator, .. } = &mut self.simulation;
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let submissions = &mut self.submissions;
        submissions.clear();
        normal.shuffle(generator);
        while submissions.lists.len() < wanted
            && let Some(agent) = normal.next(generator)
        {
            population
                .ask(agent, simulator, &mut submissions.instructions)
                .map_err(|error| Error::run(place(simulator, &self.recorder, agent), error))?;
            submissions.close(agent);
        }
        Ok(())
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
                .map_err(|error| Error::run(place(simulator, &self.recorder, agent), error))?;
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
                .map_err(|error| Error::run(place(simulator, &self.recorder, agent), error))?;
            if !urgent.instructions.is_empty() {
                submitted += 1;
                simulator
                    .process(agent, &urgent.instructions, population, &mut self.recorder)
                    .map_err(|error| Error::run(place(simulator, &self.recorder, agent), error))?;
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

/// Where a run failed: the step and the agent.
fn place(simulator: &pams_core::Simulator, recorder: &Recorder<'_>, agent: AgentId) -> String {
    format!("step {}, agent {}", simulator.time(), recorder.names.agent(agent))
}

//! Asking normal agents at the same time, with the result of asking one after the other.
//!
//! Agents are asked in batches: as many as are still wanted, in the shuffled order. All agents of a
//! batch see the same markets whoever asks them, so it does not matter where and when they answer;
//! the answers are taken in the order of the batch.

mod executor;
mod threads;

use std::fmt;

use pams_config::SimulationSettings;
use pams_core::random::Generator;
use pams_core::{AgentId, Simulator};

use crate::error::{Error, ErrorKind};
use crate::population::{Population, Submissions};
use crate::recorder::Recorder;

pub use executor::{Answer, Executor, ExecutorError, Question, Replica, Reply, StartPlan, Task};
pub use threads::ThreadExecutor;

/// Cuts a batch into tasks: given its number of agents and the number of workers, the number of
/// agents of each task, in order.
pub type Splitting = Box<dyn FnMut(usize, usize) -> Vec<usize> + Send>;

/// As many tasks as there are workers, of sizes that differ by at most one.
fn evenly(n_agents: usize, n_workers: usize) -> Vec<usize> {
    let n_tasks = n_workers.min(n_agents);
    (0..n_tasks).map(|task| n_agents / n_tasks + usize::from(task < n_agents % n_tasks)).collect()
}

/// The parallel part of a runner.
pub(crate) struct Parallel {
    executor: Box<dyn Executor>,
    splitting: Splitting,
    plan: Plan,
}

/// How the workers of a run are started.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The number of workers.
    pub workers: usize,
    /// The most normal agents that are asked at the same time.
    pub largest_batch: usize,
    /// What the config says, with what the builder was told instead.
    pub settings: SimulationSettings,
}

impl fmt::Debug for Parallel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Parallel").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Parallel {
    pub(crate) fn new(
        executor: Box<dyn Executor>,
        splitting: Option<Splitting>,
        plan: Plan,
    ) -> Self {
        let splitting = splitting.unwrap_or_else(|| Box::new(evenly));
        Self { executor, splitting, plan }
    }

    /// The same with another executor.
    ///
    /// # Errors
    ///
    /// When the other one can't be prepared any more.
    pub(crate) fn with_executor(self, executor: Box<dyn Executor>) -> Result<Self, Error> {
        let mut other = Self { executor, ..self };
        other.prepare()?;
        Ok(other)
    }

    /// To be called when the run is set up.
    pub(crate) fn prepare(&mut self) -> Result<(), Error> {
        self.executor.prepare(&self.plan.settings).map_err(failed)
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Starts the workers; from now on the simulator keeps what changes for them.
    pub(crate) fn start(
        &mut self,
        simulator: &mut Simulator,
        population: &Population,
    ) -> Result<(), Error> {
        simulator.enable_deltas();
        let Plan { workers, largest_batch, ref settings } = self.plan;
        let replica = Replica::new(simulator.markets(), population);
        let plan = StartPlan { replica, workers, largest_batch, settings: settings.clone() };
        self.executor.start(plan).map_err(failed)
    }

    /// After the last step.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.executor.finish().map_err(failed)
    }

    pub(crate) fn stop(&mut self) {
        self.executor.stop();
    }

    /// Asks all agents of a batch.
    pub(crate) fn ask(
        &mut self,
        batch: &[AgentId],
        simulator: &mut Simulator,
        population: &mut Population,
        submissions: &mut Submissions,
        recorder: &Recorder<'_>,
    ) -> Result<(), Error> {
        let delta = simulator.take_delta();
        if !delta.is_empty() {
            self.executor.update(delta).map_err(failed)?;
        }
        let tasks = self.tasks(batch, simulator, population)?;
        let answers = self.executor.run(tasks).map_err(failed)?;
        let replies: Vec<Reply> = answers.into_iter().flatten().collect();
        if replies.len() != batch.len() {
            let (got, wanted) = (replies.len(), batch.len());
            return Err(failed(format!("{got} answers to {wanted} questions").into()));
        }
        for (&agent, Reply { generator, outcome }) in batch.iter().zip(replies) {
            population.generators[agent.index()] = generator;
            let instructions = outcome
                .map_err(|message| Error::run(recorder.place(simulator.time(), agent), message))?;
            submissions.instructions.extend(instructions);
            submissions.close(agent);
        }
        Ok(())
    }

    fn tasks(
        &mut self,
        batch: &[AgentId],
        simulator: &Simulator,
        population: &Population,
    ) -> Result<Vec<Task>, Error> {
        let sizes = (self.splitting)(batch.len(), self.plan.workers);
        let covered: usize = sizes.iter().sum();
        if covered != batch.len() {
            let wanted = batch.len();
            return Err(failed(
                format!("the splitting covers {covered} of {wanted} agents").into(),
            ));
        }
        let mut rest = batch;
        let mut task = |size| {
            let (agents, after) = rest.split_at(size);
            rest = after;
            agents.iter().map(|&agent| question(agent, simulator, population)).collect()
        };
        Ok(sizes.into_iter().map(&mut task).collect())
    }
}

fn question(agent: AgentId, simulator: &Simulator, population: &Population) -> Question {
    let generator: &Generator = &population.generators[agent.index()];
    Question {
        agent,
        account: simulator.accounts()[agent.index()].clone(),
        state: population.agents[agent.index()].state().clone(),
        state_changed: population.agents[agent.index()].has_changed(),
        generator: generator.clone(),
    }
}

pub(crate) fn failed(error: ExecutorError) -> Error {
    Error::new(ErrorKind::Executor(error), "")
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn batches_are_split_evenly_and_whole() {
        assert_eq!(evenly(8, 2), [4, 4]);
        assert_eq!(evenly(7, 3), [3, 2, 2]);
        assert_eq!(evenly(2, 8), [1, 1]);
        assert_eq!(evenly(1, 1), [1]);
        for n_agents in 1..40 {
            for n_workers in 1..40 {
                assert_eq!(evenly(n_agents, n_workers).iter().sum::<usize>(), n_agents);
            }
        }
    }
}

//! Choosing where normal agents are asked when the run is about to begin.

use std::fmt;

use pams_agent::Registry;
use pams_core::{AgentId, Simulator};

use crate::parallel::{Executor, Plan};
use crate::population::{Population, Queue};

/// Where the normal agents of a run are asked.
pub enum Choice {
    /// On the calling thread, one after the other.
    Sequential,
    /// By the executor that the builder was given.
    Prepared,
    /// By another one.
    Executor(Box<dyn Executor>),
}

impl fmt::Debug for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sequential => "Sequential",
            Self::Prepared => "Prepared",
            Self::Executor(_) => "Executor",
        })
    }
}

/// Makes a [`Choice`], see [`RunnerBuilder::choose`](crate::RunnerBuilder::choose).
pub(crate) type Chooser<'l> = Box<dyn FnOnce(&Rehearsal<'_>) -> Choice + Send + 'l>;

/// A simulation that is about to begin, to find out what asking its agents takes.
///
/// Asking is pure: agents are asked from copies of their generators, their answers are forgotten,
/// and the records are the same as without.
#[derive(Debug)]
pub struct Rehearsal<'a> {
    pub(crate) population: &'a Population,
    pub(crate) simulator: &'a Simulator,
    pub(crate) normal: &'a Queue,
    pub(crate) registry: &'a Registry,
    pub(crate) plan: &'a Plan,
}

impl Rehearsal<'_> {
    /// The normal agents, in the order of ids within their groups.
    #[must_use]
    pub fn agents(&self) -> &[AgentId] {
        self.normal.agents()
    }

    /// How workers would be started.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.plan
    }

    /// Asks an agent as if its turn came in the first step, and forgets what it says, be it an
    /// error.
    ///
    /// # Panics
    ///
    /// If there is no such agent.
    pub fn ask(&self, agent: AgentId) {
        let mut generator = self.population.generators[agent.index()].clone();
        let mut instructions = Vec::new();
        // An error is the run's, if the run comes to it.
        let _ =
            self.population.subject(agent, self.simulator).ask(&mut generator, &mut instructions);
        std::hint::black_box((generator, instructions));
    }

    /// Whether an agent holds memory that processes share, as neural agents do.
    ///
    /// # Panics
    ///
    /// If there is no such agent.
    #[cfg(unix)]
    #[must_use]
    pub fn shares_memory(&self, agent: AgentId) -> bool {
        let constant = self.population.agents[agent.index()].constant();
        let (_, memory) = self.registry.collect(|| crate::codec::encode(constant));
        !memory.is_empty()
    }
}

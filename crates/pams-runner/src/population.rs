//! All agents of a simulation, each with its generator.

use std::ops::Range;

use pams_agent::{AgentError, BoxedAgent};
use pams_core::random::{Generator, Permutation};
use pams_core::{AgentId, ExecutionRecord, Instruction, OrderRecord, Simulator, Traders};

use crate::asking::{Purity, Subject, class_of};

/// All agents, ordered by id.
#[derive(Debug, Default)]
pub(crate) struct Population {
    pub(crate) agents: Vec<BoxedAgent>,
    pub(crate) generators: Vec<Generator>,
    /// The classes of the agents, in the order of ids, each with its number of agents in a row.
    pub(crate) classes: Vec<(String, usize)>,
    pub(crate) purity: Purity,
}

impl Population {
    /// Asks one agent; its instructions are added to `instructions`.
    pub(crate) fn ask(
        &mut self,
        agent: AgentId,
        simulator: &Simulator,
        instructions: &mut Vec<Instruction>,
    ) -> Result<(), AgentError> {
        // Not `subject`, which would borrow the generators too.
        let subject = subject(&self.agents[agent.index()], agent, simulator);
        let generator = &mut self.generators[agent.index()];
        match self.purity {
            Purity::Trusted => subject.ask(generator, instructions),
            Purity::Checked => {
                subject.ask_twice(class_of(&self.classes, agent), generator, instructions)
            }
        }
    }

    /// An agent with what it reads when it is asked now.
    pub(crate) fn subject<'a>(&'a self, agent: AgentId, simulator: &'a Simulator) -> Subject<'a> {
        subject(&self.agents[agent.index()], agent, simulator)
    }
}

fn subject<'a>(boxed: &'a BoxedAgent, agent: AgentId, simulator: &'a Simulator) -> Subject<'a> {
    Subject {
        agent,
        constant: boxed.constant(),
        state: boxed.state(),
        markets: simulator.markets(),
        account: &simulator.accounts()[agent.index()],
    }
}

impl Traders for Population {
    fn accepted(&mut self, agent: AgentId, order: &OrderRecord) {
        self.agents[agent.index()].accepted(order);
    }

    fn canceled(&mut self, agent: AgentId, cancel: &OrderRecord) {
        self.agents[agent.index()].canceled(cancel);
    }

    fn executed(&mut self, agent: AgentId, fill: &ExecutionRecord) {
        self.agents[agent.index()].executed(fill);
    }
}

/// Agents that are asked in a random order.
#[derive(Debug)]
pub(crate) struct Queue {
    agents: Vec<AgentId>,
    order: Permutation,
}

impl Queue {
    pub(crate) fn new(agents: Vec<AgentId>) -> Self {
        Self { order: Permutation::new(agents.len()), agents }
    }

    pub(crate) fn agents(&self) -> &[AgentId] {
        &self.agents
    }

    /// Begins a new order.
    pub(crate) fn shuffle(&mut self, generator: &mut Generator) {
        self.order.start(generator);
    }

    /// The next agent of the order.
    pub(crate) fn next(&mut self, generator: &mut Generator) -> Option<AgentId> {
        self.order.next(generator).map(|place| self.agents[place as usize])
    }
}

/// What agents submitted, one list for each agent that submitted anything.
#[derive(Debug, Default)]
pub(crate) struct Submissions {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) lists: Vec<(AgentId, Range<usize>)>,
}

impl Submissions {
    pub(crate) fn clear(&mut self) {
        self.instructions.clear();
        self.lists.clear();
    }

    /// Closes the list of an agent that was just asked, if it submitted anything.
    pub(crate) fn close(&mut self, agent: AgentId) {
        let start = self.lists.last().map_or(0, |(_, range)| range.end);
        if self.instructions.len() > start {
            self.lists.push((agent, start..self.instructions.len()));
        }
    }
}

//! What travels between the runner and its worker processes.
//!
//! Agents and states are encoded one by one, since only their class can read them; everything else
//! is plain serde.

use pams_agent::{AgentState, Registry, SharedAgent};
use pams_core::random::Generator;
use pams_core::{Account, AgentId, Instruction, MarketView, StepDelta};
use process_pool::Bytes;
use serde::{Deserialize, Serialize};

use crate::asking::Purity;
use crate::codec::{self, CODEC};
use crate::parallel::{ExecutorError, Question, Replica, Reply};

/// What a worker starts with: the agents. The markets come with the first update.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Crew {
    /// The classes of the agents, in the order of ids, each with its number of agents in a row.
    classes: Vec<(String, usize)>,
    agents: Vec<Bytes>,
    purity: Purity,
    /// The keys of the memory that the agents speak of, whose descriptors come along.
    pub(crate) memory: Vec<u128>,
}

/// What all workers are told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Update {
    /// The markets as they are.
    Markets(Vec<MarketView>),
    /// What changed in the markets.
    Delta(StepDelta),
}

/// Questions that a worker answers one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireTask {
    /// The keys of the memory that the states speak of, whose descriptors come along.
    pub(crate) memory: Vec<u128>,
    pub(crate) questions: Vec<WireQuestion>,
}

/// A question to an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireQuestion {
    pub(crate) agent: AgentId,
    pub(crate) account: Account,
    /// None while the state is the one that agents of the class begin with.
    pub(crate) state: Option<Bytes>,
    pub(crate) generator: Generator,
}

/// The answer to a question.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireReply {
    /// None when nothing was drawn.
    pub(crate) generator: Option<Generator>,
    pub(crate) outcome: Result<Vec<Instruction>, String>,
}

impl Crew {
    /// Encodes the agents. The first one of each class is decoded and encoded again, so that a
    /// class that does not survive the journey is found before it starts.
    pub(crate) fn encode(replica: &Replica, registry: &Registry) -> Result<Self, ExecutorError> {
        let mut agents = Vec::with_capacity(replica.agents.len());
        for (class, count) in &replica.classes {
            let members = &replica.agents[agents.len()..agents.len() + count];
            for (index, agent) in members.iter().enumerate() {
                let bytes = encode(agent).map_err(|error| not_portable(class, &error))?;
                if index == 0 {
                    check_class(class, agent, &bytes, registry)
                        .map_err(|error| not_portable(class, &*error))?;
                }
                agents.push(bytes);
            }
        }
        let (classes, purity) = (replica.classes.clone(), replica.purity);
        Ok(Self { classes, agents, purity, memory: Vec::new() })
    }

    /// Says with which keys the memory comes that the agents speak of.
    pub(crate) fn with_memory(self, memory: Vec<u128>) -> Self {
        Self { memory, ..self }
    }

    /// The agents, and no markets yet.
    pub(crate) fn decode(self, registry: &Registry) -> Result<Replica, ExecutorError> {
        let mut encoded = self.agents.iter();
        let mut agents = Vec::with_capacity(self.agents.len());
        for (class, count) in &self.classes {
            for bytes in encoded.by_ref().take(*count) {
                agents.push(decode_agent(class, bytes, registry)?);
            }
        }
        Ok(Replica { markets: Vec::new(), agents, classes: self.classes, purity: self.purity })
    }
}

impl Update {
    pub(crate) fn apply(self, replica: &mut Replica) {
        match self {
            Self::Markets(markets) => replica.markets = markets,
            Self::Delta(delta) => replica.apply(&delta),
        }
    }
}

impl WireTask {
    /// The generators that were sent.
    pub(crate) fn into_generators(self) -> impl Iterator<Item = Generator> {
        self.questions.into_iter().map(|question| question.generator)
    }
}

impl WireQuestion {
    pub(crate) fn new(question: Question) -> Result<Self, ExecutorError> {
        let Question { agent, account, state, state_changed, generator } = question;
        let state = if state_changed { Some(encode(&state)?) } else { None };
        Ok(Self { agent, account, state, generator })
    }
}

impl WireReply {
    /// `before` is the generator that was sent.
    pub(crate) fn new(reply: Reply, before: &Generator) -> Self {
        let drew = reply.generator != *before;
        Self { generator: drew.then_some(reply.generator), outcome: reply.outcome }
    }

    /// `before` is the generator that was sent.
    pub(crate) fn into_reply(self, before: Generator) -> Reply {
        Reply { generator: self.generator.unwrap_or(before), outcome: self.outcome }
    }
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Bytes, bincode::error::EncodeError> {
    codec::encode(value).map(Bytes)
}

pub(crate) fn decode_state(
    agent: &SharedAgent,
    bytes: &Bytes,
) -> Result<AgentState, ExecutorError> {
    let mut decoder = bincode::serde::BorrowedSerdeDecoder::from_slice(&bytes.0, CODEC, ());
    Ok(agent.decode_state(decoder.as_deserializer())?)
}

fn decode_agent(
    class: &str,
    bytes: &Bytes,
    registry: &Registry,
) -> Result<SharedAgent, ExecutorError> {
    let mut decoder = bincode::serde::BorrowedSerdeDecoder::from_slice(&bytes.0, CODEC, ());
    Ok(registry.decode_agent(class, decoder.as_deserializer())?)
}

/// Whether an agent and its initial state come back as they went.
fn check_class(
    class: &str,
    agent: &SharedAgent,
    bytes: &Bytes,
    registry: &Registry,
) -> Result<(), ExecutorError> {
    let copy = decode_agent(class, bytes, registry)?;
    let state = encode(&agent.initial_state())?;
    let state_copy = decode_state(&copy, &state)?;
    if encode(&copy)? == *bytes && encode(&state_copy)? == state {
        Ok(())
    } else {
        Err("it does not come back as it went".into())
    }
}

fn not_portable(class: &str, error: &(dyn std::error::Error + 'static)) -> ExecutorError {
    format!(
        "agents of class {class} can't be sent to worker processes: {error} (serde's `flatten`, \
         `untagged` and `skip_serializing_if` don't work in a binary format)"
    )
    .into()
}

//! The wire format by itself, for an executor of your own: bytes to send, and a worker that takes
//! them in.
//!
//! The other side of the connection runs a program with the same classes: it makes a
//! [`RemoteWorker`] from what [`encode_start`] made, hands it every update, and sends back what it
//! answers to each task. How the bytes travel is the executor's business.

use pams_agent::Registry;
use pams_core::StepDelta;
use serde::de::DeserializeOwned;

use super::service::answer;
use super::wire::{Crew, Update, WireQuestion, WireReply, encode};
use crate::codec::CODEC;
use crate::parallel::{Answer, ExecutorError, Replica, StartPlan, Task};

/// A worker on the other side of a connection.
#[derive(Debug)]
pub struct RemoteWorker {
    replica: Replica,
}

impl RemoteWorker {
    /// Makes a worker from what [`encode_start`] made. The registry has to hold the classes of all
    /// agents.
    ///
    /// # Errors
    ///
    /// When the bytes are none of [`encode_start`], or name a class that is not registered.
    pub fn start(bytes: &[u8], registry: &Registry) -> Result<Self, ExecutorError> {
        let (crew, markets): (Crew, Update) = decode(bytes)?;
        let mut worker = Self { replica: crew.decode(registry)? };
        markets.apply(&mut worker.replica);
        Ok(worker)
    }

    /// Takes in what [`encode_update`] made. None may be missing.
    ///
    /// # Errors
    ///
    /// When the bytes are none of [`encode_update`].
    pub fn update(&mut self, bytes: &[u8]) -> Result<(), ExecutorError> {
        decode::<Update>(bytes)?.apply(&mut self.replica);
        Ok(())
    }

    /// Answers what [`encode_task`] made, for [`decode_answer`] to read.
    ///
    /// # Errors
    ///
    /// When the bytes are none of [`encode_task`]. An agent that fails is an answer.
    pub fn answer(&self, bytes: &[u8]) -> Result<Vec<u8>, ExecutorError> {
        let questions: Vec<WireQuestion> = decode(bytes)?;
        let replies: Vec<WireReply> = questions
            .into_iter()
            .map(|question| answer(&self.replica, question))
            .collect::<Result<_, _>>()?;
        Ok(encode(&replies)?.0)
    }
}

/// What a [`RemoteWorker`] starts from.
///
/// # Errors
///
/// When the agents of a class can't be encoded; the error names the class.
pub fn encode_start(plan: &StartPlan, registry: &Registry) -> Result<Vec<u8>, ExecutorError> {
    let markets = Update::Markets(plan.replica.markets().to_vec());
    Ok(encode(&(Crew::encode(&plan.replica, registry)?, markets))?.0)
}

/// What changed in the markets, for [`RemoteWorker::update`].
///
/// # Errors
///
/// When it can't be encoded.
pub fn encode_update(delta: &StepDelta) -> Result<Vec<u8>, ExecutorError> {
    Ok(encode(&Update::Delta(delta.clone()))?.0)
}

/// A task, for [`RemoteWorker::answer`].
///
/// # Errors
///
/// When a state can't be encoded.
pub fn encode_task(task: &Task) -> Result<Vec<u8>, ExecutorError> {
    let questions: Vec<WireQuestion> =
        task.iter().cloned().map(WireQuestion::new).collect::<Result<_, _>>()?;
    Ok(encode(&questions)?.0)
}

/// The answer to a task, from what [`RemoteWorker::answer`] made of it.
///
/// # Errors
///
/// When the bytes are none of [`RemoteWorker::answer`].
pub fn decode_answer(bytes: &[u8], task: Task) -> Result<Answer, ExecutorError> {
    let replies: Vec<WireReply> = decode(bytes)?;
    Ok(super::answers(replies, task.into_iter().map(|question| question.generator)))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ExecutorError> {
    let (value, used) = bincode::serde::decode_from_slice(bytes, CODEC)?;
    if used == bytes.len() {
        Ok(value)
    } else {
        Err(format!("{} bytes are left over of {}", bytes.len() - used, bytes.len()).into())
    }
}

//! Asking one agent, once, or twice to see whether asking is pure.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pams_agent::{AgentError, AgentState, Markets, SharedAgent, Turn};
use pams_core::random::Generator;
use pams_core::{Account, AgentId, Instruction, MarketView};
use serde::{Deserialize, Serialize};

use crate::codec::encode;

/// Whether a run looks at what agents promise: that asking one changes nothing but its generator.
///
/// ```
/// use pams_runner::{Purity, SequentialRunner};
///
/// let builder = SequentialRunner::builder().purity(Purity::Checked);
/// # drop(builder);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purity {
    /// Agents are asked once.
    #[default]
    Trusted,
    /// Agents are asked twice from the same state, markets, account and generator, wherever they
    /// are asked. When the two answers, the generators after them, or the encoded agent before and
    /// after differ, the run ends with an error that names the agent and its class. At the end, a
    /// process that asked agents also looks whether it changed memory that it shares. What is
    /// recorded is the first answer.
    Checked,
}

/// An agent that is asked, with everything that it reads.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) agent: AgentId,
    pub(crate) constant: &'a SharedAgent,
    pub(crate) state: &'a AgentState,
    pub(crate) markets: &'a [MarketView],
    pub(crate) account: &'a Account,
}

impl Subject<'_> {
    /// Asks the agent; its instructions are added to `instructions`.
    pub(crate) fn ask(
        &self,
        generator: &mut Generator,
        instructions: &mut Vec<Instruction>,
    ) -> Result<(), AgentError> {
        let mut turn = Turn::new(self.agent, self.account, generator, instructions);
        ask(|| self.constant.submit_orders(self.state, &Markets::new(self.markets), &mut turn))
    }

    /// Asks the agent twice from the same state. The second answer is only compared.
    pub(crate) fn ask_twice(
        &self,
        class: &str,
        generator: &mut Generator,
        instructions: &mut Vec<Instruction>,
    ) -> Result<(), AgentError> {
        let impure = |difference: &str| -> AgentError {
            format!(
                "the agent's class {class} is not pure: {difference} (in `submit_orders` nothing may \
                 change but the generator, and nothing may be read but the arguments: no atomics, \
                 locks, globals, clocks or files)"
            )
            .into()
        };
        let before = self.encoded(class)?;
        let first = Answer::of(self, generator);
        if let Some(part) = self.encoded(class)?.changed_since(&before) {
            return Err(impure(&format!("asking it changed {part}")));
        }
        let second = Answer::of(self, generator);
        if let Some(difference) = first.difference(&second)? {
            return Err(impure(&difference));
        }
        if let Some(part) = self.encoded(class)?.changed_since(&before) {
            return Err(impure(&format!("asking it again changed {part}")));
        }
        *generator = first.generator;
        instructions.extend(first.instructions);
        first.outcome
    }

    fn encoded(&self, class: &str) -> Result<Encoded, AgentError> {
        let failed = |error| format!("an agent of class {class} can't be encoded: {error}");
        Ok(Encoded {
            constant: encode(self.constant).map_err(failed)?,
            state: encode(self.state).map_err(failed)?,
        })
    }
}

/// What asking must not change.
struct Encoded {
    constant: Vec<u8>,
    state: Vec<u8>,
}

impl Encoded {
    fn changed_since(&self, before: &Self) -> Option<&'static str> {
        if self.constant != before.constant {
            Some("the agent itself, which is constant after it was made")
        } else if self.state != before.state {
            Some("the agent's state, which only callbacks may change")
        } else {
            None
        }
    }
}

/// What asking an agent from a copy of its generator came to.
struct Answer {
    outcome: Result<(), AgentError>,
    instructions: Vec<Instruction>,
    generator: Generator,
}

impl Answer {
    fn of(subject: &Subject<'_>, generator: &Generator) -> Self {
        let (mut generator, mut instructions) = (generator.clone(), Vec::new());
        let outcome = subject.ask(&mut generator, &mut instructions);
        Self { outcome, instructions, generator }
    }

    /// In what another answer to the same question differs.
    fn difference(&self, other: &Self) -> Result<Option<String>, AgentError> {
        let text = |answer: &Self| match &answer.outcome {
            Ok(()) => "no error".to_owned(),
            Err(error) => format!("the error \"{error}\""),
        };
        let (first, second) = (text(self), text(other));
        if first != second {
            return Ok(Some(format!(
                "asked twice from the same state, it gave {first} and then {second}"
            )));
        }
        // Encoded, since a price that is not a number is not equal to itself.
        if encode(&self.instructions)? != encode(&other.instructions)? {
            let (first, second) = (self.instructions.len(), other.instructions.len());
            return Ok(Some(format!(
                "asked twice from the same state, it submitted other instructions ({first} and \
                 then {second})"
            )));
        }
        if self.generator != other.generator {
            return Ok(Some("asked twice from the same state, it drew other numbers".to_owned()));
        }
        Ok(None)
    }
}

/// The class of an agent, from the classes in the order of ids, each with its number of agents in a
/// row.
pub(crate) fn class_of(classes: &[(String, usize)], agent: AgentId) -> &str {
    let mut before = 0;
    for (class, count) in classes {
        before += count;
        if agent.index() < before {
            return class;
        }
    }
    unreachable!("invariant: every agent has a class")
}

/// Asks an agent; a panic becomes an error, so that it ends the run alike wherever it happens.
fn ask(question: impl FnOnce() -> Result<(), AgentError>) -> Result<(), AgentError> {
    // What the question has written to is dropped with the run that the error ends.
    catch_unwind(AssertUnwindSafe(question)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Err(format!("the agent panicked: {message}").into())
    })
}

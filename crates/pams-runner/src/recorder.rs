//! Where all records of a run go: the counts, the hash and the loggers.

use std::io;

use pams_core::{Account, AgentId, MarketView, Record, RecordSink, Step};

use crate::error::{Error, ErrorKind};
use crate::hash::{RecordHash, RecordHasher};
use crate::logger::Logger;
use crate::names::NameTable;

/// See the module.
pub(crate) struct Recorder<'l> {
    pub(crate) counts: Counts,
    pub(crate) names: NameTable,
    hasher: Option<RecordHasher>,
    loggers: Vec<Box<dyn Logger + 'l>>,
    failure: Option<io::Error>,
}

/// How many records of each kind there were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) orders: u64,
    pub(crate) cancels: u64,
    pub(crate) expirations: u64,
    pub(crate) executions: u64,
}

impl<'l> Recorder<'l> {
    pub(crate) fn new(
        names: NameTable,
        hasher: Option<RecordHasher>,
        loggers: Vec<Box<dyn Logger + 'l>>,
    ) -> Self {
        Self { counts: Counts::default(), names, hasher, loggers, failure: None }
    }

    /// Where a run is: the step and the agent.
    pub(crate) fn place(&self, time: Step, agent: AgentId) -> String {
        format!("step {time}, agent {}", self.names.agent(agent))
    }

    pub(crate) fn add(&mut self, logger: Box<dyn Logger + 'l>) {
        self.loggers.push(logger);
    }

    /// The first failure of a logger, if there was one.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.failure.take() {
            None => Ok(()),
            Some(error) => {
                Err(Error::new(ErrorKind::Log(error), "the records could not be written"))
            }
        }
    }

    pub(crate) fn step_ended(&mut self, markets: &[MarketView]) {
        let names = &self.names;
        tell(&mut self.loggers, &mut self.failure, |logger| logger.step_ended(markets, names));
    }

    pub(crate) fn accounts(&mut self, accounts: &[Account]) {
        for (index, account) in accounts.iter().enumerate() {
            let agent = AgentId::from_index(index);
            if let Some(hasher) = &mut self.hasher {
                hasher.account(agent, account);
            }
            let names = &self.names;
            tell(&mut self.loggers, &mut self.failure, |logger| {
                logger.account(agent, account, names)
            });
        }
    }

    /// Lets the loggers write what they hold back.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        tell(&mut self.loggers, &mut self.failure, Logger::finish);
        self.check()
    }

    #[inline(never)]
    fn tell_loggers(&mut self, record: Record) {
        let names = &self.names;
        tell(&mut self.loggers, &mut self.failure, |logger| logger.record(&record, names));
    }

    pub(crate) fn take_hash(&mut self) -> Option<RecordHash> {
        self.hasher.take().map(RecordHasher::finish)
    }
}

impl RecordSink for Recorder<'_> {
    /// Inlined, because every caller knows which kind of record it has.
    #[inline(always)]
    fn record(&mut self, record: Record) {
        match record {
            Record::Order(_) => self.counts.orders += 1,
            Record::Cancel(_) => self.counts.cancels += 1,
            Record::Expiration(_) => self.counts.expirations += 1,
            Record::Execution(_) => self.counts.executions += 1,
            _ => {}
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.record(&record);
        }
        if !self.loggers.is_empty() {
            self.tell_loggers(record);
        }
    }
}

/// Calls all loggers and keeps the first failure.
fn tell<'l>(
    loggers: &mut [Box<dyn Logger + 'l>],
    failure: &mut Option<io::Error>,
    mut call: impl FnMut(&mut (dyn Logger + 'l)) -> io::Result<()>,
) {
    for logger in loggers {
        if let Err(error) = call(logger.as_mut()) {
            failure.get_or_insert(error);
        }
    }
}

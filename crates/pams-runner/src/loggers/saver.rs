//! Records kept in memory.

use std::io;

use pams_core::{Account, AgentId, Record, Step, StepRecord};

use crate::logger::Logger;
use crate::names::NameTable;

/// Keeps all records and accounts of a run, for looking at them afterwards.
#[derive(Debug, Default)]
pub struct MemorySaver {
    records: Vec<Record>,
    accounts: Vec<Account>,
    names: Option<NameTable>,
}

impl MemorySaver {
    /// All records, in order.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// All accounts after the run, ordered by agent id.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The names behind the ids; none before the run.
    #[must_use]
    pub fn names(&self) -> Option<&NameTable> {
        self.names.as_ref()
    }

    /// The market price of a market at the end of each step, in price units; nothing when there is
    /// no such market.
    pub fn market_prices(&self, market: &str) -> impl Iterator<Item = (Step, f64)> + '_ {
        let wanted = self.names.as_ref().and_then(|names| names.market_id(market));
        self.records.iter().filter_map(move |record| match record {
            Record::Step(StepRecord { market, time, market_price, .. })
                if Some(*market) == wanted =>
            {
                Some((*time, *market_price))
            }
            _ => None,
        })
    }
}

impl Logger for MemorySaver {
    fn record(&mut self, record: &Record, names: &NameTable) -> io::Result<()> {
        if self.names.is_none() {
            self.names = Some(names.clone());
        }
        self.records.push(*record);
        Ok(())
    }

    fn account(
        &mut self,
        _agent: AgentId,
        account: &Account,
        _names: &NameTable,
    ) -> io::Result<()> {
        self.accounts.push(account.clone());
        Ok(())
    }
}

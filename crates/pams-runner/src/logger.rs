//! What wants to see the records of a run.

use std::io;

use pams_core::{Account, AgentId, MarketView, Record};

use crate::names::NameTable;

/// Sees every record of a run, in order, and after the run every account.
///
/// A logger can't change a run: what it does, returns or costs never reaches a record. An error
/// ends the run after the current step.
///
/// [`record`](Self::record) is required; override the others to see the markets at the end of a
/// step, to see accounts, or to write what is still buffered.
pub trait Logger: Send {
    /// The next record. `names` has the names behind its ids.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    fn record(&mut self, record: &Record, names: &NameTable) -> io::Result<()>;

    /// A step ended: its records have been told, and the clock has not moved yet. Markets are in the
    /// order of their ids.
    ///
    /// # Errors
    ///
    /// When what is taken from the markets can't be written.
    fn step_ended(&mut self, _markets: &[MarketView], _names: &NameTable) -> io::Result<()> {
        Ok(())
    }

    /// An account after the run, in the order of agent ids.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    fn account(
        &mut self,
        _agent: AgentId,
        _account: &Account,
        _names: &NameTable,
    ) -> io::Result<()> {
        Ok(())
    }

    /// There is nothing more to come, also after a run that failed.
    ///
    /// # Errors
    ///
    /// When what is buffered can't be written.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<L: Logger + ?Sized> Logger for &mut L {
    fn record(&mut self, record: &Record, names: &NameTable) -> io::Result<()> {
        (**self).record(record, names)
    }

    fn step_ended(&mut self, markets: &[MarketView], names: &NameTable) -> io::Result<()> {
        (**self).step_ended(markets, names)
    }

    fn account(&mut self, agent: AgentId, account: &Account, names: &NameTable) -> io::Result<()> {
        (**self).account(agent, account, names)
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}

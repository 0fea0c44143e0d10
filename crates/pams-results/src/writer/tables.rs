//! The tables of a run folder while they are written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use pams_core::{Account, AgentId, Record};
use pams_runner::NameTable;

use super::{Chunk, ROW_GROUP, WriteOptions};
use crate::error::Error;
use crate::format::Encoder;
use crate::rows::{AccountRow, HoldingRow, Numbered, SessionEvent, SessionRow};
use crate::table::{Column, RowWriter, TableSpec, columns};
use crate::tables::{
    ACCOUNTS, CANCELS, DEPTH, EXECUTIONS, EXPIRATIONS, HOLDINGS, ORDERS, Row, SESSIONS, STEPS,
};

/// How many rows each table has.
pub(super) type RowCounts = BTreeMap<String, u64>;

/// All tables of a run folder.
pub(super) struct Tables {
    names: NameTable,
    steps: Table,
    orders: Table,
    cancels: Table,
    expirations: Table,
    executions: Table,
    sessions: Table,
    accounts: Table,
    holdings: Table,
    depth: Option<Table>,
}

impl Tables {
    /// Makes the files in `folder`; errors speak of them as they will be, in `target`.
    pub(super) fn create(
        folder: &Path,
        target: &Path,
        options: &WriteOptions,
        names: NameTable,
    ) -> Result<Self, Error> {
        let create = |spec: &'static TableSpec| {
            let file = options.format.file_name(spec.name);
            let made = File::create(folder.join(&file))
                .and_then(|handle| options.format.encoder(spec, handle));
            match made {
                Ok(encoder) => Ok(Table::new(spec, target.join(file), encoder)),
                Err(error) => Err(Error::write(target.join(file), error)),
            }
        };
        Ok(Self {
            names,
            steps: create(&STEPS)?,
            orders: create(&ORDERS)?,
            cancels: create(&CANCELS)?,
            expirations: create(&EXPIRATIONS)?,
            executions: create(&EXECUTIONS)?,
            sessions: create(&SESSIONS)?,
            accounts: create(&ACCOUNTS)?,
            holdings: create(&HOLDINGS)?,
            depth: options.depth.map(|_| create(&DEPTH)).transpose()?,
        })
    }

    pub(super) fn add(&mut self, chunk: &Chunk) -> Result<(), Error> {
        for (number, record) in &chunk.records {
            self.add_record(*number, record)?;
        }
        for step in &chunk.steps {
            self.steps.push(step, &self.names)?;
        }
        if let Some(depth) = &mut self.depth {
            for level in &chunk.depth {
                depth.push(level, &self.names)?;
            }
        }
        for (agent, account) in &chunk.accounts {
            self.add_account(*agent, account)?;
        }
        Ok(())
    }

    fn add_record(&mut self, number: u64, record: &Record) -> Result<(), Error> {
        let names = &self.names;
        let (time, event, session) = match *record {
            Record::Order(record) => return self.orders.push(&Numbered { number, record }, names),
            Record::Cancel(record) => {
                return self.cancels.push(&Numbered { number, record }, names);
            }
            Record::Expiration(record) => {
                return self.expirations.push(&Numbered { number, record }, names);
            }
            Record::Execution(record) => {
                return self.executions.push(&Numbered { number, record }, names);
            }
            Record::Step(_) => unreachable!("invariant: steps travel with their markets"),
            Record::SessionBegin(session) => {
                (session.time, SessionEvent::SessionBegin, Some(session.session))
            }
            Record::SessionEnd(session) => {
                (session.time, SessionEvent::SessionEnd, Some(session.session))
            }
            Record::SimulationBegin(time) => (time, SessionEvent::SimulationBegin, None),
            Record::SimulationEnd(time) => (time, SessionEvent::SimulationEnd, None),
        };
        self.sessions.push(&SessionRow { number, time, event, session }, names)
    }

    fn add_account(&mut self, agent: AgentId, account: &Account) -> Result<(), Error> {
        let name = self.names.agent(agent).into();
        self.accounts.push(&AccountRow { agent, name, cash: account.cash() }, &self.names)?;
        for (market, units) in account.holdings() {
            self.holdings.push(&HoldingRow { agent, market, units }, &self.names)?;
        }
        Ok(())
    }

    /// Writes what is left, and waits until it is on disk.
    pub(super) fn finish(self) -> Result<RowCounts, Error> {
        let records = [
            self.steps,
            self.orders,
            self.cancels,
            self.expirations,
            self.executions,
            self.sessions,
        ];
        let ends = [self.accounts, self.holdings];
        records.into_iter().chain(ends).chain(self.depth).map(Table::finish).collect()
    }
}

/// One table while it is written.
struct Table {
    spec: &'static TableSpec,
    /// Where it will be.
    path: PathBuf,
    columns: Vec<Column>,
    encoder: Box<dyn Encoder>,
    /// Rows that wait in `columns`.
    n_waiting: usize,
    n_written: u64,
}

impl Table {
    fn new(spec: &'static TableSpec, path: PathBuf, encoder: Box<dyn Encoder>) -> Self {
        Self { spec, path, columns: columns(spec), encoder, n_waiting: 0, n_written: 0 }
    }

    fn push(&mut self, row: &impl Row, names: &NameTable) -> Result<(), Error> {
        row.write(RowWriter::new(&mut self.columns), names);
        self.n_waiting += 1;
        if self.n_waiting < ROW_GROUP { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Error> {
        if self.n_waiting > 0 {
            self.encoder.write(&self.columns).map_err(|error| self.failed(error))?;
        }
        self.columns.iter_mut().for_each(Column::clear);
        self.n_written += self.n_waiting as u64;
        self.n_waiting = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<(String, u64), Error> {
        self.write()?;
        let Self { spec, path, encoder, n_written, .. } = self;
        let file = encoder.finish().and_then(|file| file.sync_all());
        file.map_err(|error| Error::write(path, error))?;
        Ok((spec.name.to_owned(), n_written))
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::write(&self.path, error)
    }
}

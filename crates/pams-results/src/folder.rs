//! Reading a run folder.

use std::fs;
use std::io;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pams_core::{Account, AgentId, ExecutionRecord, MarketId, OrderRecord, Record, SessionRecord};
use pams_runner::{
    JsonLines, Logger as _, NameTable, ParseRecordHashError, RecordHash, RecordHasher,
};

use crate::error::{Error, ErrorKind};
use crate::format::Decoder;
use crate::info::{self, RunInfo};
use crate::rows::{AccountRow, DepthRow, HoldingRow, Numbered, SessionEvent, SessionRow, StepRow};
use crate::table::{Column, RowReader, TableSpec, columns};
use crate::tables::{
    ACCOUNTS, CANCELS, DEPTH, EXECUTIONS, EXPIRATIONS, HOLDINGS, ORDERS, Row, SESSIONS, STEPS,
};

/// A run folder that is complete. See the [crate](crate) for an example.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    info: RunInfo,
}

impl RunFolder {
    /// Opens a run folder, whatever the format of its tables.
    ///
    /// # Errors
    ///
    /// When it is no run folder, or its `run.json` can't be read or is of another version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let file = path.join(info::FILE);
        let text = fs::read_to_string(&file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if path.exists() => Error::new(ErrorKind::NotARun, &path),
            io::ErrorKind::NotFound => Error::read(&path, error),
            io::ErrorKind::NotADirectory => Error::new(ErrorKind::NotARun, &path),
            _ => Error::read(&file, error),
        })?;
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| Error::damaged(&file, error.to_string()))?;
        if let Some(format) = value.get("format").and_then(serde_json::Value::as_u64)
            && format != u64::from(info::FORMAT)
        {
            let what = format!("its format is {format}, and this program reads {}", info::FORMAT);
            return Err(Error::damaged(file, what));
        }
        let info = serde_json::from_value(value)
            .map_err(|error| Error::damaged(file, error.to_string()))?;
        Ok(Self { path, info })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the run was.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Where the config of the run is, which can be run again by itself.
    #[must_use]
    pub fn config_path(&self) -> PathBuf {
        self.path.join("config.json")
    }

    /// Checks that the config is still what was run.
    ///
    /// # Errors
    ///
    /// When it can't be read, or was changed.
    pub fn check_config(&self) -> Result<(), Error> {
        let path = self.config_path();
        let text = fs::read_to_string(&path).map_err(|error| Error::read(&path, error))?;
        let hash = crate::writer::hash(&text);
        if hash == self.info.config.hash {
            return Ok(());
        }
        let what = format!("its hash is {hash}, and run.json says {}", self.info.config.hash);
        Err(Error::damaged(path, what))
    }

    /// The hash of all records and accounts as `run.json` has it; none if it was not made.
    ///
    /// # Errors
    ///
    /// When it is no hash.
    pub fn records_hash(&self) -> Result<Option<RecordHash>, Error> {
        let parse = |text: &String| text.parse();
        let hash = self.info.records_hash.as_ref().map(parse).transpose();
        hash.map_err(|error: ParseRecordHashError| {
            Error::damaged(self.path.join(info::FILE), format!("records_hash: {error}"))
        })
    }

    /// The hash of the records and accounts that the tables hold.
    ///
    /// # Errors
    ///
    /// When a table can't be read.
    pub fn hash_tables(&self) -> Result<RecordHash, Error> {
        let mut hasher = RecordHasher::new();
        for record in self.records()? {
            hasher.record(&record?);
        }
        let accounts = self.full_accounts()?;
        for (index, (_, account)) in accounts.iter().enumerate() {
            hasher.account(AgentId::from_index(index), account);
        }
        Ok(hasher.finish())
    }

    /// The names behind the ids.
    ///
    /// # Errors
    ///
    /// When the table of accounts can't be read, which has the names of the agents.
    pub fn names(&self) -> Result<NameTable, Error> {
        let agents: Result<Vec<_>, _> =
            self.accounts()?.map(|row| row.map(|row| row.name.to_string())).collect();
        let (markets, sessions) = (self.info.markets.clone(), self.info.sessions.clone());
        Ok(NameTable::from_lists(markets, agents?, sessions))
    }

    /// All records in the order in which things happened.
    ///
    /// # Errors
    ///
    /// When a table can't be opened; the iterator errors when one can't be read.
    pub fn records(&self) -> Result<Records, Error> {
        Records::new(self)
    }

    /// The records and accounts as lines of a log (`pams run --log`).
    ///
    /// # Errors
    ///
    /// When a table can't be opened; the iterator errors when one can't be read.
    pub fn log_lines(&self) -> Result<impl Iterator<Item = Result<String, Error>> + use<>, Error> {
        let (records, names) = (self.records()?, self.names()?);
        let accounts = self.full_accounts()?;
        let table = names.clone();
        let records =
            records.map(move |record| record.map(|record| line(|log| log.record(&record, &table))));
        let accounts = accounts.into_iter().enumerate().map(move |(index, (_, account))| {
            Ok(line(|log| log.account(AgentId::from_index(index), &account, &names)))
        });
        Ok(records.chain(accounts))
    }

    /// The markets at the end of each step.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn steps(&self) -> Result<Rows<StepRow>, Error> {
        self.rows(&STEPS)
    }

    /// The orders that were accepted.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn orders(&self) -> Result<Rows<Numbered<OrderRecord>>, Error> {
        self.rows(&ORDERS)
    }

    /// The cancels that were accepted.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn cancels(&self) -> Result<Rows<Numbered<OrderRecord>>, Error> {
        self.rows(&CANCELS)
    }

    /// The orders whose time was over.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn expirations(&self) -> Result<Rows<Numbered<OrderRecord>>, Error> {
        self.rows(&EXPIRATIONS)
    }

    /// The fills.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn executions(&self) -> Result<Rows<Numbered<ExecutionRecord>>, Error> {
        self.rows(&EXECUTIONS)
    }

    /// Begins and ends of sessions and of the simulation.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn sessions(&self) -> Result<Rows<SessionRow>, Error> {
        self.rows(&SESSIONS)
    }

    /// The agents at the end, ordered by id.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn accounts(&self) -> Result<Rows<AccountRow>, Error> {
        self.rows(&ACCOUNTS)
    }

    /// What the agents hold at the end, ordered by agent and market.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn holdings(&self) -> Result<Rows<HoldingRow>, Error> {
        self.rows(&HOLDINGS)
    }

    /// Levels of the books; none when they were not asked for.
    ///
    /// # Errors
    ///
    /// When the table can't be opened; the iterator errors when it can't be read.
    pub fn depth(&self) -> Result<Option<Rows<DepthRow>>, Error> {
        self.info.tables.depth.map(|_| self.rows(&DEPTH)).transpose()
    }

    fn rows<T>(&self, spec: &TableSpec) -> Result<Rows<T>, Error> {
        let format = self.info.tables.format;
        let path = self.path.join(format.file_name(spec.name));
        let decoder =
            format.decoder(spec, &path).map_err(|error| read_failed(path.clone(), error))?;
        Ok(Rows {
            path,
            decoder: Some(decoder),
            columns: columns(spec),
            next: 0,
            n_rows: 0,
            row: std::marker::PhantomData,
        })
    }

    /// The accounts by agent, with their names.
    fn full_accounts(&self) -> Result<Vec<(Arc<str>, Account)>, Error> {
        let mut holdings = self.holdings()?.peekable();
        let mut accounts = Vec::new();
        for row in self.accounts()? {
            let row = row?;
            let held = held_by(&mut holdings, row.agent)?;
            let markets: Vec<MarketId> = held.iter().map(|holding| holding.market).collect();
            if row.agent.index() != accounts.len() || !markets.is_sorted_by(|a, b| a < b) {
                let path = self.path.join(self.info.tables.format.file_name("accounts"));
                return Err(Error::damaged(path, "agents or markets are not in their order"));
            }
            let mut account = Account::new(row.cash, markets.into());
            for holding in held {
                account.set_holding(holding.market, holding.units);
            }
            accounts.push((row.name, account));
        }
        Ok(accounts)
    }
}

/// The next rows of a table of holdings that are an agent's.
fn held_by(
    holdings: &mut Peekable<Rows<HoldingRow>>,
    agent: AgentId,
) -> Result<Vec<HoldingRow>, Error> {
    let mut held = Vec::new();
    while let Some(row) = holdings.next_if(|row| !matches!(row, Ok(row) if row.agent != agent)) {
        held.push(row?);
    }
    Ok(held)
}

/// What a log has for one entry, without the line feed.
fn line(write: impl FnOnce(&mut JsonLines<&mut Vec<u8>>) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut JsonLines::new(&mut bytes)).expect("invariant: memory can be written");
    let line = String::from_utf8(bytes).expect("invariant: JSON is UTF-8");
    line.trim_end().to_owned()
}

fn read_failed(path: PathBuf, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Error::damaged(path, error.to_string())
        }
        _ => Error::read(path, error),
    }
}

/// The rows of a table, read in batches. After an error there are no more.
pub struct Rows<T> {
    path: PathBuf,
    /// None after the end.
    decoder: Option<Box<dyn Decoder>>,
    columns: Vec<Column>,
    /// The next row of `columns`.
    next: usize,
    n_rows: usize,
    row: std::marker::PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Rows<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rows").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<T> Rows<T> {
    /// Reads the next batch if this one is used up; whether there is a row.
    fn fill(&mut self) -> io::Result<bool> {
        if self.next < self.n_rows {
            return Ok(true);
        }
        let Some(decoder) = &mut self.decoder else { return Ok(false) };
        self.columns.iter_mut().for_each(Column::reset);
        self.n_rows = decoder.read(&mut self.columns)?;
        self.next = 0;
        Ok(self.n_rows > 0)
    }

    fn fail(&mut self, error: Error) -> Option<Result<T, Error>> {
        self.decoder = None;
        self.n_rows = 0;
        Some(Err(error))
    }
}

impl<T: Row> Iterator for Rows<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(true) => {}
            Ok(false) => {
                self.decoder = None;
                return None;
            }
            Err(error) => return self.fail(read_failed(self.path.clone(), error)),
        }
        let mut row = RowReader::new(&self.columns, self.next);
        self.next += 1;
        match T::read(&mut row) {
            Ok(row) => Some(Ok(row)),
            Err(what) => self.fail(Error::damaged(self.path.clone(), what)),
        }
    }
}

/// All records of a run in the order in which things happened. After an error there are no more.
pub struct Records {
    folder: PathBuf,
    tables: Vec<Numbers>,
    next: u64,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Records")
            .field("folder", &self.folder)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Records {
    fn new(folder: &RunFolder) -> Result<Self, Error> {
        let tables = vec![
            boxed(folder.orders()?, |row| (row.number, Record::Order(row.record))),
            boxed(folder.executions()?, |row| (row.number, Record::Execution(row.record))),
            boxed(folder.steps()?, |row| (row.number, Record::Step(row.record))),
            boxed(folder.expirations()?, |row| (row.number, Record::Expiration(row.record))),
            boxed(folder.cancels()?, |row| (row.number, Record::Cancel(row.record))),
            boxed(folder.sessions()?, |row| (row.number, row.record())),
        ];
        Ok(Self { folder: folder.path.clone(), tables, next: 0 })
    }
}

type Numbers = Peekable<Box<dyn Iterator<Item = Result<(u64, Record), Error>>>>;

fn boxed<T: Row + 'static>(rows: Rows<T>, record: fn(T) -> (u64, Record)) -> Numbers {
    let rows: Box<dyn Iterator<Item = _>> = Box::new(rows.map(move |row| row.map(record)));
    rows.peekable()
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let wanted = self.next;
        let is_next = |row: &Result<(u64, Record), Error>| !matches!(row, Ok((number, _)) if *number != wanted);
        let mut is_over = true;
        for table in &mut self.tables {
            if let Some(row) = table.next_if(is_next) {
                self.next += 1;
                if row.is_err() {
                    self.tables.clear();
                }
                return Some(row.map(|(_, record)| record));
            }
            is_over &= table.peek().is_none();
        }
        if is_over {
            return None;
        }
        self.tables.clear();
        let what = format!("record {wanted} is in no table, but later ones are");
        Some(Err(Error::damaged(self.folder.clone(), what)))
    }
}

impl SessionRow {
    fn record(self) -> Record {
        let Self { time, event, session, .. } = self;
        match (event, session) {
            (SessionEvent::SessionBegin, Some(session)) => {
                Record::SessionBegin(SessionRecord { session, time })
            }
            (SessionEvent::SessionEnd, Some(session)) => {
                Record::SessionEnd(SessionRecord { session, time })
            }
            (SessionEvent::SimulationBegin | SessionEvent::SessionBegin, _) => {
                Record::SimulationBegin(time)
            }
            (SessionEvent::SimulationEnd | SessionEvent::SessionEnd, _) => {
                Record::SimulationEnd(time)
            }
        }
    }
}

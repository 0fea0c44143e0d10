//! Writing a run folder while a run goes on.
//!
//! The thread of the run only gathers records; another thread sorts them into tables and writes
//! those. Both wait for each other, so memory stays bounded: some chunks of records under way, and
//! one batch of rows for each table.

mod tables;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use pams_core::{Account, AgentId, MarketView, Record, Side, Step, StepRecord};
use pams_runner::{Logger, NameTable, RunReport};
use serde::Serialize;
use serde_json::Value as Json;

use crate::error::Error;
use crate::format::TableFormat;
use crate::info::{self, ConfigInfo, Depth, RunInfo, RunTiming, RunnerInfo, TablesInfo};
use crate::machine::Machine;
use crate::partial::{Existing, PartialFolder};
use crate::rows::{DepthRow, StepRow};
use tables::{RowCounts, Tables};

/// How many rows a table keeps in memory before it writes them.
pub(crate) const ROW_GROUP: usize = 1 << 16;

/// How many records travel to the writing thread at once.
const CHUNK: usize = 1 << 12;

/// How many chunks may wait for the writing thread.
const WAITING: usize = 4;

/// What a run folder holds and where it lies.
///
/// By default the tables are Parquet, without depth, and a folder that exists is kept.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// How the tables are written.
    pub format: TableFormat,
    /// How much of the order books is kept; by default nothing.
    pub depth: Option<Depth>,
    /// What happens if there is such a folder already.
    pub existing: Existing,
}

/// What the writer can't know of a run.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// What the config is called.
    pub config_name: String,
    /// Whether unknown keys of the config were only warnings.
    pub lenient: bool,
    /// Who asked the agents.
    pub runner: RunnerInfo,
    /// How long it took.
    pub timing: RunTiming,
}

/// Writes a run folder: a logger of a run, and [`publish`](Self::publish) after it.
///
/// Nothing has the folder's name before it is complete. A writer that is dropped, because the run
/// failed, leaves nothing; what a killed process leaves is removed by the next writer in the same
/// place. See the [crate](crate) for an example.
#[derive(Debug)]
pub struct RunWriter {
    folder: PartialFolder,
    options: WriteOptions,
    /// Known from the first record on.
    names: Option<NameTable>,
    writing: Writing,
    chunk: Chunk,
    /// Records so far.
    n_records: u64,
    /// Steps whose markets are not known yet.
    ended: Vec<(u64, StepRecord)>,
    rows: RowCounts,
}

/// Whether there is a writing thread.
#[derive(Debug, Default)]
enum Writing {
    /// Nothing was sent so far.
    #[default]
    NotBegun,
    Goes(Thread),
    /// It is done or has failed; whatever comes is dropped.
    Over,
}

/// The writing thread.
#[derive(Debug)]
struct Thread {
    chunks: SyncSender<Chunk>,
    /// Chunks that were written come back, so that their memory is used again.
    written: Receiver<Chunk>,
    handle: JoinHandle<Result<RowCounts, Error>>,
}

/// Rows on their way to the writing thread.
#[derive(Debug, Default)]
struct Chunk {
    records: Vec<(u64, Record)>,
    steps: Vec<StepRow>,
    depth: Vec<DepthRow>,
    accounts: Vec<(AgentId, Account)>,
}

impl Chunk {
    fn is_full(&self) -> bool {
        let longest = self.records.len().max(self.steps.len()).max(self.depth.len());
        longest.max(self.accounts.len()) >= CHUNK
    }

    fn clear(&mut self) {
        self.records.clear();
        self.steps.clear();
        self.depth.clear();
        self.accounts.clear();
    }
}

impl RunWriter {
    /// Begins the run folder `parent/name`, and makes `parent` if it is not there.
    ///
    /// # Errors
    ///
    /// When `parent` can't be written, or there is such a folder already and it should be kept.
    ///
    /// # Panics
    ///
    /// If `name` is not the name of one entry of a folder.
    pub fn create(parent: &Path, name: &str, options: WriteOptions) -> Result<Self, Error> {
        let is_one_name = Path::new(name).file_name().is_some_and(|only| only == name);
        assert!(is_one_name, "`{name}` is no name of a folder");
        let folder = PartialFolder::create(parent, name, options.existing)?;
        Ok(Self {
            folder,
            options,
            names: None,
            writing: Writing::NotBegun,
            chunk: Chunk::default(),
            n_records: 0,
            ended: Vec::new(),
            rows: RowCounts::default(),
        })
    }

    /// Where the folder will be.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.folder.target()
    }

    /// Completes the folder and gives it its name, which is the answer. `config` is the config as
    /// it was understood ([`Settings::resolved`]).
    ///
    /// [`Settings::resolved`]: https://docs.rs/pams-config
    ///
    /// # Errors
    ///
    /// When something can't be written. Then there is no folder.
    ///
    /// # Panics
    ///
    /// If the writing thread had a panic, with that panic.
    pub fn publish(
        mut self,
        report: &RunReport,
        config: &Json,
        facts: RunFacts,
    ) -> Result<PathBuf, Error> {
        self.end_thread()?;
        let config = pretty(config);
        let names = self.names.take();
        let markets = report.markets.iter().map(|market| market.name.clone()).collect();
        let info = RunInfo {
            format: info::FORMAT,
            pams_rs: env!("CARGO_PKG_VERSION").to_owned(),
            config: ConfigInfo {
                name: facts.config_name,
                hash: hash(&config),
                lenient: facts.lenient,
            },
            seed: report.seed,
            generator: report.generator.to_string(),
            runner: facts.runner,
            records_hash: report.records_hash.map(|hash| hash.to_string()),
            summary: report.into(),
            markets,
            sessions: names.as_ref().map(session_names).unwrap_or_default(),
            tables: TablesInfo {
                format: self.options.format,
                rows: self.rows.clone(),
                depth: self.options.depth,
            },
            machine: Machine::here(),
            timing: facts.timing,
        };
        self.write_file("config.json", &config)?;
        self.write_file(info::FILE, &json_text(&info))?;
        self.folder.publish()
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), Error> {
        let write = || {
            let mut file = File::create(self.folder.path().join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error| Error::write(self.folder.target().join(name), error))
    }

    /// Sends what was gathered to the writing thread, which is started for the first chunk.
    fn send(&mut self) -> Result<(), Error> {
        if let (Writing::NotBegun, Some(names)) = (&self.writing, &self.names) {
            let started = self.start_thread(names.clone());
            let thread = started.map_err(|error| Error::write(self.folder.target(), error))?;
            self.writing = Writing::Goes(thread);
        }
        let Writing::Goes(thread) = &self.writing else {
            self.chunk.clear();
            return Ok(());
        };
        let next = thread.written.try_recv().unwrap_or_default();
        let chunk = std::mem::replace(&mut self.chunk, next);
        if thread.chunks.send(chunk).is_err() {
            self.end_thread()?;
        }
        Ok(())
    }

    /// Sends what was gathered if it is enough.
    fn send_full(&mut self) -> io::Result<()> {
        if self.chunk.is_full() { self.send().map_err(into_io) } else { Ok(()) }
    }

    fn start_thread(&self, names: NameTable) -> io::Result<Thread> {
        let (chunks, receiver) = sync_channel(WAITING);
        let (sender, written) = channel();
        let (folder, target) = (self.folder.path().to_owned(), self.folder.target().to_owned());
        let options = self.options.clone();
        let write = move || write_chunks(&folder, &target, &options, names, &receiver, &sender);
        let handle = thread::Builder::new().name("pams-results".to_owned()).spawn(write)?;
        Ok(Thread { chunks, written, handle })
    }

    /// Waits until everything that was sent is on disk.
    fn end_thread(&mut self) -> Result<(), Error> {
        let writing = std::mem::replace(&mut self.writing, Writing::Over);
        let Writing::Goes(Thread { chunks, handle, .. }) = writing else { return Ok(()) };
        drop(chunks);
        match handle.join() {
            Ok(rows) => self.rows = rows?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(())
    }

    fn add_depth(&mut self, market: &MarketView, time: Step, levels: u32) {
        for side in [Side::Buy, Side::Sell] {
            for (level, (price, found)) in (0..levels).zip(market.depth(side)) {
                self.chunk.depth.push(DepthRow {
                    time,
                    market: market.id(),
                    side,
                    level,
                    price,
                    volume: found.volume,
                    n_orders: found.n_orders,
                });
            }
        }
    }
}

impl Logger for RunWriter {
    fn record(&mut self, record: &Record, names: &NameTable) -> io::Result<()> {
        self.names.get_or_insert_with(|| names.clone());
        let number = self.n_records;
        self.n_records += 1;
        match record {
            Record::Step(step) => self.ended.push((number, *step)),
            other => self.chunk.records.push((number, *other)),
        }
        self.send_full()
    }

    fn step_ended(&mut self, markets: &[MarketView], _names: &NameTable) -> io::Result<()> {
        let Some((_, StepRecord { time, .. })) = self.ended.first().copied() else { return Ok(()) };
        for (number, step) in self.ended.drain(..) {
            self.chunk.steps.push(StepRow::new(number, step, &markets[step.market.index()]));
        }
        if let Some(Depth { levels, every }) = self.options.depth
            && time.since_start().is_multiple_of(every.max(1))
        {
            for market in markets {
                self.add_depth(market, time, levels);
            }
        }
        self.send_full()
    }

    fn account(&mut self, agent: AgentId, account: &Account, _names: &NameTable) -> io::Result<()> {
        self.chunk.accounts.push((agent, account.clone()));
        self.send_full()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.send().and_then(|()| self.end_thread()).map_err(into_io)
    }
}

impl StepRow {
    fn new(number: u64, record: StepRecord, market: &MarketView) -> Self {
        let values = market.values();
        Self {
            number,
            record,
            best_bid: market.best_bid(),
            best_ask: market.best_ask(),
            mid_price: values.mid_price,
            last_executed_price: values.last_executed_price,
            executed_volume: values.executed_volume,
            executed_value: values.executed_value,
            n_buy_orders: values.n_buy_orders,
            n_sell_orders: values.n_sell_orders,
        }
    }
}

/// The life of the writing thread.
fn write_chunks(
    folder: &Path,
    target: &Path,
    options: &WriteOptions,
    names: NameTable,
    chunks: &Receiver<Chunk>,
    written: &Sender<Chunk>,
) -> Result<RowCounts, Error> {
    let mut tables = Tables::create(folder, target, options, names)?;
    for mut chunk in chunks {
        tables.add(&chunk)?;
        chunk.clear();
        // Nobody takes chunks back when the run is over.
        let _ = written.send(chunk);
    }
    tables.finish()
}

fn session_names(names: &NameTable) -> Vec<String> {
    let ids = (0..names.n_sessions()).map(pams_core::SessionId::from_index);
    ids.map(|session| names.session(session).to_owned()).collect()
}

/// JSON for people, always with the same bytes: keys in order, and a line feed at the end.
fn pretty(value: &Json) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    json_text(&value)
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("invariant: it is plain data") + "\n"
}

/// The hash of a config, as it stands in `run.json`.
pub(crate) fn hash(config: &str) -> String {
    format!("blake3:{}", blake3::hash(config.as_bytes()).to_hex())
}

/// An error of a run folder as what a logger answers: with the kind of the system's error.
fn into_io(error: Error) -> io::Error {
    let kind = match error.kind() {
        crate::ErrorKind::Write(cause) => cause.kind(),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

//! From a config and a seed to a runner.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pams_agent::Registry;
use pams_config::{ReadOptions, Settings, StartMethod, Strictness};
use pams_core::random::GeneratorKind;
use serde_json::Value as Json;

use crate::asking::Purity;
use crate::choice::{Choice, Chooser, Rehearsal};
use crate::control::RunControl;
use crate::error::{Error, ErrorKind};
use crate::hash::RecordHasher;
use crate::logger::Logger;
use crate::names::NameTable;
use crate::parallel::{Executor, Parallel, Plan, Splitting};
use crate::recorder::Recorder;
use crate::runner::{Crew, Runner};
use crate::setup;

/// Collects what a run needs. See the [crate](crate).
pub struct RunnerBuilder<'l> {
    source: Source,
    /// From where relative paths in the config are meant.
    folder: Option<PathBuf>,
    /// What the config is called in errors; may be empty.
    name: String,
    registry: Registry,
    strictness: Strictness,
    seed: u64,
    generator: GeneratorKind,
    loggers: Vec<Box<dyn Logger + 'l>>,
    record_hash: bool,
    control: Arc<RunControl>,
    executor: Option<Box<dyn Executor>>,
    splitting: Option<Splitting>,
    num_parallel: Option<NonZeroUsize>,
    start_method: Option<StartMethod>,
    purity: Purity,
    chooser: Option<Chooser<'l>>,
}

/// A config that was given to the builder.
enum Source {
    Missing,
    Text(Vec<u8>),
    Value(Json),
    Checked(Arc<Settings>),
    Unreadable(io::Error),
}

impl fmt::Debug for RunnerBuilder<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunnerBuilder")
            .field("seed", &self.seed)
            .field("generator", &self.generator)
            .field("strictness", &self.strictness)
            .field("n_loggers", &self.loggers.len())
            .finish_non_exhaustive()
    }
}

impl Default for RunnerBuilder<'_> {
    fn default() -> Self {
        Self {
            source: Source::Missing,
            folder: None,
            name: String::new(),
            registry: Registry::builtin(),
            strictness: Strictness::Strict,
            seed: 0,
            generator: GeneratorKind::default(),
            loggers: Vec::new(),
            record_hash: true,
            control: Arc::default(),
            executor: None,
            splitting: None,
            num_parallel: None,
            start_method: None,
            purity: Purity::default(),
            chooser: None,
        }
    }
}

impl<'l> RunnerBuilder<'l> {
    /// Reads the config from a file, from whose folder relative paths in it are meant. Errors are
    /// reported by [`build`](Self::build).
    #[must_use]
    pub fn config_path(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let folder = path.parent().map(Path::to_owned);
        self.config_bytes(folder, fs::read(path)).config_name(path.display().to_string())
    }

    /// Reads the config from anything that can be read. Errors are reported by
    /// [`build`](Self::build).
    #[must_use]
    pub fn config_reader(self, mut reader: impl Read) -> Self {
        let mut text = Vec::new();
        let read = reader.read_to_end(&mut text).map(|_| text);
        self.config_bytes(None, read)
    }

    /// Takes the config as a JSON text.
    #[must_use]
    pub fn config_text(self, text: impl Into<Vec<u8>>) -> Self {
        self.config_bytes(None, Ok(text.into()))
    }

    /// Takes the config as a JSON value.
    #[must_use]
    pub fn config_value(self, value: Json) -> Self {
        Self { source: Source::Value(value), folder: None, ..self }
    }

    /// Takes a config that is read and checked already, for many runs of one config. Its warnings are
    /// not told again.
    ///
    /// It has to be checked with the classes of [`registry`](Self::registry).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pams_runner::SequentialRunner;
    ///
    /// let config = r#"{"simulation": {"markets": ["M"], "agents": [], "sessions": []},
    ///     "M": {"class": "Market", "tickSize": 0.1, "marketPrice": 300}}"#;
    /// let settings = Arc::new(SequentialRunner::builder().config_text(config).check()?);
    /// for seed in 0..3 {
    ///     SequentialRunner::builder().settings(Arc::clone(&settings)).seed(seed).build()?.run()?;
    /// }
    /// # Ok::<(), pams_runner::Error>(())
    /// ```
    #[must_use]
    pub fn settings(self, settings: impl Into<Arc<Settings>>) -> Self {
        Self { source: Source::Checked(settings.into()), ..self }
    }

    /// Sets the folder from which relative paths in the config are meant, after the config itself. By
    /// default that of a config that is a file, else where the program runs.
    #[must_use]
    pub fn config_folder(self, folder: Option<PathBuf>) -> Self {
        Self { folder, ..self }
    }

    /// Sets what the config is called in errors and warnings. By default its path if it has one.
    #[must_use]
    pub fn config_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the seed from which all random numbers come. By default 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the generator. By default `xoshiro256++`; `mt19937` gives the results of PAMS 0.3.0.
    #[must_use]
    pub fn generator(self, generator: GeneratorKind) -> Self {
        Self { generator, ..self }
    }

    /// Sets the classes that the config can name. By default [`Registry::builtin`].
    #[must_use]
    pub fn registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// Sets whether unknown keys are errors or warnings. By default errors.
    #[must_use]
    pub fn strictness(self, strictness: Strictness) -> Self {
        Self { strictness, ..self }
    }

    /// Adds a logger, by value or as `&mut`. By default there are none.
    #[must_use]
    pub fn logger(mut self, logger: impl Logger + 'l) -> Self {
        self.loggers.push(Box::new(logger));
        self
    }

    /// Leaves out the hash of the records. By default it is made.
    #[must_use]
    pub fn without_record_hash(self) -> Self {
        Self { record_hash: false, ..self }
    }

    /// Shares the run's progress and a way to stop it.
    #[must_use]
    pub fn control(self, control: Arc<RunControl>) -> Self {
        Self { control, ..self }
    }

    /// Sets where normal agents are asked. By default on the calling thread, one after the other.
    #[must_use]
    pub fn executor(self, executor: impl Executor + 'static) -> Self {
        Self { executor: Some(Box::new(executor)), ..self }
    }

    /// Sets how a batch of agents is cut into tasks of an executor: given the number of agents and
    /// of workers, the number of agents of each task, in order. By default as many tasks as
    /// workers, of sizes that differ by at most one.
    #[must_use]
    pub fn splitting(
        self,
        splitting: impl FnMut(usize, usize) -> Vec<usize> + Send + 'static,
    ) -> Self {
        Self { splitting: Some(Box::new(splitting)), ..self }
    }

    /// Sets the number of workers of an executor. By default `simulation.numParallel` of the
    /// config, else the number of CPUs less one, at least one.
    #[must_use]
    pub fn num_parallel(self, workers: NonZeroUsize) -> Self {
        Self { num_parallel: Some(workers), ..self }
    }

    /// Sets how worker processes are started. By default as `simulation.startMethod` of the config
    /// says, else as the executor decides.
    #[must_use]
    pub fn start_method(self, method: StartMethod) -> Self {
        Self { start_method: Some(method), ..self }
    }

    /// Sets what decides, when the run is about to begin, whether the executor asks the agents,
    /// another one, or none. By default the executor does if there is one. Without an executor it
    /// is not called. The choice never changes a record.
    #[must_use]
    pub fn choose(self, choose: impl FnOnce(&Rehearsal<'_>) -> Choice + Send + 'l) -> Self {
        Self { chooser: Some(Box::new(choose)), ..self }
    }

    /// Sets whether it is looked at that asking agents changes nothing. By default agents are
    /// trusted. Looking never changes a record, and takes several times as long.
    #[must_use]
    pub fn purity(self, purity: Purity) -> Self {
        Self { purity, ..self }
    }

    /// Reads and checks the config without setting anything up.
    ///
    /// # Errors
    ///
    /// When the config can't be read or has mistakes.
    pub fn check(&self) -> Result<Settings, Error> {
        let mut options = ReadOptions::from(self.strictness);
        options.folder.clone_from(&self.folder);
        let registry = &self.registry;
        let settings = match &self.source {
            Source::Missing => return Err(Error::new(ErrorKind::NoConfig, "")),
            Source::Unreadable(error) => {
                let error = io::Error::new(error.kind(), error.to_string());
                return Err(Error::new(ErrorKind::Read(error), self.name.clone()));
            }
            Source::Checked(settings) => return Ok(Settings::clone(settings)),
            Source::Text(text) => Settings::from_json(text, registry, options),
            Source::Value(value) => Settings::from_value(value, registry, options),
        };
        settings.map_err(|error| Error::new(ErrorKind::Config(error), self.name.clone()))
    }

    /// Reads the config and sets the simulation up.
    ///
    /// # Errors
    ///
    /// When the config can't be read or has mistakes, or a market, agent or event can't be made
    /// from it.
    pub fn build(self) -> Result<Runner<'l>, Error> {
        let settings = match &self.source {
            Source::Checked(settings) => Arc::clone(settings),
            _ => Arc::new(self.check_and_warn()?),
        };
        let plan = self.plan(&settings);
        let mut parallel =
            self.executor.map(|executor| Parallel::new(executor, self.splitting, plan));
        if let Some(parallel) = &mut parallel {
            parallel.prepare()?;
        }
        let mut simulation =
            setup::simulation(&settings, &self.registry, self.generator, self.seed)
                .map_err(|error| error.of_config(&self.name))?;
        simulation.population.purity = self.purity;
        let hasher = self.record_hash.then(RecordHasher::new);
        let recorder = Recorder::new(NameTable::new(&settings), hasher, self.loggers);
        let crew = Crew { registry: self.registry, parallel, chooser: self.chooser };
        Ok(Runner::new(simulation, recorder, self.control, self.seed, crew))
    }

    fn check_and_warn(&self) -> Result<Settings, Error> {
        let settings = self.check()?;
        for warning in &settings.warnings {
            match self.name.as_str() {
                "" => tracing::warn!("{warning}"),
                name => tracing::warn!("{name}: {warning}"),
            }
        }
        Ok(settings)
    }

    /// How an executor is started.
    fn plan(&self, settings: &Settings) -> Plan {
        let workers = self
            .num_parallel
            .map(NonZeroUsize::get)
            .or(settings.simulation.num_parallel)
            .unwrap_or_else(|| num_cpus::get().saturating_sub(1).max(1));
        let largest = settings.sessions.iter().map(|session| session.max_normal_orders).max();
        let largest_batch = largest.map_or(0, |orders| usize::try_from(orders).unwrap_or(0)).max(1);
        if self.executor.is_some() && workers > largest_batch {
            tracing::warn!(
                "numParallel is {workers}, but no session asks more than {largest_batch} agents at \
                 a time (maxNormalOrders): the other workers stay idle"
            );
        }
        let mut settings = settings.simulation.clone();
        settings.start_method = self.start_method.or(settings.start_method);
        Plan { workers, largest_batch, settings }
    }

    fn config_bytes(self, folder: Option<PathBuf>, read: io::Result<Vec<u8>>) -> Self {
        let source = match read {
            Ok(text) => Source::Text(text),
            Err(error) => Source::Unreadable(error),
        };
        Self { source, folder, ..self }
    }
}

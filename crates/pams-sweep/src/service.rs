//! What runs in a worker process: runs of one point, seed after seed.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pams_agent::Registry;
use pams_config::Settings;
use pams_core::random::GeneratorKind;
use pams_results::{Existing, RunFacts, RunWriter, RunnerInfo, WriteOptions};
use pams_runner::SequentialRunner;
use process_pool::{BoxError, Context, Entry, Service};
use serde::{Deserialize, Serialize};

use crate::config::{Configs, WireConfigs};
use crate::journal::Line;
use crate::outcome::{Collector, RunOutcome};

/// The classes of this program, for workers to find.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// The entry of the workers of sweeps for `init_with` of the runners or `process_pool::init`, at the
/// top of `main`. The registry has to hold all classes that configs name.
///
/// ```no_run
/// let registry = pams_agent::Registry::builtin();
/// pams_runner::init_with(&registry, &[pams_sweep::worker_service(&registry)]);
/// // the program
/// ```
#[must_use]
pub fn worker_service(registry: &Registry) -> Entry {
    // A second call has the classes of the first, as its workers do.
    let _ = REGISTRY.set(registry.clone());
    process_pool::service::<SweepService>()
}

/// What a worker is told when it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) configs: WireConfigs,
    pub(crate) generator: String,
    /// Where runs are kept; nowhere by default.
    pub(crate) runs: Option<PathBuf>,
}

/// Some seeds of one point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) point: usize,
    pub(crate) seeds: Vec<u64>,
}

/// What became of the seeds of a chunk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The line of the journal for each.
    pub(crate) lines: Vec<String>,
    /// How long they took together, in seconds. It decides how many seeds travel at once.
    pub(crate) seconds: f64,
}

/// The state of a worker.
#[derive(Debug)]
pub(crate) struct SweepService {
    registry: &'static Registry,
    configs: Configs,
    is_lenient: bool,
    generator: GeneratorKind,
    runs: Option<PathBuf>,
    /// The point of the last chunk. Chunks come point by point, so one is enough.
    current: Option<(usize, Arc<Settings>)>,
}

impl Service for SweepService {
    const NAME: &'static str = "pams sweep";
    type Args = Start;
    type Request = Chunk;
    type Answer = Answer;
    type Update = ();

    fn start(start: Start, _: &Context) -> Result<Self, BoxError> {
        let registry = REGISTRY.get().ok_or("invariant: `init` made this process a worker")?;
        Ok(Self {
            registry,
            configs: start.configs.read()?,
            is_lenient: start.configs.is_lenient(),
            generator: start.generator.parse()?,
            runs: start.runs,
            current: None,
        })
    }

    fn call(&mut self, chunk: Chunk, context: &Context) -> Result<Answer, BoxError> {
        let start = now();
        let mut lines = Vec::with_capacity(chunk.seeds.len());
        for seed in chunk.seeds {
            if context.is_cancelled() {
                return Err("nobody waits for these runs any more".into());
            }
            let result = self.run(chunk.point, seed).map_err(|error| error.to_string());
            lines.push(Line::new(chunk.point, seed, result).text());
        }
        Ok(Answer { lines, seconds: start.elapsed().as_secs_f64() })
    }
}

impl SweepService {
    fn run(&mut self, point: usize, seed: u64) -> Result<RunOutcome, BoxError> {
        let settings = self.settings(point)?;
        let mut collector = Collector::default();
        let mut writer = match &self.runs {
            Some(runs) => {
                let options = WriteOptions { existing: Existing::Overwrite, ..Default::default() };
                Some(RunWriter::create(runs, &folder_name(point, seed), options)?)
            }
            None => None,
        };
        let mut builder = SequentialRunner::builder()
            .settings(Arc::clone(&settings))
            .registry(self.registry.clone())
            .seed(seed)
            .generator(self.generator)
            .logger(&mut collector);
        if let Some(writer) = &mut writer {
            builder = builder.logger(writer);
        }
        let report = builder.build()?.run()?;
        if let Some(writer) = writer {
            let facts = RunFacts {
                config_name: self.configs.name.clone(),
                lenient: self.is_lenient,
                runner: RunnerInfo { kind: "sequential".to_owned(), ..RunnerInfo::default() },
                ..RunFacts::default()
            };
            writer.publish(&report, &settings.resolved, facts)?;
        }
        Ok(collector.outcome(&report))
    }

    fn settings(&mut self, point: usize) -> Result<Arc<Settings>, BoxError> {
        match &self.current {
            Some((current, settings)) if *current == point => Ok(Arc::clone(settings)),
            _ => {
                let settings = Arc::new(self.configs.settings(point, self.registry)?);
                self.current = Some((point, Arc::clone(&settings)));
                Ok(settings)
            }
        }
    }
}

/// What the folder of a kept run is called.
pub(crate) fn folder_name(point: usize, seed: u64) -> String {
    format!("point-{point}-seed-{seed}")
}

#[expect(clippy::disallowed_methods, reason = "how long runs take decides how many travel at once")]
fn now() -> Instant {
    Instant::now()
}

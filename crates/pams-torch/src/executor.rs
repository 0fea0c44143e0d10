//! The process executor, set up for agents with tensors.

use std::num::NonZeroUsize;

use pams_config::SimulationSettings;
use pams_core::StepDelta;
use pams_runner::{
    Answer, Executor, ExecutorError, ProcessExecutor, StartPlan, Task, WorkerInitializer,
};
use tensor_share::{SharingStrategy, ZeroCopy, set_sharing_strategy, sharing_strategy, zero_copy};

use crate::initializer::TorchInitializer;
use crate::sweeper::Sweeper;
use crate::threads::worker_threads;

/// The variables from which candle takes its numbers of threads.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"];

#[derive(Debug)]
pub(crate) struct TorchExecutor<I: WorkerInitializer> {
    pub(crate) processes: ProcessExecutor<TorchInitializer<I>>,
    pub(crate) num_threads: Option<NonZeroUsize>,
    pub(crate) sharing_strategy: Option<SharingStrategy>,
    pub(crate) sweeper: Option<Sweeper>,
}

impl<I: WorkerInitializer> Executor for TorchExecutor<I> {
    /// The agents' tensors are made after this.
    fn prepare(&mut self, settings: &SimulationSettings) -> Result<(), ExecutorError> {
        if let Some(strategy) = self.sharing_strategy {
            set_sharing_strategy(strategy);
        }
        // Before the sweeper, whose pipe no forked process must hold open.
        self.processes.prepare(settings)?;
        if sharing_strategy() == SharingStrategy::FileSystem {
            self.sweeper = Sweeper::start().unwrap_or_else(|error| {
                tracing::debug!("a killed run will leave shared memory to the next one: {error}");
                None
            });
        }
        Ok(())
    }

    fn start(&mut self, plan: StartPlan) -> Result<(), ExecutorError> {
        if let ZeroCopy::Copied(why) = zero_copy() {
            tracing::warn!(
                ?why,
                "every process has its own copy of the agents' tensors: see tensor_share::zero_copy"
            );
        }
        let StartPlan { workers, largest_batch, .. } = plan;
        let threads = worker_threads(self.num_threads, &plan.settings, workers, largest_batch);
        for name in VARIABLES {
            self.processes.set_environment(name, threads.to_string());
        }
        self.processes.start(plan)
    }

    fn update(&mut self, delta: StepDelta) -> Result<(), ExecutorError> {
        self.processes.update(delta)
    }

    fn run(&mut self, tasks: Vec<Task>) -> Result<Vec<Answer>, ExecutorError> {
        self.processes.run(tasks)
    }

    fn finish(&mut self) -> Result<(), ExecutorError> {
        self.processes.finish()
    }

    fn stop(&mut self) {
        self.processes.stop();
        self.sweeper = None;
    }
}

//! The torch-style runner and candle's threads on the command line; without the feature `torch`,
//! what to say instead.

#[cfg(feature = "torch")]
pub(crate) use with::*;
#[cfg(not(feature = "torch"))]
pub(crate) use without::*;

#[cfg(feature = "torch")]
mod with {
    use std::env;
    use std::fs;
    use std::num::NonZeroUsize;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::Command;

    use pams_agent::Registry;
    use pams_config::{ClassCatalog as _, ClassKind};
    use pams_runner::{Runner, RunnerBuilder};
    use pams_torch::{Sweeper, TorchAgentParallelRunner};
    use process_pool::Entry;

    use crate::arguments::{RunArguments, RunnerKind};
    use crate::output::Failure;
    use crate::summary::Workers;

    /// The class of neural agents.
    const CLASS: &str = "CandleAgent";

    /// The variables from which candle takes its numbers of threads.
    const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"];

    /// Adds the neural agents, unless the program has a class of that name.
    pub(crate) fn register(registry: &mut Registry) {
        if registry.class_names(ClassKind::Agent).iter().any(|name| name == CLASS) {
            return;
        }
        if registry.shared().is_some() {
            // The program shares memory in its own way.
            registry.agent::<pams_candle::CandleAgent>(CLASS);
        } else {
            pams_candle::register(registry);
        }
    }

    /// Turns this process into a worker if it was started as one.
    pub(crate) fn init(registry: &Registry, services: &[Entry]) {
        pams_torch::init_with(registry, services);
    }

    /// Begins to describe a run by the torch-style runner, or one that may become it.
    pub(crate) fn builder<'l>(arguments: &RunArguments) -> Result<RunnerBuilder<'l>, Failure> {
        let mut runner = TorchAgentParallelRunner::new();
        runner.torch_num_threads = arguments.workers.torch_threads;
        if arguments.runner == RunnerKind::Auto {
            // What a sequential run does: no objects in /dev/shm unless they are asked for.
            runner.torch_sharing_strategy = None;
        }
        if let Some(strategy) = arguments.workers.sharing_strategy {
            runner.torch_sharing_strategy = Some(strategy.into());
        }
        Ok(runner.builder())
    }

    /// Chooses how tensors travel, for runners that do not do it themselves. What comes back has to
    /// live as long as the run.
    pub(crate) fn share(arguments: &RunArguments) -> Option<Sweeper> {
        let strategy = arguments.workers.sharing_strategy?.into();
        tensor_share::set_sharing_strategy(strategy);
        let is_named = strategy == tensor_share::SharingStrategy::FileSystem;
        // Without one, the next run removes what a killed one leaves.
        if is_named && arguments.runner != RunnerKind::Torch {
            Sweeper::start().ok().flatten()
        } else {
            None
        }
    }

    /// What the summary says of the workers of a torch-style run.
    pub(crate) fn workers(arguments: &RunArguments, runner: &Runner<'_>) -> Workers {
        let mut workers = Workers { count: runner.workers(), ..Workers::default() };
        if let (RunnerKind::Torch | RunnerKind::Auto, Some(plan)) =
            (arguments.runner, runner.plan())
        {
            workers.torch_threads = Some(pams_torch::worker_threads(
                arguments.workers.torch_threads,
                &plan.settings,
                plan.workers,
                plan.largest_batch,
            ));
            workers.sharing_strategy = Some(tensor_share::sharing_strategy().to_string());
        }
        workers
    }

    /// Fixes candle's numbers of threads by running this program again with its variables set, if
    /// they matter to the run and are not set as they should be.
    ///
    /// Unset, candle looks for CPUs again at every product, which takes longer than a small network;
    /// and a process with threads must not change its environment.
    pub(crate) fn fix_threads(arguments: &RunArguments, registry: &Registry) {
        let found = VARIABLES.map(number);
        let wanted = arguments.workers.torch_threads.or(found[1]).or(found[0]);
        if wanted.is_some() && found == [wanted; 2] {
            return;
        }
        if arguments.workers.torch_threads.is_none()
            && arguments.runner != RunnerKind::Torch
            && !may_use_networks(&arguments.config, registry)
        {
            return;
        }
        let wanted = wanted.map_or_else(num_cpus::get, NonZeroUsize::get).to_string();
        let mut words = env::args_os();
        let (Some(name), Ok(program)) = (words.next(), env::current_exe()) else { return };
        let mut again = Command::new(program);
        again.arg0(name).args(words).envs(VARIABLES.map(|variable| (variable, &wanted)));
        // This only returns when it fails. Then the run is slower and no different.
        let error = again.exec();
        tracing::warn!("candle's threads can't be fixed, so networks are slow: {error}");
    }

    /// The variables by which candle uses one thread, for workers that run side by side.
    pub(crate) fn one_thread() -> Vec<(String, String)> {
        VARIABLES.map(|variable| (variable.to_owned(), "1".to_owned())).to_vec()
    }

    #[expect(clippy::disallowed_methods, reason = "candle reads these variables")]
    fn number(variable: &str) -> Option<NonZeroUsize> {
        env::var(variable).ok()?.parse().ok()
    }

    /// Whether the text of the config has the name of an agent class that is not built in. What can
    /// be read only once is left to the run, and counts as such a text.
    fn may_use_networks(config: &Path, registry: &Registry) -> bool {
        if !fs::metadata(config).is_ok_and(|metadata| metadata.is_file()) {
            return true;
        }
        // The run says what is wrong with the file.
        let Ok(text) = fs::read_to_string(config) else { return false };
        let built_in = Registry::builtin().class_names(ClassKind::Agent);
        let names = registry.class_names(ClassKind::Agent);
        names.iter().filter(|name| !built_in.contains(name)).any(|name| text.contains(&**name))
    }
}

#[cfg(not(feature = "torch"))]
mod without {
    use pams_agent::Registry;
    use pams_config::Problem;
    use pams_runner::{Runner, RunnerBuilder};
    use process_pool::Entry;

    use crate::arguments::RunArguments;
    use crate::output::Failure;
    use crate::summary::Workers;

    /// How to get what is missing.
    pub(crate) const MISSING: &str = "this `pams` was built without neural agents and the \
         torch-style runner; build it with `cargo build --release -p pams-cli --features torch`";

    /// Whether a mistake of a config is that there are no neural agents.
    pub(crate) fn is_missing(problem: &Problem) -> bool {
        problem.to_string().contains("no class of agents named `CandleAgent`")
    }

    pub(crate) fn register(_: &mut Registry) {}

    pub(crate) fn init(registry: &Registry, services: &[Entry]) {
        pams_runner::init_with(registry, services);
    }

    pub(crate) fn one_thread() -> Vec<(String, String)> {
        Vec::new()
    }

    pub(crate) fn builder<'l>(_: &RunArguments) -> Result<RunnerBuilder<'l>, Failure> {
        Err(Failure::Told(MISSING.to_owned()))
    }

    pub(crate) fn workers(_: &RunArguments, runner: &Runner<'_>) -> Workers {
        Workers { count: runner.workers(), ..Workers::default() }
    }
}

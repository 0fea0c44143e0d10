//! How many threads candle uses in each worker.

use std::num::NonZeroUsize;

use pams_config::SimulationSettings;

/// The number of threads of each worker: the main process's threads shared out to the workers that
/// can run at the same time, at least one each. Before setup no sessions are known, and all workers
/// count.
///
/// ```
/// use pams_torch::threads_per_worker;
///
/// // 12 threads, 2 workers, up to 4 agents at a time.
/// assert_eq!(threads_per_worker(12, 2, Some(4)), 6);
/// assert_eq!(threads_per_worker(12, 1000, Some(4)), 3);
/// ```
#[must_use]
pub fn threads_per_worker(
    main_threads: usize,
    num_parallel: usize,
    largest_max_normal_orders: Option<usize>,
) -> usize {
    let busy = largest_max_normal_orders.map_or(num_parallel, |most| most.min(num_parallel));
    (main_threads / busy.max(1)).max(1)
}

/// The number of threads that candle uses in each worker of a run: what the runner was told, else
/// what the config's `torchNumThreads` says, else [`threads_per_worker`].
#[must_use]
pub fn worker_threads(
    torch_num_threads: Option<NonZeroUsize>,
    settings: &SimulationSettings,
    workers: usize,
    largest_batch: usize,
) -> usize {
    torch_num_threads
        .map(NonZeroUsize::get)
        .or(settings.torch_num_threads)
        .unwrap_or_else(|| threads_per_worker(main_threads(), workers, Some(largest_batch)))
}

/// The number of threads that candle uses in this process.
#[must_use]
pub fn main_threads() -> usize {
    candle_core::utils::get_num_threads()
}

#[cfg(test)]
mod tests {
    use super::threads_per_worker;

    #[test]
    fn threads_are_shared_out_to_workers_that_can_run_at_the_same_time() {
        let cases = [
            ((1, Some(4)), 12),
            ((2, Some(4)), 6),
            ((1000, Some(4)), 3),
            ((8, Some(2)), 6),
            ((3, Some(1)), 12),
            ((24, Some(30)), 1),
            // Nobody is ever asked.
            ((2, Some(0)), 12),
            // Before setup.
            ((1, None), 12),
            ((5, None), 2),
            ((24, None), 1),
        ];
        for ((num_parallel, largest), expected) in cases {
            let threads = threads_per_worker(12, num_parallel, largest);
            assert_eq!(threads, expected, "{num_parallel} workers, {largest:?} agents at a time");
        }
    }
}

//! Processes at their limits: descriptors, processes, memory, signals, missing files.
//!
//! Each runs as a scenario in a process of its own.

use crate::Test;
use crate::ends::Scenario;

pub(crate) const TESTS: &[Test] = &[
    ("descriptors_do_not_grow_with_tasks_or_pools", || Scenario::new("descriptors").passes()),
    ("a_pool_works_with_64_descriptors", || Scenario::new("few_descriptors").passes()),
    ("a_pool_without_descriptors_is_an_error", || Scenario::new("no_descriptors").passes()),
    ("a_pool_without_processes_is_an_error", || Scenario::new("no_processes").passes()),
    ("a_worker_without_memory_dies_and_is_replaced", || Scenario::new("no_memory").passes()),
    ("a_storm_of_signals", || Scenario::new("signal_storm").passes()),
    ("standard_input_closed", || Scenario::new("no_stdin").passes()),
    ("a_deleted_executable", || Scenario::new("deleted").passes()),
    ("a_forgotten_init_is_an_error_in_one_process", forgotten),
    ("a_helper_executable", || Scenario::new("helper").passes()),
    ("a_helper_that_forgets_init", || Scenario::new("forgetful_helper").passes()),
    ("a_helper_of_another_build", || Scenario::new("other_build").passes()),
    ("children_of_workers_are_no_workers", || Scenario::new("nested").passes()),
];

fn forgotten() {
    Scenario::new("unused").env("POOL_IT_FORGET", "1").passes();
}

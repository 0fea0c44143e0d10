//! On what a run was made.

use std::fs;

use serde::{Deserialize, Serialize};

/// Facts about a machine. They never reach a result; they explain timings, and the results of the
/// generator `mt19937`, which follow the machine's C library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Machine {
    /// The model of the processor, where the system tells.
    pub cpu: Option<String>,
    /// How many CPUs this process may use.
    pub cpus: Option<usize>,
    /// The processor's architecture, as Rust calls it.
    pub architecture: String,
    /// The name of the kernel and its release.
    pub kernel: String,
    /// The name of the distribution, where the system tells.
    pub os: Option<String>,
}

impl Machine {
    /// The facts about this machine.
    #[must_use]
    pub fn here() -> Self {
        let kernel = rustix::system::uname();
        let (name, release) = (kernel.sysname().to_string_lossy(), kernel.release());
        Self {
            cpu: value_in("/proc/cpuinfo", "model name", ':'),
            cpus: std::thread::available_parallelism().ok().map(Into::into),
            architecture: std::env::consts::ARCH.to_owned(),
            kernel: format!("{name} {}", release.to_string_lossy()),
            os: value_in("/etc/os-release", "PRETTY_NAME", '='),
        }
    }
}

/// The first value of a key in a file of keys and values.
fn value_in(file: &str, key: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| {
        let (found, value) = line.split_once(separator)?;
        (found.trim() == key).then_some(value)
    })?;
    Some(value.trim().trim_matches('"').to_owned())
}

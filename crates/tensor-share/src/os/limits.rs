//! The limits that an arena may meet, as errors with both values.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use rustix::fd::AsFd;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs, ftruncate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::error::{Cause, Error, Result};

/// The first number behind a key in a file like /proc/meminfo, in the file's unit.
fn number(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Where a kind of control groups keeps its numbers.
struct Groups {
    root: &'static str,
    limit: &'static str,
    used: &'static str,
    /// What of the used memory the system would give back: pages of files.
    files: [&'static str; 2],
}

const GROUPS: Groups = Groups {
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    files: ["inactive_file ", "active_file "],
};

/// As they were before version 2.
const OLD_GROUPS: Groups = Groups {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    files: ["total_inactive_file ", "total_active_file "],
};

/// How much memory may still be taken: what the machine has, or less if the control group of this
/// process or one above it may not have so much.
fn available_bytes() -> u64 {
    let machine = read(Path::new("/proc/meminfo"));
    let mut available = number(&machine, "MemAvailable:").map_or(u64::MAX, |kib| kib * 1024);
    for line in read(Path::new("/proc/self/cgroup")).lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let groups = match controllers {
            "" => GROUPS,
            "memory" => OLD_GROUPS,
            _ => continue,
        };
        for group in Path::new(group.trim_start_matches('/')).ancestors() {
            let group = Path::new(groups.root).join(group);
            available = available.min(left_in(&group, &groups).unwrap_or(u64::MAX));
        }
    }
    available
}

/// How much a control group may still take, `None` if it has no limit.
fn left_in(group: &Path, groups: &Groups) -> Option<u64> {
    let value = |file| read(&group.join(file)).trim().parse::<u64>().ok();
    let left = value(groups.limit)?.saturating_sub(value(groups.used)?);
    let stat = read(&group.join("memory.stat"));
    Some(groups.files.iter().filter_map(|key| number(&stat, key)).fold(left, u64::saturating_add))
}

/// The text of a file, nothing if there is none.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// How many descriptors this process may have.
pub(crate) fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The error of a call that makes a descriptor.
pub(crate) fn descriptor_error(doing: impl Into<String>, error: Errno) -> Error {
    let doing = doing.into();
    if error == Errno::MFILE {
        return Cause::Descriptors { doing, limit: descriptor_limit() }.into();
    }
    Error::system(doing, error)
}

/// The error of a call that maps memory.
pub(crate) fn mapping_error(doing: impl Into<String>, len: usize, error: Errno) -> Error {
    let doing = doing.into();
    if error != Errno::NOMEM {
        return Error::system(doing, error);
    }
    let mappings = n_mappings();
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    let limit = limit.trim().parse().unwrap_or(u64::MAX);
    // Splitting a mapping in three needs two more.
    if mappings.saturating_add(2) >= limit {
        return Cause::Mappings { doing, mappings, limit }.into();
    }
    Cause::NoMemory { what: doing, asked: len as u64, free: available_bytes() }.into()
}

/// How many mappings this process has. Counted line by line: where this is asked, there may be no
/// mapping left for a large block.
fn n_mappings() -> u64 {
    let Ok(maps) = File::open("/proc/self/maps") else { return 0 };
    BufReader::new(maps).lines().map_while(Result::ok).map(|_| 1).sum()
}

/// Gives a new memory file its length and reserves all of it, so that no later write can fail.
pub(crate) fn reserve(file: impl AsFd, len: usize, what: &str, place: &'static str) -> Result<()> {
    let refused = |error: Errno| match error {
        Errno::NOSPC | Errno::NOMEM | Errno::FBIG | Errno::DQUOT => {
            let what = what.to_owned();
            let free = fstatvfs(&file).map_or(0, |fs| fs.f_bavail * fs.f_frsize);
            if place == MEMORY {
                return Cause::NoMemory { what, asked: len as u64, free: available_bytes() }.into();
            }
            Cause::NoSpace { what, place, asked: len as u64, free }.into()
        }
        error => Error::system(format!("reserve {len} bytes for {what}"), error),
    };
    ftruncate(&file, len as u64).map_err(refused)?;
    // The system would rather end processes than refuse, so it is not asked for what it lacks. For
    // a small arena the question would cost more than the arena.
    if len > 1 << 20 {
        let free = available_bytes();
        if len as u64 > free {
            return Err(Cause::NoMemory { what: what.to_owned(), asked: len as u64, free }.into());
        }
    }
    loop {
        match fallocate(&file, FallocateFlags::empty(), 0, len as u64) {
            Ok(()) => return Ok(()),
            // A signal ends a long reservation; what was reserved is kept.
            Err(Errno::INTR) => {}
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Where a memory file lives, in messages.
pub(crate) const MEMORY: &str = "memory";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_count_as_free() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(left_in(folder.path(), &GROUPS), None);
        write("memory.max", "max\n");
        write("memory.current", "900\n");
        assert_eq!(left_in(folder.path(), &GROUPS), None, "no limit");
        write("memory.max", "1000\n");
        assert_eq!(left_in(folder.path(), &GROUPS), Some(100));
        write("memory.stat", "anon 200\ninactive_file 300\nactive_file 40\nshmem 5\n");
        assert_eq!(left_in(folder.path(), &GROUPS), Some(440));
    }

    #[test]
    fn this_machine_has_some_memory() {
        let available = available_bytes();
        assert!(available > 1 << 20 && available < 1 << 60, "{available}");
    }
}

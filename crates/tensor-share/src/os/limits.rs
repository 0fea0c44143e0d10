//! The limits that an arena may meet, as errors with both values.

use std::fs;

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

fn available_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    number(&text, "MemAvailable:").unwrap_or(0) * 1024
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
    let mappings =
        fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as u64);
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    let limit = limit.trim().parse().unwrap_or(u64::MAX);
    // Splitting a mapping in three needs two more.
    if mappings.saturating_add(2) >= limit {
        return Cause::Mappings { doing, mappings, limit }.into();
    }
    Cause::NoMemory { what: doing, asked: len as u64, free: available_bytes() }.into()
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

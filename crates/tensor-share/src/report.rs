use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::cache;
use crate::error::{Error, Result};
use crate::header::Kind;
use crate::id::ArenaId;
use crate::os::dir::{Name, names};
use crate::os::lease::{self, Found, process_id, program};
use crate::place::SharingStrategy;
use crate::transport;
use crate::zero_copy::{ZeroCopy, regions};

/// An arena, as [`report`] sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaReport {
    /// The arena.
    pub id: ArenaId,
    /// How it travels, `None` if it does not leave this process.
    pub strategy: Option<SharingStrategy>,
    /// How many bytes the segment has.
    pub bytes: u64,
    /// What this process knows of it, if it has it open.
    pub here: Option<Here>,
    /// The processes that hold it, this one included. Of arenas without a name the system tells no
    /// other processes.
    pub holders: Vec<Holder>,
}

/// What a process knows of an arena that it has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Here {
    /// How many tensors there are.
    pub n_tensors: usize,
    /// Whether any process may change it.
    pub is_mutable: bool,
    /// Whether its tensors lie on the shared pages.
    pub zero_copy: ZeroCopy,
    /// How many bytes this process has copied by writing to them.
    pub copied_bytes: u64,
}

/// A process that holds an arena.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The id of the process, 0 if it has ended.
    pub process: u32,
    /// The name of its program.
    pub program: String,
    /// Whether it lives. What others have left is removed by [`sweep`](crate::sweep()).
    pub is_alive: bool,
}

/// Lists the arenas that this process has open, and all named arenas of this user.
///
/// # Errors
///
/// /dev/shm or /proc/self/smaps cannot be read, or there is no descriptor left to look at a lock.
pub fn report() -> Result<Vec<ArenaReport>> {
    let mut arenas = BTreeMap::new();
    let copied = copied_arenas()?;
    for opened in cache::all() {
        let id = opened.id();
        let process = process_id();
        let own = Holder { process, program: program(process), is_alive: true };
        let here = Here {
            n_tensors: opened.directory.entries.len(),
            is_mutable: opened.directory.kind == Kind::Mutable,
            zero_copy: opened.zero_copy(),
            copied_bytes: copied
                .iter()
                .filter(|found| found.arena == id)
                .map(|found| found.bytes)
                .sum(),
        };
        let strategy = transport::strategy(&opened);
        let named = strategy == Some(SharingStrategy::FileSystem);
        // The holders of named arenas stand in /dev/shm.
        let holders = if named { Vec::new() } else { vec![own] };
        let bytes = opened.directory.file_len as u64;
        arenas.insert(id, ArenaReport { id, strategy, bytes, here: Some(here), holders });
    }
    let mut leases = BTreeMap::new();
    for name in names()? {
        let (Name::Arena(id) | Name::Hold { arena: id, .. }) = name else { continue };
        // Gone since the directory was listed.
        let Ok(metadata) = fs::symlink_metadata(name.path()) else { continue };
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            continue;
        }
        let found = arenas.entry(id).or_insert_with(|| ArenaReport {
            id,
            strategy: Some(SharingStrategy::FileSystem),
            bytes: metadata.len(),
            here: None,
            holders: Vec::new(),
        });
        if let Name::Hold { lease, .. } = name {
            let holder = match leases.entry(lease) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(holder(lease)?),
            };
            if !found.holders.contains(holder) {
                found.holders.push(holder.clone());
            }
        }
    }
    Ok(arenas.into_values().collect())
}

fn holder(lease: ArenaId) -> Result<Holder> {
    Ok(match lease::look(lease)? {
        Found::Alive(holder) => {
            Holder { process: holder.process, program: holder.program, is_alive: true }
        }
        Found::Dead(_) | Found::Gone | Found::Foreign => {
            Holder { process: 0, program: String::new(), is_alive: false }
        }
    })
}

/// An arena some of whose pages this process has copied by writing to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopiedArena {
    /// The arena.
    pub arena: ArenaId,
    /// The bytes of the copied pages.
    pub bytes: u64,
}

/// Finds the arenas that this process has written to.
///
/// Tensors of a sealed arena lie on private pages, which the kernel copies when they are written
/// to: nothing reaches another process, and nothing is saved either. Code that should only read can
/// be checked with this. Arenas whose tensors are copies anyway ([`ZeroCopy::Copied`]) do not show.
///
/// # Errors
///
/// /proc/self/smaps cannot be read.
pub fn copied_arenas() -> Result<Vec<CopiedArena>> {
    let regions = regions();
    if regions.is_empty() {
        return Ok(Vec::new());
    }
    let path = "/proc/self/smaps";
    let text =
        fs::read_to_string(path).map_err(|error| Error::system(format!("read {path}"), error))?;
    let mut copied: BTreeMap<ArenaId, u64> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(anonymous) = line.strip_prefix("Anonymous:") {
            let kib: u64 = anonymous.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            if let Some(arena) = current
                && kib > 0
            {
                *copied.entry(arena).or_default() += kib * 1024;
            }
        } else if let Some(start) = start_of_mapping(line) {
            let after = regions.partition_point(|(_, range)| range.start <= start);
            let region = after.checked_sub(1).map(|index| &regions[index]);
            current = region.filter(|(_, range)| range.contains(&start)).map(|&(arena, _)| arena);
        }
    }
    Ok(copied.into_iter().map(|(arena, bytes)| CopiedArena { arena, bytes }).collect())
}

/// The address at the front of lines like `7f0000000000-7f0000200000 rw-p …`.
fn start_of_mapping(line: &str) -> Option<usize> {
    let (start, rest) = line.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    rest.split_once(' ').and_then(|(end, _)| usize::from_str_radix(end, 16).ok())?;
    Some(start)
}

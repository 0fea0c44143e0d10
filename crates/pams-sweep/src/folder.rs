//! The folder of a sweep: held by one process at a time, and only gone on with by the same sweep.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pams_core::random::GeneratorKind;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::grid::Grid;
use crate::journal;

/// What the sweep was: the name of the file.
const MANIFEST: &str = "sweep.json";

/// The name of the table.
pub(crate) const TABLE: &str = "runs.parquet";

/// The name of the folder of kept runs.
pub(crate) const RUNS: &str = "runs";

const LOCK: &str = ".lock";

/// The number of the form of sweep folders.
const FORMAT: u32 = 1;

/// What is done with another sweep in the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and is an error. The same sweep is gone on with. The default.
    #[default]
    Resume,
    /// Any sweep in the folder is removed, also the same one.
    Overwrite,
}

/// What a sweep is: the content of `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// The version of pams-rs.
    pams_rs: String,
    config: ManifestConfig,
    generator: String,
    grid: Grid,
    keep: bool,
    /// The seeds of the last start: others may follow.
    seeds: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ManifestConfig {
    name: String,
    /// Of what it means at all points, so that the form of the file does not matter.
    hash: String,
}

impl Manifest {
    pub(crate) fn new(
        (name, hash): (&str, String),
        generator: GeneratorKind,
        grid: &Grid,
        keep: bool,
        seeds: String,
    ) -> Self {
        Self {
            format: FORMAT,
            pams_rs: env!("CARGO_PKG_VERSION").to_owned(),
            config: ManifestConfig { name: name.to_owned(), hash },
            generator: generator.to_string(),
            grid: grid.clone(),
            keep,
            seeds,
        }
    }

    /// What keeps a sweep from being gone on with as this one. More seeds do not.
    fn difference(&self, old: &Self) -> Option<String> {
        if old.format != self.format {
            return Some(format!("its form has number {}, not {}", old.format, self.format));
        }
        if old.pams_rs != self.pams_rs {
            let (old, new) = (&old.pams_rs, &self.pams_rs);
            return Some(format!("it was begun by version {old} of pams-rs, and this is {new}"));
        }
        if old.grid != self.grid {
            let shown = |grid: &Grid| {
                let axes: Vec<String> = grid.axes().iter().map(ToString::to_string).collect();
                if axes.is_empty() { "no parameters".to_owned() } else { axes.join(" ") }
            };
            let (old, new) = (shown(&old.grid), shown(&self.grid));
            return Some(format!("its parameters are {old}, and now {new}"));
        }
        if old.generator != self.generator {
            let (old, new) = (&old.generator, &self.generator);
            return Some(format!("its generator is {old}, and now {new}"));
        }
        if old.keep != self.keep {
            let what = if old.keep { "keeps its runs" } else { "does not keep its runs" };
            return Some(format!("it {what}, which has changed"));
        }
        (old.config.hash != self.config.hash)
            .then(|| format!("the config has changed since ({})", self.config.name))
    }
}

/// The folder, held until it is dropped.
#[derive(Debug)]
pub(crate) struct SweepFolder {
    path: PathBuf,
    _lock: File,
}

impl SweepFolder {
    /// Makes the folder or takes the one that is there.
    pub(crate) fn open(
        path: &Path,
        manifest: &Manifest,
        existing: Existing,
    ) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(|error| {
            let is_file = error.kind() == io::ErrorKind::AlreadyExists;
            let error = if is_file { io::ErrorKind::NotADirectory.into() } else { error };
            Error::write(path)(error)
        })?;
        let old = read(path)?;
        if old.is_none() && !is_empty(path)? {
            return Err(Error::new(ErrorKind::Foreign(path.to_owned())));
        }
        let lock = lock(path)?;
        let folder = Self { path: path.to_owned(), _lock: lock };
        match (old, existing) {
            (Some(old), Existing::Resume) => {
                let difference = match old {
                    Old::Sweep(old) => manifest.difference(&old),
                    Old::Unreadable(error) => Some(format!("its sweep.json is damaged: {error}")),
                };
                // A sweep without runs has nothing to lose.
                if let Some(what) = difference.filter(|_| journal::has_runs(path)) {
                    return Err(Error::new(ErrorKind::Changed { folder: path.to_owned(), what }));
                }
            }
            (Some(_), Existing::Overwrite) => folder.clear()?,
            (None, _) => {}
        }
        let mut text = serde_json::to_string_pretty(manifest).expect("invariant: it is plain data");
        text.push('\n');
        folder.replace(MANIFEST, |file| file.write_all(text.as_bytes()))?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that is complete or as it was before.
    pub(crate) fn replace(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<PathBuf, Error> {
        let (path, partial) = (self.path.join(name), self.path.join(format!(".{name}.partial")));
        let result = File::create(&partial).and_then(|mut file| {
            write(&mut file)?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        });
        if result.is_err() {
            let _ = fs::remove_file(&partial);
        }
        result.map_err(Error::write(&path))?;
        Ok(path)
    }

    /// Removes what a sweep has made. Its manifest stays until it is replaced, so that what is left
    /// after a kill is known to be a sweep's.
    fn clear(&self) -> Result<(), Error> {
        let gone = |path: &Path, result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(path)(error)),
            _ => Ok(()),
        };
        for name in [journal::FILE, TABLE] {
            let path = self.path.join(name);
            gone(&path, fs::remove_file(&path))?;
        }
        let runs = self.path.join(RUNS);
        gone(&runs, fs::remove_dir_all(&runs))
    }
}

enum Old {
    Sweep(Box<Manifest>),
    Unreadable(serde_json::Error),
}

fn read(folder: &Path) -> Result<Option<Old>, Error> {
    let path = folder.join(MANIFEST);
    match fs::read(&path) {
        Ok(text) => Ok(Some(match serde_json::from_slice(&text) {
            Ok(manifest) => Old::Sweep(Box::new(manifest)),
            Err(error) => Old::Unreadable(error),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::read(&path)(error)),
    }
}

/// Whether a folder has nothing but hidden files.
fn is_empty(folder: &Path) -> Result<bool, Error> {
    let entries = fs::read_dir(folder).map_err(Error::read(folder))?;
    for entry in entries {
        let name = entry.map_err(Error::read(folder))?.file_name();
        if !name.to_string_lossy().starts_with('.') {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Holds the folder. The system lets go of it when the process ends, however it ends.
fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(Error::write(&path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::new(ErrorKind::InUse(folder.to_owned()))),
        // A file system without locks is no reason to fail.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(file),
    }
}

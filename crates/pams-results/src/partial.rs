//! Folders that are complete or not there: written under another name, renamed at the end.
//!
//! A partial folder lies beside its target and is called `.NAME.partial-PROCESS-N`. As long as its
//! writer lives, the writer holds a lock (`flock`) on the file `.lock` in it; the system lets go of
//! the lock when the process ends, however it ends. So whoever gets the lock of a partial folder
//! knows that nobody writes it any more, and removes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind};

/// The name of the file by which a partial folder is held.
const LOCK: &str = ".lock";

/// What the names of partial folders contain.
const MARK: &str = ".partial-";

/// What is done with a folder that has the name already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and writing another one is an error. The default.
    #[default]
    Keep,
    /// A run folder is replaced when the new one is complete. Anything else stays, and is an error.
    Overwrite,
}

/// A folder that is being written. Dropped before it is published, it is removed.
#[derive(Debug)]
pub(crate) struct PartialFolder {
    path: PathBuf,
    target: PathBuf,
    existing: Existing,
    /// None for a file system without locks, on which nobody sweeps either.
    _lock: Option<File>,
}

impl PartialFolder {
    /// Makes the folder `parent`, removes what killed writers left there, and begins `name` in it.
    pub(crate) fn create(parent: &Path, name: &str, existing: Existing) -> Result<Self, Error> {
        let target = parent.join(name);
        fs::create_dir_all(parent).map_err(|error| {
            let is_file = error.kind() == io::ErrorKind::AlreadyExists;
            let error = if is_file { io::ErrorKind::NotADirectory.into() } else { error };
            Error::write(parent, error)
        })?;
        check_target(&target, existing)?;
        sweep(parent);
        let process = std::process::id();
        for attempt in 0_u64.. {
            let path = parent.join(format!(".{name}{MARK}{process}-{attempt}"));
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Error::write(target, error)),
            }
            match hold(&path) {
                Ok(Held::Yes(lock)) => {
                    return Ok(Self { path, target, existing, _lock: Some(lock) });
                }
                Ok(Held::WithoutLocks) => {
                    return Ok(Self { path, target, existing, _lock: None });
                }
                // Somebody swept it in the moment before it was held.
                Ok(Held::No) => {}
                Err(error) => {
                    let _ = fs::remove_dir_all(&path);
                    return Err(Error::write(target, error));
                }
            }
        }
        unreachable!("invariant: nobody sweeps folders for ever")
    }

    /// Where the files are written.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where they will be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the folder its name. All files in it have to be synced.
    pub(crate) fn publish(self) -> Result<PathBuf, Error> {
        let failed = |error: io::Error| Error::write(&self.target, error);
        sync_folder(&self.path).map_err(failed)?;
        self.rename()?;
        // From here on it is complete; a lock file that stays does no harm.
        let _ = fs::remove_file(self.target.join(LOCK));
        if let Some(parent) = self.target.parent() {
            sync_folder(parent).map_err(failed)?;
        }
        Ok(self.target.clone())
    }

    fn rename(&self) -> Result<(), Error> {
        check_target(&self.target, self.existing)?;
        let exists = self.target.symlink_metadata().is_ok();
        let flags = if exists { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.path, CWD, &self.target, flags) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(Error::new(ErrorKind::Exists, &self.target)),
            // A file system that can't do this at once.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.rename_in_steps(exists).map_err(|error| Error::write(&self.target, error))?;
            }
            Err(error) => return Err(Error::write(&self.target, error.into())),
        }
        // What was replaced has the partial name now.
        let _ = fs::remove_dir_all(&self.path);
        Ok(())
    }

    fn rename_in_steps(&self, exists: bool) -> io::Result<()> {
        if exists {
            fs::remove_dir_all(&self.target)?;
        }
        fs::rename(&self.path, &self.target)
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        // After publishing there is nothing under this name.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Refuses a target that must not be replaced.
fn check_target(target: &Path, existing: Existing) -> Result<(), Error> {
    match (target.symlink_metadata(), existing) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        (Err(error), _) => Err(Error::write(target, error)),
        (Ok(_), Existing::Keep) => Err(Error::new(ErrorKind::Exists, target)),
        (Ok(_), Existing::Overwrite) if target.join(crate::info::FILE).is_file() => Ok(()),
        (Ok(_), Existing::Overwrite) => Err(Error::new(ErrorKind::NotOverwritable, target)),
    }
}

/// Whether a partial folder is held now.
enum Held {
    Yes(File),
    /// Somebody else holds it, or it is gone.
    No,
    WithoutLocks,
}

/// Takes the lock of a partial folder if nobody has it.
fn hold(folder: &Path) -> io::Result<Held> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let lock = match opened {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::No),
        Err(error) => return Err(error),
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(Held::No),
        Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK | Errno::INVAL) => {
            return Ok(Held::WithoutLocks);
        }
        Err(error) => return Err(error.into()),
    }
    // The file may have been removed, or the folder published, between opening and locking.
    let held = lock.metadata()?;
    match fs::metadata(&path) {
        Ok(there) if (there.dev(), there.ino()) == (held.dev(), held.ino()) => Ok(Held::Yes(lock)),
        _ => Ok(Held::No),
    }
}

/// Removes partial folders that nobody writes any more. That one can't be removed is no reason to
/// fail.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_partial =
            name.to_str().is_some_and(|name| name.starts_with('.') && name.contains(MARK));
        if !is_partial || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        if let Ok(Held::Yes(_lock)) = hold(&path) {
            match fs::remove_dir_all(&path) {
                Ok(()) => {
                    tracing::info!("{} was left by a killed run, and is removed", path.display());
                }
                Err(error) => tracing::warn!(
                    "{} was left by a killed run, and can't be removed: {error}",
                    path.display()
                ),
            }
        }
    }
}

/// Makes the entries of a folder survive a power cut.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems can't sync a folder, and need not.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let entries = fs::read_dir(parent).expect("the folder is there");
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.expect("it can be listed").file_name().into_string().expect("names are UTF-8")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_that_is_held_is_not_swept_and_one_that_is_not_is() {
        let parent = tempfile::tempdir().expect("a folder can be made");
        let living = PartialFolder::create(parent.path(), "a", Existing::Keep).expect("it is made");
        let dead = parent.path().join(".b.partial-1-0");
        fs::create_dir(&dead).expect("it can be made");
        fs::write(dead.join("steps.parquet"), "half").expect("it can be written");
        // Neither a user's file nor a user's folder is mistaken for one.
        fs::write(parent.path().join(".c.partial-1-0"), "").expect("it can be written");
        fs::create_dir(parent.path().join("d.partial-1-0")).expect("it can be made");
        sweep(parent.path());
        let living_name = living.path().file_name().expect("it has a name").to_owned();
        let living_name = living_name.into_string().expect("it is UTF-8");
        assert_eq!(names(parent.path()), [&living_name, ".c.partial-1-0", "d.partial-1-0"]);
    }

    #[test]
    fn a_folder_is_published_whole_or_removed() {
        let parent = tempfile::tempdir().expect("a folder can be made");
        let create = || PartialFolder::create(parent.path(), "a", Existing::Keep);
        drop(create().expect("it is made"));
        assert_eq!(names(parent.path()), [""; 0]);
        let folder = create().expect("it is made");
        fs::write(folder.path().join("x"), "1").expect("it can be written");
        let target = folder.publish().expect("it is published");
        assert_eq!(names(parent.path()), ["a"]);
        assert_eq!(names(&target), ["x"]);
        let error = create().expect_err("it is there");
        assert!(matches!(error.kind(), ErrorKind::Exists), "{error}");
    }

    #[test]
    fn a_folder_that_appears_while_another_is_written_is_kept() {
        let parent = tempfile::tempdir().expect("a folder can be made");
        let folder = PartialFolder::create(parent.path(), "a", Existing::Keep).expect("it is made");
        fs::create_dir(parent.path().join("a")).expect("it can be made");
        let error = folder.publish().expect_err("somebody was faster");
        assert!(matches!(error.kind(), ErrorKind::Exists), "{error}");
        assert_eq!(names(parent.path()), ["a"]);
    }

    #[test]
    fn only_run_folders_are_overwritten() {
        let parent = tempfile::tempdir().expect("a folder can be made");
        let target = parent.path().join("a");
        fs::create_dir(&target).expect("it can be made");
        fs::write(target.join("thesis.txt"), "years of work").expect("it can be written");
        let create = || PartialFolder::create(parent.path(), "a", Existing::Overwrite);
        let error = create().expect_err("it is no run folder");
        assert!(matches!(error.kind(), ErrorKind::NotOverwritable), "{error}");
        fs::write(target.join(crate::info::FILE), "{}").expect("it can be written");
        create().expect("it is made").publish().expect("it is published");
        assert_eq!(names(parent.path()), ["a"]);
        assert_eq!(names(&target), [""; 0]);
    }
}

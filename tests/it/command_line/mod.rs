//! The `pams` command as a program: what it prints, writes, and answers.

mod broken;
mod facts;
mod help;
mod interrupt;
mod keeping;
mod misuse;
mod outputs;
mod python;
mod runners;
mod runs;
mod schema;
mod sweep;
mod wild;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A config in which everything occurs.
pub(crate) const BASE: &str = include_str!("base.json");

/// The command, in a directory of its own so that its messages have no paths of this machine.
pub(crate) struct Pams {
    directory: tempfile::TempDir,
}

impl Pams {
    pub(crate) fn new() -> Self {
        let pams = Self { directory: tempfile::tempdir().expect("a directory can be made") };
        pams.write("base.json", BASE);
        pams
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("the directory can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// The command with these arguments, ready to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pams-with-test-classes"));
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        // Whatever users have set, they get no backtrace for their own mistakes.
        command.env("RUST_BACKTRACE", "1");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(&mut self.command(arguments))
    }
}

/// What the command came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// None when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().expect("the command starts"))
    }

    /// The standard output of a run that went well.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }

    /// The message of a run that failed with `code` and printed nothing else.
    #[track_caller]
    pub(crate) fn failure(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        for word in ["panicked", "backtrace", "os error"] {
            assert!(!self.stderr.contains(word), "{self:#?}");
        }
        self.stderr
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }
}

/// The shipped configs, with their paths.
pub(crate) fn shipped_configs() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/configs");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the shipped configs are there")
        .map(|entry| entry.expect("the directory is readable").path())
        .filter(|path| path.extension() == Some(OsStr::new("json")))
        .collect();
    paths.sort();
    assert!(paths.len() >= 11, "{paths:?}");
    paths
}

pub(crate) fn shipped_config(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/configs").join(name);
    fs::read_to_string(path).expect("the shipped config is there")
}

/// One case below the other, for a snapshot.
pub(crate) fn report(cases: impl IntoIterator<Item = (impl AsRef<str>, String)>) -> String {
    let mut report = String::new();
    for (name, message) in cases {
        writeln!(report, "# {}\n{message}", name.as_ref()).expect("a string can be written");
    }
    report
}

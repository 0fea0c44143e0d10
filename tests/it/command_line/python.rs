//! Run folders in Python, with polars and pandas.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Pams;

/// A Python that has data frames: the one that CI makes, or the system's.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let candidates = [root.join("target/results-venv/bin/python"), PathBuf::from("python3")];
    candidates.into_iter().find(|python| {
        let code = "import polars, pandas, pyarrow";
        let tried = Command::new(python).args(["-c", code]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn polars_and_pandas_read_what_was_written() {
    let Some(python) = python() else {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: no Python here has polars, pandas and pyarrow");
        }
        return;
    };
    let pams = Pams::new();
    let mut runs = Vec::new();
    for format in ["parquet", "csv", "jsonl"] {
        let run = ["run", "base.json", "--seed", "1", "--depth", "2", "--out"];
        pams.run(&[&run[..], &[format, "--out-format", format]].concat()).success();
        runs.push(format!("{format}/base-1"));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/test_pams_results.py");
    let mut command = Command::new(python);
    command.arg(script).args(runs).current_dir(pams.path("."));
    let output = command.output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3 runs are read as they were written\n");
}

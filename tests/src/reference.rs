//! The records that PAMS 0.3.0 wrote.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value as Json;

/// One run of PAMS.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What the config is called.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// Whether every number has to be equal. Otherwise fundamental prices went through NumPy's
    /// `exp`, which may differ from the C library's in the last digit.
    pub exact: bool,
    /// The text of the config.
    pub config: String,
    /// All records and accounts in order, or an `error` at the end.
    pub records: Vec<Json>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    seed: u64,
    exact: bool,
    records: usize,
    config: String,
}

/// The runs in a file of `tests/data`, one after the other.
///
/// # Errors
///
/// When the file can't be read or is not what `write_references.py` writes.
pub fn references(file: &str) -> io::Result<impl Iterator<Item = io::Result<Reference>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file);
    let mut lines = BufReader::new(GzDecoder::new(File::open(path)?)).lines();
    // The first line says on which machine the records were made.
    lines.next().transpose()?;
    Ok(std::iter::from_fn(move || Some(next(lines.next()?, &mut lines))))
}

fn next(
    header: io::Result<String>,
    lines: &mut impl Iterator<Item = io::Result<String>>,
) -> io::Result<Reference> {
    let Header { name, seed, exact, records, config } = serde_json::from_str(&header?)?;
    let records = lines
        .take(records)
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<io::Result<Vec<Json>>>()?;
    Ok(Reference { name, seed, exact, config, records })
}

//! The runs of a sweep as they finish: one line of JSON for each, in the order in which they came.
//!
//! A line is written at once when its run is over, so a process that is killed loses only what its
//! workers were at. What lies behind the last complete line is cut off at the next start.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::outcome::RunOutcome;
use crate::seeds::Seeds;

/// The name of the file.
pub(crate) const FILE: &str = "journal.jsonl";

/// One run that is over: with an outcome, or with the error by which it failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) point: usize,
    pub(crate) seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<RunOutcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Line {
    pub(crate) fn new(point: usize, seed: u64, result: Result<RunOutcome, String>) -> Self {
        let (outcome, error) = match result {
            Ok(outcome) => (Some(outcome), None),
            Err(error) => (None, Some(error)),
        };
        Self { point, seed, outcome, error }
    }

    /// The line as it is written, with its end.
    pub(crate) fn text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("invariant: a line is plain data");
        text.push('\n');
        text
    }
}

/// What is read of a line to know which run it is.
#[derive(Deserialize)]
struct Head {
    point: usize,
    seed: u64,
    #[serde(default)]
    error: Option<String>,
}

/// The journal of a sweep, and where in it each run stands.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    /// The length of the file.
    end: u64,
    seeds: Seeds,
    /// For each run, by point and then by seed, one more than where its line begins; 0 for a run that
    /// is not over.
    places: Vec<u64>,
    n_done: u64,
}

impl Journal {
    /// Opens the journal of a folder, and finds what is finished. Runs that failed are not: the
    /// machine may have been the cause.
    pub(crate) fn open(folder: &Path, n_points: usize, seeds: &Seeds) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.map_err(Error::write(&path))?;
        let n_seeds = usize::try_from(seeds.count()).expect("invariant: runs were counted before");
        let places = vec![0; n_points * n_seeds];
        let mut journal = Self { file, path, end: 0, seeds: seeds.clone(), places, n_done: 0 };
        journal.recover()?;
        Ok(journal)
    }

    fn recover(&mut self) -> Result<(), Error> {
        let mut reader = BufReader::new(&self.file);
        let (mut end, mut line, mut found) = (0, Vec::new(), Vec::new());
        loop {
            line.clear();
            let n_read = reader.read_until(b'\n', &mut line).map_err(Error::read(&self.path))?;
            let head = line.strip_suffix(b"\n").and_then(|line| serde_json::from_slice(line).ok());
            let Some(Head { point, seed, error }) = head else {
                if n_read > 0 {
                    tracing::info!("{} ends in the middle of a run", self.path.display());
                }
                break;
            };
            if error.is_none() {
                found.push((point, seed, end));
            }
            end += n_read as u64;
        }
        self.file.set_len(end).map_err(Error::write(&self.path))?;
        self.end = end;
        for (point, seed, start) in found {
            self.note(point, seed, start);
        }
        Ok(())
    }

    fn note(&mut self, point: usize, seed: u64, start: u64) {
        if let Some(index) = self.index(point, seed) {
            self.n_done += u64::from(self.places[index] == 0);
            self.places[index] = start + 1;
        }
    }

    /// Where a run stands among all; none for a seed that is not asked for now.
    fn index(&self, point: usize, seed: u64) -> Option<usize> {
        let n_seeds = usize::try_from(self.seeds.count()).ok()?;
        let index = point * n_seeds + usize::try_from(self.seeds.position(seed)?).ok()?;
        (index < self.places.len()).then_some(index)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many runs are over.
    pub(crate) fn n_done(&self) -> u64 {
        self.n_done
    }

    /// How many runs there are.
    pub(crate) fn n_runs(&self) -> u64 {
        self.places.len() as u64
    }

    /// The point and seed of the next run from `index` on that is not over, and its index.
    pub(crate) fn next_open(&self, index: usize) -> Option<(usize, usize, u64)> {
        let index = index + self.places.get(index..)?.iter().position(|place| *place == 0)?;
        let n_seeds = usize::try_from(self.seeds.count()).ok()?;
        let seed = self.seeds.at((index % n_seeds) as u64)?;
        Some((index, index / n_seeds, seed))
    }

    /// Writes the lines of runs of one point that are over, with the seeds of these runs.
    pub(crate) fn append(
        &mut self,
        point: usize,
        seeds: &[u64],
        lines: &[String],
    ) -> Result<(), Error> {
        let text = lines.concat();
        self.file.write_all(text.as_bytes()).map_err(Error::write(&self.path))?;
        let mut start = self.end;
        for (seed, line) in seeds.iter().zip(lines) {
            self.note(point, *seed, start);
            start += line.len() as u64;
        }
        self.end = start;
        Ok(())
    }

    /// The lines of all runs that are over, by point and then by seed.
    pub(crate) fn lines(&self) -> Result<Lines<'_>, Error> {
        let file = File::open(&self.path).map_err(Error::read(&self.path))?;
        Ok(Lines { journal: self, reader: BufReader::new(file), position: 0, next: 0 })
    }
}

/// See [`Journal::lines`].
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    journal: &'a Journal,
    reader: BufReader<File>,
    /// Where the reader is.
    position: u64,
    next: usize,
}

impl Lines<'_> {
    fn read(&mut self, start: u64) -> Result<Line, Error> {
        let path = self.journal.path();
        // Lines mostly follow each other, and then the buffer stays.
        let distance = i64::try_from(start).unwrap_or(i64::MAX)
            - i64::try_from(self.position).unwrap_or(i64::MAX);
        self.reader.seek_relative(distance).map_err(Error::read(path))?;
        let mut text = Vec::new();
        let n_read = self.reader.read_until(b'\n', &mut text).map_err(Error::read(path))?;
        self.position = start + n_read as u64;
        serde_json::from_slice(&text).map_err(|error| {
            let what = format!("at byte {start} is no run: {error}");
            Error::new(ErrorKind::Damaged(path.to_owned(), what))
        })
    }
}

impl Iterator for Lines<'_> {
    type Item = Result<Line, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.journal.places.get(self.next..)?;
        self.next += rest.iter().position(|place| *place > 0)?;
        let start = self.journal.places[self.next] - 1;
        self.next += 1;
        Some(self.read(start))
    }
}

/// Whether a file has something in it.
pub(crate) fn has_runs(folder: &Path) -> bool {
    let file = File::open(folder.join(FILE));
    file.is_ok_and(|mut file| {
        let is_there = file.seek(SeekFrom::Start(0)).is_ok();
        is_there && matches!(file.read(&mut [0]), Ok(1))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn failed(point: usize, seed: u64) -> Line {
        Line::new(point, seed, Err("no".to_owned()))
    }

    fn finished(point: usize, seed: u64) -> Line {
        let outcome = RunOutcome {
            steps: seed,
            orders: 0,
            executions: 0,
            cancels: 0,
            expirations: 0,
            records_hash: "blake3:0".to_owned(),
            markets: Vec::new(),
        };
        Line::new(point, seed, Ok(outcome))
    }

    fn append(journal: &mut Journal, line: &Line) {
        journal.append(line.point, &[line.seed], &[line.text()]).unwrap();
    }

    #[test]
    fn lines_come_sorted_and_a_broken_end_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let seeds: Seeds = "0..3".parse().unwrap();
        let open = || Journal::open(folder.path(), 2, &seeds).unwrap();
        let mut journal = open();
        assert_eq!(journal.next_open(0), Some((0, 0, 0)));
        let lines = [finished(1, 2), finished(0, 1), failed(1, 0), finished(0, 0)];
        for line in &lines {
            append(&mut journal, line);
        }
        let sorted = |journal: &Journal| -> Vec<Line> {
            journal.lines().unwrap().collect::<Result<_, _>>().unwrap()
        };
        let expected = [3, 1, 2, 0].map(|index: usize| lines[index].clone());
        assert_eq!(sorted(&journal), expected);
        drop(journal);

        let whole = fs::read(folder.path().join(FILE)).unwrap();
        let mut broken = whole.clone();
        broken.extend_from_slice(&finished(0, 2).text().as_bytes()[..20]);
        fs::write(folder.path().join(FILE), broken).unwrap();
        let mut journal = open();
        // The run that failed is to be done again, and so is the one whose line is broken.
        assert_eq!((journal.n_done(), journal.n_runs()), (3, 6));
        assert_eq!(journal.next_open(0), Some((2, 0, 2)));
        assert_eq!(journal.next_open(3), Some((3, 1, 0)));
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), whole);
        append(&mut journal, &finished(1, 0));
        assert_eq!(sorted(&journal)[2], finished(1, 0));
    }

    #[test]
    fn seeds_that_are_not_asked_for_now_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let open = |seeds: &str| Journal::open(folder.path(), 1, &seeds.parse().unwrap()).unwrap();
        let mut journal = open("0..3");
        for seed in [2, 0, 1] {
            append(&mut journal, &finished(0, seed));
        }
        let journal = open("1..5");
        assert_eq!((journal.n_done(), journal.n_runs()), (2, 4));
        let seeds: Vec<u64> = journal.lines().unwrap().map(|line| line.unwrap().seed).collect();
        assert_eq!(seeds, [1, 2]);
    }
}

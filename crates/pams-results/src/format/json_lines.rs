//! One JSON object a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{Decoder, Encoder, invalid};
use crate::table::{Column, Kind, TableSpec};
use crate::writer::ROW_GROUP;

/// How many bytes are written and read at once.
const BUFFER: usize = 1 << 17;

/// Writes a table as JSON lines.
pub(super) struct Writer {
    output: BufWriter<File>,
    /// What stands before each value: the comma or bracket, and the key.
    keys: Vec<String>,
}

impl Writer {
    pub(super) fn new(spec: &TableSpec, file: File) -> Self {
        let mut start = '{';
        let keys = spec.columns.iter().map(|column| {
            let key = format!("{start}\"{}\":", column.name);
            start = ',';
            key
        });
        let keys = keys.collect();
        Self { output: BufWriter::with_capacity(BUFFER, file), keys }
    }

    fn write_row(&mut self, columns: &[Column], row: usize) -> io::Result<()> {
        for (column, key) in columns.iter().zip(&self.keys) {
            self.output.write_all(key.as_bytes())?;
            let output = &mut self.output;
            match column {
                Column::Small(values) => put(output, &values[row]),
                Column::Whole(values) => put(output, &values[row]),
                Column::MaybeWhole(values) => put(output, &values[row]),
                Column::Float(values) => put(output, &values[row]),
                Column::MaybeFloat(values) => put(output, &values[row]),
                Column::Text(texts) => put(output, &**texts.text(row)),
            }?;
        }
        self.output.write_all(b"}\n")
    }
}

fn put(output: &mut BufWriter<File>, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    serde_json::to_writer(output, value).map_err(io::Error::from)
}

impl Encoder for Writer {
    fn write(&mut self, columns: &[Column]) -> io::Result<()> {
        (0..columns[0].len()).try_for_each(|row| self.write_row(columns, row))
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        self.output.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Reads a table from JSON lines.
pub(super) struct Reader {
    input: BufReader<File>,
    line: String,
    n_lines: u64,
    /// The key of each column; none for a name, which nobody reads.
    keys: Vec<Option<&'static str>>,
}

impl Reader {
    pub(super) fn new(spec: &TableSpec, file: File) -> Self {
        let keys = spec.columns.iter();
        let keys = keys.map(|column| (column.kind != Kind::Name).then_some(column.name));
        Self {
            input: BufReader::with_capacity(BUFFER, file),
            line: String::new(),
            n_lines: 0,
            keys: keys.collect(),
        }
    }

    fn read_row(&mut self, columns: &mut [Column]) -> io::Result<()> {
        let n_lines = self.n_lines;
        let row: Map<String, Json> = serde_json::from_str(&self.line)
            .map_err(|error| invalid(format!("line {n_lines} is no JSON object: {error}")))?;
        for (column, key) in columns.iter_mut().zip(&self.keys) {
            let Some(key) = *key else { continue };
            let value = row.get(key);
            push(column, value).ok_or_else(|| {
                let value = value.map_or_else(|| "nothing".to_owned(), Json::to_string);
                invalid(format!("line {n_lines}: {value} is no value of `{key}`"))
            })?;
        }
        Ok(())
    }
}

impl Decoder for Reader {
    fn read(&mut self, columns: &mut [Column]) -> io::Result<usize> {
        let mut n_rows = 0;
        while n_rows < ROW_GROUP {
            self.line.clear();
            if self.input.read_line(&mut self.line)? == 0 {
                break;
            }
            self.n_lines += 1;
            self.read_row(columns)?;
            n_rows += 1;
        }
        Ok(n_rows)
    }
}

/// Adds a value, or nothing if it does not fit.
fn push(column: &mut Column, value: Option<&Json>) -> Option<()> {
    let value = value?;
    match column {
        Column::Small(values) => values.push(u32::try_from(value.as_u64()?).ok()?),
        Column::Whole(values) => values.push(value.as_i64()?),
        // JSON has no other way to say that a float is not finite.
        Column::Float(values) if value.is_null() => values.push(f64::NAN),
        Column::Float(values) => values.push(value.as_f64()?),
        Column::MaybeWhole(values) if value.is_null() => values.push(None),
        Column::MaybeWhole(values) => values.push(Some(value.as_i64()?)),
        Column::MaybeFloat(values) if value.is_null() => values.push(None),
        Column::MaybeFloat(values) => values.push(Some(value.as_f64()?)),
        Column::Text(texts) => texts.push_word(value.as_str()?),
    }
    Some(())
}

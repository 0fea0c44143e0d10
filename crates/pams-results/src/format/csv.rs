//! Comma-separated values.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write as _};

use ::csv::StringRecord;

use super::{Decoder, Encoder, invalid};
use crate::table::{Column, Kind, TableSpec};
use crate::writer::ROW_GROUP;

/// How many bytes are written and read at once.
const BUFFER: usize = 1 << 17;

/// Writes a table as CSV.
pub(super) struct Writer {
    writer: ::csv::Writer<BufWriter<File>>,
    field: Vec<u8>,
}

impl Writer {
    pub(super) fn new(spec: &TableSpec, file: File) -> io::Result<Self> {
        let mut writer = ::csv::Writer::from_writer(BufWriter::with_capacity(BUFFER, file));
        writer.write_record(spec.columns.iter().map(|column| column.name)).map_err(to_io)?;
        Ok(Self { writer, field: Vec::new() })
    }

    fn write_row(&mut self, columns: &[Column], row: usize) -> io::Result<()> {
        for column in columns {
            self.field.clear();
            let field = &mut self.field;
            match column {
                Column::Small(values) => write!(field, "{}", values[row])?,
                Column::Whole(values) => write!(field, "{}", values[row])?,
                Column::Float(values) => write!(field, "{:?}", values[row])?,
                Column::MaybeWhole(values) => {
                    values[row].map_or(Ok(()), |value| write!(field, "{value}"))?;
                }
                Column::MaybeFloat(values) => {
                    values[row].map_or(Ok(()), |value| write!(field, "{value:?}"))?;
                }
                Column::Text(texts) => field.extend_from_slice(texts.text(row).as_bytes()),
            }
            self.writer.write_field(&self.field).map_err(to_io)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(to_io)
    }
}

impl Encoder for Writer {
    fn write(&mut self, columns: &[Column]) -> io::Result<()> {
        (0..columns[0].len()).try_for_each(|row| self.write_row(columns, row))
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        let writer = self.writer.into_inner().map_err(|error| error.into_error())?;
        writer.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Reads a table from CSV.
pub(super) struct Reader {
    reader: ::csv::Reader<BufReader<File>>,
    record: StringRecord,
    /// Where each column stands in the file, and its name; none for a name, which nobody reads.
    places: Vec<Option<(usize, &'static str)>>,
}

impl Reader {
    pub(super) fn new(spec: &TableSpec, file: File) -> io::Result<Self> {
        let mut reader = ::csv::Reader::from_reader(BufReader::with_capacity(BUFFER, file));
        let header = reader.headers().map_err(to_io)?;
        let place = |name: &'static str| {
            let found = header.iter().position(|column| column == name);
            let place = found.ok_or_else(|| invalid(format!("there is no column `{name}`")))?;
            Ok::<_, io::Error>(Some((place, name)))
        };
        let places = spec.columns.iter().map(|column| match column.kind {
            Kind::Name => Ok(None),
            _ => place(column.name),
        });
        let places = places.collect::<Result<_, _>>()?;
        Ok(Self { reader, record: StringRecord::new(), places })
    }
}

impl Decoder for Reader {
    fn read(&mut self, columns: &mut [Column]) -> io::Result<usize> {
        let mut n_rows = 0;
        while n_rows < ROW_GROUP && self.reader.read_record(&mut self.record).map_err(to_io)? {
            for (column, place) in columns.iter_mut().zip(&self.places) {
                let Some((place, name)) = *place else { continue };
                let field = self.record.get(place).unwrap_or_default();
                push(column, field).map_err(|()| {
                    let line = self.record.position().map_or(0, ::csv::Position::line);
                    invalid(format!("line {line}: `{field}` is no value of `{name}`"))
                })?;
            }
            n_rows += 1;
        }
        Ok(n_rows)
    }
}

fn push(column: &mut Column, field: &str) -> Result<(), ()> {
    match column {
        Column::Small(values) => values.push(parse(field)?),
        Column::Whole(values) => values.push(parse(field)?),
        Column::Float(values) => values.push(parse(field)?),
        Column::MaybeWhole(values) => values.push(parse_maybe(field)?),
        Column::MaybeFloat(values) => values.push(parse_maybe(field)?),
        Column::Text(texts) => texts.push_word(field),
    }
    Ok(())
}

fn parse<T: std::str::FromStr>(field: &str) -> Result<T, ()> {
    field.parse().map_err(|_| ())
}

fn parse_maybe<T: std::str::FromStr>(field: &str) -> Result<Option<T>, ()> {
    if field.is_empty() { Ok(None) } else { parse(field).map(Some) }
}

fn to_io(error: ::csv::Error) -> io::Error {
    let message = error.to_string();
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        _ => invalid(message),
    }
}

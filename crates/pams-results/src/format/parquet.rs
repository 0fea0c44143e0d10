//! Parquet: a row group for each batch of rows.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::{Decoder, Encoder, invalid};
use crate::table::{Column, Kind, TableSpec, Texts};

/// Writes a table as Parquet.
pub(super) struct Writer {
    writer: SerializedFileWriter<File>,
    /// For each column the texts by code, in the form in which they are written.
    words: Vec<Vec<Option<ByteArray>>>,
}

impl Writer {
    pub(super) fn new(spec: &TableSpec, file: File) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(&schema(spec)).map_err(to_io)?);
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties(spec)));
        let words = vec![Vec::new(); spec.columns.len()];
        Ok(Self { writer: writer.map_err(to_io)?, words })
    }
}

/// The schema of a table in Parquet's own language.
fn schema(spec: &TableSpec) -> String {
    let mut schema = format!("message {} {{\n", spec.name);
    for column in spec.columns {
        let name = column.name;
        let kind = match column.kind {
            Kind::Small => "REQUIRED INT32",
            Kind::Whole => "REQUIRED INT64",
            Kind::MaybeWhole => "OPTIONAL INT64",
            Kind::Float => "REQUIRED DOUBLE",
            Kind::MaybeFloat => "OPTIONAL DOUBLE",
            Kind::Text | Kind::Name => "REQUIRED BYTE_ARRAY",
        };
        let logical = if kind.ends_with("ARRAY") { " (STRING)" } else { "" };
        writeln!(schema, "  {kind} {name}{logical};").expect("invariant: a string can be written");
    }
    schema + "}"
}

/// Whole numbers as differences, texts by a dictionary, floats as they are.
fn properties(spec: &TableSpec) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("pams-rs ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false);
    for column in spec.columns {
        let path = ColumnPath::from(column.name);
        properties = match column.kind {
            Kind::Text | Kind::Name => properties.set_column_dictionary_enabled(path, true),
            Kind::Small | Kind::Whole | Kind::MaybeWhole => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Kind::Float | Kind::MaybeFloat => properties,
        };
    }
    properties.build()
}

impl Encoder for Writer {
    fn write(&mut self, columns: &[Column]) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(to_io)?;
        for (column, words) in columns.iter().zip(&mut self.words) {
            let writer = group.next_column().map_err(to_io)?;
            let mut writer = writer.expect("invariant: the schema has a column for each");
            write_column(&mut writer, column, words).map_err(to_io)?;
            writer.close().map_err(to_io)?;
        }
        group.close().map_err(to_io)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        self.writer.into_inner().map_err(to_io)
    }
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    words: &mut Vec<Option<ByteArray>>,
) -> Result<(), ParquetError> {
    match column {
        Column::Small(values) => {
            let values: Vec<i32> = values.iter().map(|value| value.cast_signed()).collect();
            writer.typed::<Int32Type>().write_batch(&values, None, None)?;
        }
        Column::Whole(values) => {
            writer.typed::<Int64Type>().write_batch(values, None, None)?;
        }
        Column::Float(values) => {
            writer.typed::<DoubleType>().write_batch(values, None, None)?;
        }
        Column::MaybeWhole(values) => write_maybe::<Int64Type>(writer, values)?,
        Column::MaybeFloat(values) => write_maybe::<DoubleType>(writer, values)?,
        Column::Text(texts) => {
            let values = byte_arrays(texts, words);
            writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        }
    }
    Ok(())
}

fn write_maybe<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    writer.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

/// The texts of a column; `words` remembers them from batch to batch.
fn byte_arrays(texts: &Texts, words: &mut Vec<Option<ByteArray>>) -> Vec<ByteArray> {
    words.resize(texts.words.len(), None);
    let mut array = |row: usize| {
        let word = &mut words[texts.codes[row] as usize];
        word.get_or_insert_with(|| ByteArray::from(texts.text(row).as_bytes().to_vec())).clone()
    };
    (0..texts.codes.len()).map(&mut array).collect()
}

/// Reads a table from Parquet.
pub(super) struct Reader {
    reader: SerializedFileReader<File>,
    next_group: usize,
    /// Where each column stands in the file; none for a name, which nobody reads.
    places: Vec<Option<usize>>,
    names: Vec<&'static str>,
}

impl Reader {
    pub(super) fn new(spec: &TableSpec, file: File) -> io::Result<Self> {
        let reader = SerializedFileReader::new(file).map_err(to_io)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let place = |name: &str| {
            let found = schema.columns().iter().position(|column| column.name() == name);
            found.ok_or_else(|| invalid(format!("there is no column `{name}`")))
        };
        let places = spec.columns.iter().map(|column| match column.kind {
            Kind::Name => Ok(None),
            _ => place(column.name).map(Some),
        });
        let places = places.collect::<Result<_, _>>()?;
        let names = spec.columns.iter().map(|column| column.name).collect();
        Ok(Self { reader, next_group: 0, places, names })
    }
}

impl Decoder for Reader {
    fn read(&mut self, columns: &mut [Column]) -> io::Result<usize> {
        if self.next_group >= self.reader.metadata().num_row_groups() {
            return Ok(0);
        }
        let group = self.reader.get_row_group(self.next_group).map_err(to_io)?;
        self.next_group += 1;
        let n_rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| invalid("a row group has a negative number of rows"))?;
        for ((column, place), name) in columns.iter_mut().zip(&self.places).zip(&self.names) {
            let Some(place) = *place else { continue };
            let reader = group.get_column_reader(place).map_err(to_io)?;
            read_column(reader, column, n_rows, name)?;
        }
        Ok(n_rows)
    }
}

fn read_column(
    reader: ColumnReader,
    column: &mut Column,
    n_rows: usize,
    name: &str,
) -> io::Result<()> {
    match (column, reader) {
        (Column::Small(values), ColumnReader::Int32ColumnReader(reader)) => {
            let read = read_all(reader, n_rows, name)?;
            values.extend(read.into_iter().map(i32::cast_unsigned));
        }
        (Column::Whole(values), ColumnReader::Int64ColumnReader(reader)) => {
            values.extend(read_all(reader, n_rows, name)?);
        }
        (Column::Float(values), ColumnReader::DoubleColumnReader(reader)) => {
            values.extend(read_all(reader, n_rows, name)?);
        }
        (Column::MaybeWhole(values), ColumnReader::Int64ColumnReader(reader)) => {
            values.extend(read_maybe(reader, n_rows, name)?);
        }
        (Column::MaybeFloat(values), ColumnReader::DoubleColumnReader(reader)) => {
            values.extend(read_maybe(reader, n_rows, name)?);
        }
        (Column::Text(texts), ColumnReader::ByteArrayColumnReader(reader)) => {
            for value in read_all(reader, n_rows, name)? {
                texts.push_word(value.as_utf8().map_err(to_io)?);
            }
        }
        _ => return Err(invalid(format!("the column `{name}` has another type"))),
    }
    Ok(())
}

/// All values of a column in which none is missing.
fn read_all<T: DataType>(
    reader: ColumnReaderImpl<T>,
    n_rows: usize,
    name: &str,
) -> io::Result<Vec<T::T>> {
    let values: Option<Vec<T::T>> = read_maybe(reader, n_rows, name)?.into_iter().collect();
    values.ok_or_else(|| invalid(format!("the column `{name}` has values that are missing")))
}

fn read_maybe<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    n_rows: usize,
    name: &str,
) -> io::Result<Vec<Option<T::T>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::with_capacity(n_rows));
    let (n_read, ..) =
        reader.read_records(n_rows, Some(&mut levels), None, &mut values).map_err(to_io)?;
    if n_read != n_rows {
        return Err(invalid(format!("the column `{name}` ends early")));
    }
    if levels.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level == 0 { None } else { values.next() }).collect())
}

/// The system's error below an error of Parquet, or what else is wrong with the file.
fn to_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => invalid(error),
        },
        other => invalid(other),
    }
}

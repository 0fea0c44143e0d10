//! The table of all runs, as Parquet.

use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value as Json;

use crate::grid::{Grid, shown};
use crate::journal::Line;
use crate::outcome::{MarketOutcome, RunOutcome};

/// How many rows are written at once.
const ROW_GROUP: usize = 1 << 14;

/// Values of some rows of one column. None stands for a value that there is not.
#[derive(Debug)]
enum Values {
    Whole(Vec<Option<i64>>),
    /// Whole numbers without sign, in 64 bits.
    Unsigned(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Truth(Vec<Option<bool>>),
    Text(Vec<Option<ByteArray>>),
}

#[derive(Debug)]
struct Column {
    name: String,
    values: Values,
}

impl Column {
    fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values }
    }

    /// As the parameter of a grid: numbers if all values are, else texts.
    fn parameter(name: &str, values: &[Json]) -> Self {
        let values = if values.iter().all(Json::is_i64) {
            Values::Whole(Vec::new())
        } else if values.iter().all(Json::is_number) {
            Values::Float(Vec::new())
        } else if values.iter().all(Json::is_boolean) {
            Values::Truth(Vec::new())
        } else {
            Values::Text(Vec::new())
        };
        Self::new(name, values)
    }

    fn push_json(&mut self, value: &Json) {
        match &mut self.values {
            Values::Whole(values) | Values::Unsigned(values) => values.push(value.as_i64()),
            Values::Float(values) => values.push(value.as_f64()),
            Values::Truth(values) => values.push(value.as_bool()),
            Values::Text(values) => values.push(Some(shown(value).into_bytes().into())),
        }
    }

    fn push_whole(&mut self, value: Option<u64>) {
        match &mut self.values {
            Values::Whole(values) | Values::Unsigned(values) => {
                values.push(value.map(u64::cast_signed));
            }
            other => unreachable!("invariant: {other:?} is no column of whole numbers"),
        }
    }

    fn push_float(&mut self, value: Option<f64>) {
        match &mut self.values {
            Values::Float(values) => values.push(value),
            other => unreachable!("invariant: {other:?} is no column of floats"),
        }
    }

    fn push_text(&mut self, value: Option<&str>) {
        match &mut self.values {
            Values::Text(values) => values.push(value.map(|text| text.as_bytes().to_vec().into())),
            other => unreachable!("invariant: {other:?} is no column of texts"),
        }
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Whole(values) | Values::Unsigned(values) => values.clear(),
            Values::Float(values) => values.clear(),
            Values::Truth(values) => values.clear(),
            Values::Text(values) => values.clear(),
        }
    }

    fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let (physical, converted) = match self.values {
            Values::Whole(_) => (PhysicalType::INT64, ConvertedType::NONE),
            Values::Unsigned(_) => (PhysicalType::INT64, ConvertedType::UINT_64),
            Values::Float(_) => (PhysicalType::DOUBLE, ConvertedType::NONE),
            Values::Truth(_) => (PhysicalType::BOOLEAN, ConvertedType::NONE),
            Values::Text(_) => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    }

    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Whole(values) | Values::Unsigned(values) => write::<Int64Type>(writer, values),
            Values::Float(values) => write::<DoubleType>(writer, values),
            Values::Truth(values) => write::<BoolType>(writer, values),
            Values::Text(values) => write::<ByteArrayType>(writer, values),
        }
    }
}

fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    writer.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

/// A column: its name, and how its value is taken from an outcome.
type Taken<From, To> = (&'static str, fn(&From) -> To);

/// The columns of one run beside its parameters and its seed, in order.
const RUN_COLUMNS: [Taken<RunOutcome, u64>; 5] = [
    ("steps", |outcome| outcome.steps),
    ("orders", |outcome| outcome.orders),
    ("executions", |outcome| outcome.executions),
    ("cancels", |outcome| outcome.cancels),
    ("expirations", |outcome| outcome.expirations),
];

/// The columns of one market, in order: first the floats, then the counts.
const MARKET_FLOATS: [Taken<MarketOutcome, Option<f64>>; 5] = [
    ("market_price", |market| market.market_price),
    ("fundamental_price", |market| market.fundamental_price),
    ("last_executed_price", |market| market.last_executed_price),
    ("vwap", |market| market.vwap),
    ("return_std", |market| market.return_std),
];
const MARKET_COUNTS: [Taken<MarketOutcome, u64>; 5] = [
    ("executed_volume", |market| market.executed_volume),
    ("orders", |market| market.orders),
    ("executions", |market| market.executions),
    ("cancels", |market| market.cancels),
    ("expirations", |market| market.expirations),
];

/// Writes the table of all runs, whose rows come in order.
pub(crate) struct TableWriter<'a> {
    writer: SerializedFileWriter<&'a mut File>,
    grid: &'a Grid,
    markets: &'a [String],
    columns: Vec<Column>,
    n_rows: usize,
}

impl<'a> TableWriter<'a> {
    /// Begins a table of the runs of a grid in which there are these markets.
    pub(crate) fn new(
        file: &'a mut File,
        grid: &'a Grid,
        markets: &'a [String],
    ) -> io::Result<Self> {
        let columns = columns(grid, markets);
        let fields = columns.iter().map(Column::schema).collect::<Result<_, _>>().map_err(to_io)?;
        let schema = Type::group_type_builder("runs").with_fields(fields).build().map_err(to_io)?;
        let properties = WriterProperties::builder()
            .set_created_by(concat!("pams-rs ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::LZ4_RAW)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        Ok(Self { writer: writer.map_err(to_io)?, grid, markets, columns, n_rows: 0 })
    }

    pub(crate) fn push(&mut self, line: &Line) -> io::Result<()> {
        let outcome = line.outcome.as_ref();
        let mut columns = self.columns.iter_mut();
        let mut next = || columns.next().expect("invariant: a row has no more values than columns");
        next().push_whole(Some(line.point as u64));
        for value in self.grid.values(line.point) {
            next().push_json(value);
        }
        next().push_whole(Some(line.seed));
        next().push_text(line.error.as_deref());
        for (_, value) in RUN_COLUMNS {
            next().push_whole(outcome.map(value));
        }
        next().push_text(outcome.map(|outcome| &*outcome.records_hash));
        for name in self.markets {
            let market = outcome
                .and_then(|outcome| outcome.markets.iter().find(|market| market.name == *name));
            for (_, value) in MARKET_FLOATS {
                next().push_float(market.and_then(value));
            }
            for (_, value) in MARKET_COUNTS {
                next().push_whole(market.map(value));
            }
        }
        self.n_rows += 1;
        if self.n_rows == ROW_GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes what is left, and the end of the file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.writer.close().map(|_| ()).map_err(to_io)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.n_rows == 0 {
            return Ok(());
        }
        self.n_rows = 0;
        let mut group = self.writer.next_row_group().map_err(to_io)?;
        for column in &mut self.columns {
            let writer = group.next_column().map_err(to_io)?;
            let mut writer = writer.expect("invariant: the schema has a column for each");
            column.write(&mut writer).map_err(to_io)?;
            writer.close().map_err(to_io)?;
            column.clear();
        }
        group.close().map(|_| ()).map_err(to_io)
    }
}

fn columns(grid: &Grid, markets: &[String]) -> Vec<Column> {
    let mut columns = vec![Column::new("point", Values::Whole(Vec::new()))];
    columns.extend(grid.axes().iter().map(|axis| Column::parameter(axis.path(), axis.values())));
    columns.push(Column::new("seed", Values::Unsigned(Vec::new())));
    columns.push(Column::new("error", Values::Text(Vec::new())));
    columns.extend(RUN_COLUMNS.map(|(name, _)| Column::new(name, Values::Whole(Vec::new()))));
    columns.push(Column::new("records_hash", Values::Text(Vec::new())));
    for market in markets {
        let named = |name| format!("{market}.{name}");
        let floats = MARKET_FLOATS.map(|(name, _)| Column::new(named(name), Values::Float(vec![])));
        let counts = MARKET_COUNTS.map(|(name, _)| Column::new(named(name), Values::Whole(vec![])));
        columns.extend(floats.into_iter().chain(counts));
    }
    columns
}

/// The system's error below an error of Parquet, or what else went wrong.
fn to_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Row;

    use super::*;

    fn market(name: &str, price: f64) -> MarketOutcome {
        MarketOutcome {
            name: name.to_owned(),
            market_price: Some(price),
            fundamental_price: Some(300.0),
            last_executed_price: None,
            vwap: None,
            return_std: Some(0.01),
            executed_volume: 7,
            orders: 5,
            executions: 4,
            cancels: 3,
            expirations: 2,
        }
    }

    fn outcome(markets: Vec<MarketOutcome>) -> RunOutcome {
        RunOutcome {
            steps: 10,
            orders: 5,
            executions: 4,
            cancels: 3,
            expirations: 2,
            records_hash: "blake3:0".to_owned(),
            markets,
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let axes = ["A.x=1,0.5", "A.y=one,[2]", "A.z=true"].map(|text| text.parse().unwrap());
        let grid = Grid::new(axes.to_vec()).unwrap();
        let markets = ["M", "N"].map(str::to_owned);
        let mut file = tempfile::tempfile().unwrap();
        let mut table = TableWriter::new(&mut file, &grid, &markets).unwrap();
        let lines = [
            Line::new(1, u64::MAX, Ok(outcome(vec![market("M", 299.5)]))),
            Line::new(2, 4, Err("no".to_owned())),
        ];
        for line in &lines {
            table.push(line).unwrap();
        }
        table.finish().unwrap();

        let reader = SerializedFileReader::new(file).unwrap();
        let fields = |row: Row| -> BTreeMap<String, String> {
            row.get_column_iter().map(|(name, field)| (name.clone(), field.to_string())).collect()
        };
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<_> = rows.map(|row| fields(row.unwrap())).collect();
        assert_eq!(rows.len(), 2);
        for (row, name, value) in [
            (0, "point", "1"),
            (0, "A.x", "1.0"),
            (0, "A.y", "\"[2]\""),
            (0, "A.z", "true"),
            (0, "seed", "18446744073709551615"),
            (0, "error", "null"),
            (0, "orders", "5"),
            (0, "records_hash", "\"blake3:0\""),
            (0, "M.market_price", "299.5"),
            (0, "M.vwap", "null"),
            (0, "M.expirations", "2"),
            (0, "N.market_price", "null"),
            (1, "A.x", "0.5"),
            (1, "A.y", "\"one\""),
            (1, "seed", "4"),
            (1, "error", "\"no\""),
            (1, "steps", "null"),
            (1, "M.market_price", "null"),
        ] {
            assert_eq!(rows[row][name], value, "{name}");
        }
    }
}

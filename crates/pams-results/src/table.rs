//! Tables as columns in memory: what the formats write and read.
//!
//! A table is declared once, as a list of [`ColumnSpec`]s. A row is pushed value by value in the
//! order of that list ([`RowWriter`]) and read back in the same order ([`RowReader`]), so neither
//! the formats nor the rows know each other.

use std::sync::Arc;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An id or a small count, 32 bits.
    Small,
    /// A whole number, 64 bits.
    Whole,
    /// A whole number or nothing.
    MaybeWhole,
    /// A float.
    Float,
    /// A float or nothing.
    MaybeFloat,
    /// A text with a meaning of its own.
    Text,
    /// A text that says again what an id says; readers of rows skip it.
    Name,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSpec {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// A table of a run folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableSpec {
    /// The name of its file, without the ending.
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [ColumnSpec],
}

/// Some rows of one column.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    Small(Vec<u32>),
    Whole(Vec<i64>),
    MaybeWhole(Vec<Option<i64>>),
    Float(Vec<f64>),
    MaybeFloat(Vec<Option<f64>>),
    Text(Texts),
}

/// A column of texts, each stored once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    /// For each row the index of its text in `words`.
    pub(crate) codes: Vec<u32>,
    /// Texts by code; none where a code has not occurred.
    pub(crate) words: Vec<Option<Arc<str>>>,
}

impl Texts {
    /// Adds a row with a code; `word` makes the text of a code that is new.
    pub(crate) fn push(&mut self, code: u32, word: impl FnOnce() -> Arc<str>) {
        let index = code as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1, None);
        }
        self.words[index].get_or_insert_with(word);
        self.codes.push(code);
    }

    /// Adds a row with a text that a reader found.
    pub(crate) fn push_word(&mut self, word: &str) {
        /// Columns with more texts than these have another one in each row.
        const FEW: usize = 16;
        let known = self.words.iter().take(FEW).position(|known| known.as_deref() == Some(word));
        let index = known.unwrap_or(self.words.len());
        if known.is_none() {
            self.words.push(Some(word.into()));
        }
        self.codes.push(u32::try_from(index).expect("invariant: a batch has fewer rows"));
    }

    pub(crate) fn text(&self, row: usize) -> &Arc<str> {
        let word = &self.words[self.codes[row] as usize];
        word.as_ref().expect("invariant: a code that occurs has its text")
    }
}

impl Column {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Small => Self::Small(Vec::new()),
            Kind::Whole => Self::Whole(Vec::new()),
            Kind::MaybeWhole => Self::MaybeWhole(Vec::new()),
            Kind::Float => Self::Float(Vec::new()),
            Kind::MaybeFloat => Self::MaybeFloat(Vec::new()),
            Kind::Text | Kind::Name => Self::Text(Texts::default()),
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::MaybeWhole(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::MaybeFloat(values) => values.len(),
            Self::Text(texts) => texts.codes.len(),
        }
    }

    /// Forgets rows that were read, with their texts.
    pub(crate) fn reset(&mut self) {
        self.clear();
        if let Self::Text(texts) = self {
            texts.words.clear();
        }
    }

    /// Forgets the rows. The texts stay, as the next rows will have the same ones.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Small(values) => values.clear(),
            Self::Whole(values) => values.clear(),
            Self::MaybeWhole(values) => values.clear(),
            Self::Float(values) => values.clear(),
            Self::MaybeFloat(values) => values.clear(),
            Self::Text(texts) => texts.codes.clear(),
        }
    }
}

/// Empty columns of a table.
pub(crate) fn columns(spec: &TableSpec) -> Vec<Column> {
    spec.columns.iter().map(|column| Column::new(column.kind)).collect()
}

/// Pushes the values of one row, in the order of the columns.
#[derive(Debug)]
pub(crate) struct RowWriter<'a> {
    columns: std::slice::IterMut<'a, Column>,
}

impl<'a> RowWriter<'a> {
    pub(crate) fn new(columns: &'a mut [Column]) -> Self {
        Self { columns: columns.iter_mut() }
    }

    fn next(&mut self) -> &'a mut Column {
        self.columns.next().expect("invariant: a row has no more values than columns")
    }

    pub(crate) fn small(mut self, value: u32) -> Self {
        match self.next() {
            Column::Small(values) => values.push(value),
            other => mismatch(other),
        }
        self
    }

    /// Adds a whole number. What is beyond 63 bits, as no run reaches, is the largest.
    pub(crate) fn whole(mut self, value: impl TryInto<i64>) -> Self {
        match self.next() {
            Column::Whole(values) => values.push(value.try_into().unwrap_or(i64::MAX)),
            other => mismatch(other),
        }
        self
    }

    pub(crate) fn maybe_whole(mut self, value: Option<impl TryInto<i64>>) -> Self {
        match self.next() {
            Column::MaybeWhole(values) => {
                values.push(value.map(|value| value.try_into().unwrap_or(i64::MAX)));
            }
            other => mismatch(other),
        }
        self
    }

    pub(crate) fn float(mut self, value: f64) -> Self {
        match self.next() {
            Column::Float(values) => values.push(value),
            other => mismatch(other),
        }
        self
    }

    pub(crate) fn maybe_float(mut self, value: Option<f64>) -> Self {
        match self.next() {
            Column::MaybeFloat(values) => values.push(value),
            other => mismatch(other),
        }
        self
    }

    /// Adds a text, which `word` makes if the code is new to the column.
    pub(crate) fn text(mut self, code: u32, word: impl FnOnce() -> Arc<str>) -> Self {
        match self.next() {
            Column::Text(texts) => texts.push(code, word),
            other => mismatch(other),
        }
        self
    }
}

fn mismatch(column: &Column) -> ! {
    unreachable!("invariant: rows are pushed as their table is declared, not into {column:?}")
}

/// Reads the values of one row, in the order of the columns.
#[derive(Debug)]
pub(crate) struct RowReader<'a> {
    columns: std::slice::Iter<'a, Column>,
    row: usize,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(columns: &'a [Column], row: usize) -> Self {
        Self { columns: columns.iter(), row }
    }

    fn next(&mut self) -> &'a Column {
        self.columns.next().expect("invariant: a row has no more values than columns")
    }

    /// Leaves out a column of names.
    pub(crate) fn skip(&mut self) {
        self.next();
    }

    pub(crate) fn small(&mut self) -> u32 {
        match self.next() {
            Column::Small(values) => values[self.row],
            other => mismatch(other),
        }
    }

    pub(crate) fn signed(&mut self) -> i64 {
        match self.next() {
            Column::Whole(values) => values[self.row],
            other => mismatch(other),
        }
    }

    /// A whole number that can't be negative.
    pub(crate) fn whole(&mut self) -> Result<u64, String> {
        not_negative(self.signed())
    }

    pub(crate) fn maybe_whole(&mut self) -> Result<Option<u64>, String> {
        match self.next() {
            Column::MaybeWhole(values) => values[self.row].map(not_negative).transpose(),
            other => mismatch(other),
        }
    }

    pub(crate) fn float(&mut self) -> f64 {
        match self.next() {
            Column::Float(values) => values[self.row],
            other => mismatch(other),
        }
    }

    pub(crate) fn maybe_float(&mut self) -> Option<f64> {
        match self.next() {
            Column::MaybeFloat(values) => values[self.row],
            other => mismatch(other),
        }
    }

    pub(crate) fn text(&mut self) -> &'a Arc<str> {
        match self.next() {
            Column::Text(texts) => texts.text(self.row),
            other => mismatch(other),
        }
    }
}

fn not_negative(value: i64) -> Result<u64, String> {
    u64::try_from(value).map_err(|_| format!("there is a {value} where nothing is negative"))
}

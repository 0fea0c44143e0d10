//! Real prices from a table, to stand beside simulated ones.

use crate::error::{Error, ErrorKind};

/// Names of the column that is meant when none is named, in the order in which they are looked for.
const USUAL: [&str; 6] = ["adj close", "adj_close", "close", "price", "market_price", "last"];

/// A column of prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The column's name, or its number from 1 if the table has no names.
    pub column: String,
    /// The prices, oldest first as in the table. NaN where a cell is empty.
    pub values: Vec<f64>,
}

impl Prices {
    /// Reads the column `column` of a CSV table.
    ///
    /// A first line in which no cell is a number names the columns. Without `column` the only column is
    /// meant, or one with a usual name: `Adj Close`, `Close`, `Price`, `market_price`, `Last`. Names are
    /// compared without regard to case; a number is the place of the column, from 1. An empty cell,
    /// `NaN`, `null`, `NA` or `.` is a missing price.
    ///
    /// ```
    /// let prices = pams_facts::Prices::from_csv("Date,Close\n2024-01-02,100.5\n2024-01-03,101\n", None)?;
    /// assert_eq!(prices.values, [100.5, 101.0]);
    /// # Ok::<(), pams_facts::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such column, if it is not clear which one is meant, if a cell is no number or not
    /// positive, or if there are no prices.
    pub fn from_csv(text: &str, column: Option<&str>) -> Result<Self, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for row in reader.records() {
            rows.push(
                row.map_err(|error| problem(format!("the prices are no CSV table: {error}")))?,
            );
        }
        let first = rows.first().ok_or_else(|| problem("the table of prices is empty"))?;
        let has_names = first.iter().all(|cell| cell.trim().parse::<f64>().is_err());
        let names: Vec<String> = first
            .iter()
            .zip(1..)
            .map(
                |(cell, place): (_, u32)| {
                    if has_names { cell.trim().to_owned() } else { place.to_string() }
                },
            )
            .collect();
        let place = find(&names, column)?;
        let values = rows[usize::from(has_names)..]
            .iter()
            .map(|row| price(row.get(place).unwrap_or_default(), row.position()))
            .collect::<Result<Vec<f64>, Error>>()?;
        if !values.iter().any(|value| value.is_finite()) {
            return Err(problem(format!("the column {} has no prices", names[place])));
        }
        Ok(Self { column: names[place].clone(), values })
    }
}

fn find(names: &[String], column: Option<&str>) -> Result<usize, Error> {
    let named = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let all = || names.join(", ");
    match column {
        Some(wanted) => {
            let by_place = || {
                let place = wanted.parse::<usize>().ok()?.checked_sub(1)?;
                (place < names.len()).then_some(place)
            };
            named(wanted).or_else(by_place).ok_or_else(|| {
                problem(format!("there is no column `{wanted}` of prices; there are: {}", all()))
            })
        }
        None if names.len() == 1 => Ok(0),
        None => USUAL.iter().find_map(|usual| named(usual)).ok_or_else(|| {
            problem(format!("it is not clear which column has the prices; name one of: {}", all()))
        }),
    }
}

fn price(cell: &str, position: Option<&csv::Position>) -> Result<f64, Error> {
    let cell = cell.trim();
    if ["", ".", "NA", "nan", "null"].iter().any(|missing| cell.eq_ignore_ascii_case(missing)) {
        return Ok(f64::NAN);
    }
    match cell.parse::<f64>() {
        Ok(price) if price.is_finite() && price > 0.0 => Ok(price),
        _ => {
            let line = position.map_or(0, csv::Position::line);
            Err(problem(format!("line {line}: `{cell}` is no price: a price is a positive number")))
        }
    }
}

fn problem(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Prices, message)
}

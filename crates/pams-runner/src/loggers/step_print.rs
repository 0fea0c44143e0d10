//! One line a step and market, as PAMS prints it.

use std::io::{self, Write};

use pams_core::{Record, StepRecord};

use crate::logger::Logger;
use crate::names::NameTable;

/// Writes `session time market_id market_name market_price fundamental_price` at the end of each
/// step of each market, separated by blanks, floats as Python prints them.
///
/// ```
/// use pams_runner::{SequentialRunner, StepPrint};
///
/// let config = r#"{
///     "simulation": {"markets": ["Market"], "agents": [], "sessions": [
///         {"sessionName": 0, "iterationSteps": 1, "withOrderPlacement": false,
///          "withOrderExecution": false, "withPrint": true}]},
///     "Market": {"class": "Market", "tickSize": 1e-5, "marketPrice": 300}
/// }"#;
/// let mut text = Vec::new();
/// SequentialRunner::builder()
///     .config_text(config)
///     .logger(StepPrint::new(&mut text))
///     .build()?
///     .run()?;
/// assert_eq!(text, b"0 0 0 Market 300.0 300.0\n");
/// # Ok::<(), pams_runner::Error>(())
/// ```
#[derive(Debug)]
pub struct StepPrint<W>(W);

impl<W: Write> StepPrint<W> {
    /// A logger that writes to `output`, which should be buffered.
    pub fn new(output: W) -> Self {
        Self(output)
    }
}

impl<W: Write + Send> Logger for StepPrint<W> {
    fn record(&mut self, record: &Record, names: &NameTable) -> io::Result<()> {
        let Record::Step(step) = record else { return Ok(()) };
        let StepRecord { session, time, market, market_price, fundamental_price } = *step;
        let (name, price) = (names.market(market), python_float(market_price));
        let fundamental = python_float(fundamental_price);
        writeln!(self.0, "{session} {time} {market} {name} {price} {fundamental}")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A float as Python's `repr` writes it: the same digits as Rust's, but with a sign and at least
/// two digits in the exponent.
fn python_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::python_float;

    #[test]
    fn floats_are_printed_as_python_prints_them() {
        let cases = [
            (300.0, "300.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-5, "1e-05"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (-2.5e-7, "-2.5e-07"),
            (1e-100, "1e-100"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(python_float(value), text);
        }
    }
}

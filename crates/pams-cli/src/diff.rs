//! `pams diff`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use pams_results::{Comparison, Difference, first_difference, lines_at};

use crate::arguments::DiffArguments;
use crate::output::{Failure, Output};

/// What the command answers when it could not compare.
pub(crate) const FAILED: u8 = 2;

/// Compares two runs: 0 when they are equal, 1 when they are not.
pub(crate) fn diff(arguments: &DiffArguments, output: &Output) -> ExitCode {
    match compare(arguments) {
        Ok(code) => code,
        Err(failure) => failure.report_with(output, FAILED),
    }
}

fn compare(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let DiffArguments { first, second, context } = arguments;
    let found = first_difference(lines_at(first)?, lines_at(second)?, *context)?;
    let (text, code) = match found {
        Comparison::Equal { entries } => {
            let (first, second) = (first.display(), second.display());
            let text = format!("{first} and {second} are equal: {entries} records and accounts\n");
            (text, ExitCode::SUCCESS)
        }
        Comparison::Different(difference) => {
            (describe(&difference, first, second), ExitCode::FAILURE)
        }
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::write("standard output", &error))?;
    Ok(code)
}

fn describe(difference: &Difference, first: &Path, second: &Path) -> String {
    const ENDED: &str = "has ended";
    let mut text = String::new();
    let number = difference.number;
    let mut add = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("invariant: a string can be written");
    };
    add(format_args!("A = {}", first.display()));
    add(format_args!("B = {}", second.display()));
    add(format_args!("the first difference is in record {number}"));
    for line in &difference.before {
        add(format_args!("    {line}"));
    }
    add(format_args!("A   {}", difference.first.as_deref().unwrap_or(ENDED)));
    add(format_args!("B   {}", difference.second.as_deref().unwrap_or(ENDED)));
    for field in &difference.fields {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        let (in_first, in_second) = (value(&field.first), value(&field.second));
        add(format_args!("    {}: {in_first} in A, {in_second} in B", field.name));
    }
    text
}

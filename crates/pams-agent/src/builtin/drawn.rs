//! Drawn values that have to be whole numbers.

use pams_core::random::{Generator, RandomValue};

use crate::agent::AgentError;

/// The largest whole number up to which every float is exact.
const LIMIT: f64 = 9_007_199_254_740_992.0;

/// The lowest and the highest value that can be drawn, where there are such.
pub(super) fn range(value: &RandomValue) -> Option<(f64, f64)> {
    match *value {
        RandomValue::Constant(value) => Some((value, value)),
        RandomValue::Uniform { low, high } => Some((low.min(high), low.max(high))),
        RandomValue::Normal { .. } | RandomValue::Exponential { .. } => None,
    }
}

/// A number, or from which to which it is drawn.
pub(super) fn describe((lowest, highest): (f64, f64)) -> String {
    if lowest.total_cmp(&highest).is_eq() {
        format!("found {lowest:?}")
    } else {
        format!("found one from {lowest:?} to {highest:?}")
    }
}

/// Draws a value and truncates it toward zero.
pub(super) fn whole_number(
    key: &str,
    value: &RandomValue,
    generator: &mut Generator,
) -> Result<i64, AgentError> {
    let drawn = value.draw(generator);
    if drawn.abs() <= LIMIT {
        #[expect(clippy::cast_possible_truncation, reason = "truncation toward zero is the rule")]
        Ok(drawn as i64)
    } else {
        Err(format!("{key}: {drawn} is no whole number of 53 bits").into())
    }
}

/// Draws a whole number of steps that an order lives.
pub(super) fn time_to_live(
    key: &str,
    value: &RandomValue,
    generator: &mut Generator,
) -> Result<u64, AgentError> {
    let steps = whole_number(key, value, generator)?;
    match u64::try_from(steps) {
        Ok(steps @ 1..) => Ok(steps),
        _ => {
            Err(format!("{key}: an order must live for at least 1 step, and {steps} was drawn")
                .into())
        }
    }
}

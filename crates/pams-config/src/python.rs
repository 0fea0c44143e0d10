//! How Python writes values: session names are converted to strings as it does.

use crate::node::{Node, NodeValue};

/// `str(value)` for what is neither a collection nor outside our numbers.
pub(crate) fn to_string(node: &Node) -> Option<String> {
    match node.value() {
        NodeValue::Null => Some("None".to_owned()),
        NodeValue::Bool(true) => Some("True".to_owned()),
        NodeValue::Bool(false) => Some("False".to_owned()),
        NodeValue::Integer(value) => Some(value.to_string()),
        NodeValue::Float(value) => Some(float(*value)),
        NodeValue::String(text) => Some(text.clone()),
        NodeValue::NotFinite { .. } | NodeValue::Array(_) | NodeValue::Object(_) => None,
    }
}

/// `repr(value)` of a finite float: shortest digits, an exponent from 1e16 on and below 1e-4.
fn float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return format!("{value:?}");
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |rest| ("-", rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let check = |value, expected: &str| assert_eq!(float(value), expected);
        check(0.0, "0.0");
        check(-0.0, "-0.0");
        check(1.0, "1.0");
        check(0.0001, "0.0001");
        check(0.00001, "1e-05");
        check(123_456_789.125, "123456789.125");
        check(1e15, "1000000000000000.0");
        check(1e16, "1e+16");
        check(-1.5e300, "-1.5e+300");
        check(2.5e-10, "2.5e-10");
    }
}

//! Reading one value: the trait and the plain types.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use serde_json::{Value as Json, json};

use crate::context::Context;
use crate::node::{Node, NodeValue};
use crate::place::Place;

/// A type that a config's value can be read as.
///
/// `read` and `schema` are required. `read` reports what is wrong with the value to the context (see
/// [`Context::expected`]) and then answers `None`; whoever calls it goes on with the next value. A type that stands for
/// a key that may be missing, as [`Option`] does, overrides `when_missing`.
pub trait ConfigValue: Sized {
    /// Reads a value; `None` when a mistake was reported.
    fn read(node: &Node, context: &mut Context) -> Option<Self>;

    /// The JSON Schema of such a value.
    fn schema() -> Json;

    /// The value of a key that is not there; `None`, the default, when the key is required.
    #[must_use]
    fn when_missing() -> Option<Self> {
        None
    }
}

impl ConfigValue for bool {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value() {
            NodeValue::Bool(value) => Some(*value),
            _ => context.expected(node, "true or false"),
        }
    }

    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

impl ConfigValue for String {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value() {
            NodeValue::String(value) => Some(value.clone()),
            _ => context.expected(node, "a string"),
        }
    }

    fn schema() -> Json {
        json!({"type": "string"})
    }
}

impl ConfigValue for f64 {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        number(node).or_else(|| context.expected(node, "a number"))
    }

    fn schema() -> Json {
        json!({"type": "number"})
    }
}

/// A number above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Positive(f64);

impl Positive {
    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl ConfigValue for Positive {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let value = number(node).filter(|value| *value > 0.0);
        value.map(Self).or_else(|| context.expected(node, "a number above 0"))
    }

    fn schema() -> Json {
        json!({"type": "number", "exclusiveMinimum": 0})
    }
}

/// A number that is zero or above.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NonNegative(f64);

impl NonNegative {
    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl ConfigValue for NonNegative {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let value = number(node).filter(|value| *value >= 0.0);
        value.map(Self).or_else(|| context.expected(node, "a number that is 0 or above"))
    }

    fn schema() -> Json {
        json!({"type": "number", "minimum": 0})
    }
}

macro_rules! whole_number {
    ($($type:ty, $minimum:expr, $what:literal, $range:literal;)*) => {
        $(impl ConfigValue for $type {
            fn read(node: &Node, context: &mut Context) -> Option<Self> {
                match node.value() {
                    NodeValue::Integer(value) => {
                        Self::try_from(*value).ok().or_else(|| context.expected(node, $range))
                    }
                    _ => not_whole(node, $what, context),
                }
            }

            fn schema() -> Json {
                whole_number_schema($minimum)
            }
        })*
    };
}

whole_number! {
    i64, None, "a whole number", "a whole number from -9223372036854775808 to 9223372036854775807";
    u64, Some(0), "a whole number that is 0 or above", "a whole number that is 0 or above";
    usize, Some(0), "a whole number that is 0 or above", "a whole number that is 0 or above";
    u32, Some(0), "a whole number that is 0 or above", "a whole number from 0 to 4294967295";
}

macro_rules! positive_whole_number {
    ($($type:ty: $inner:ty, $what:literal;)*) => {
        $(impl ConfigValue for $type {
            fn read(node: &Node, context: &mut Context) -> Option<Self> {
                match node.value() {
                    NodeValue::Integer(value) => {
                        let value = <$inner>::try_from(*value).ok().and_then(Self::new);
                        value.or_else(|| context.expected(node, $what))
                    }
                    _ => not_whole(node, $what, context),
                }
            }

            fn schema() -> Json {
                whole_number_schema(Some(1))
            }
        })*
    };
}

positive_whole_number! {
    NonZeroU64: u64, "a whole number that is 1 or above";
    NonZeroUsize: usize, "a whole number that is 1 or above";
    NonZeroU32: u32, "a whole number from 1 to 4294967295";
}

impl<T: ConfigValue> ConfigValue for Vec<T> {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let NodeValue::Array(items) = node.value() else {
            return context.expected(node, "an array");
        };
        let values: Vec<_> = items.iter().map(|item| T::read(item, context)).collect();
        values.into_iter().collect()
    }

    fn schema() -> Json {
        json!({"type": "array", "items": T::schema()})
    }
}

/// A key that may be missing. `null` is not the same: it is refused like any wrong value.
impl<T: ConfigValue> ConfigValue for Option<T> {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        T::read(node, context).map(Some)
    }

    fn schema() -> Json {
        T::schema()
    }

    fn when_missing() -> Option<Self> {
        Some(None)
    }
}

/// Any JSON at all.
impl ConfigValue for Json {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value() {
            NodeValue::NotFinite { .. } => context.expected(node, "a JSON value"),
            _ => Some(node.to_json()),
        }
    }

    fn schema() -> Json {
        json!({})
    }
}

/// The value as it stands, for a reader that decides later.
impl ConfigValue for Node {
    fn read(node: &Node, _: &mut Context) -> Option<Self> {
        Some(node.clone())
    }

    fn schema() -> Json {
        json!({})
    }
}

/// A value together with where it stands, for checks that come after reading.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

impl<T: ConfigValue> ConfigValue for Located<T> {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        Some(Self { value: T::read(node, context)?, place: node.place().clone() })
    }

    fn schema() -> Json {
        T::schema()
    }
}

/// A finite number, whole or not.
#[expect(
    clippy::cast_precision_loss,
    reason = "a whole number given for a number is rounded as Python's float() does"
)]
pub(crate) fn number(node: &Node) -> Option<f64> {
    match node.value() {
        NodeValue::Integer(value) => Some(*value as f64),
        NodeValue::Float(value) => Some(*value),
        _ => None,
    }
}

/// Refuses what is not written as a whole number. `5.0` is not: PAMS refuses it too.
fn not_whole<T>(node: &Node, what: &str, context: &mut Context) -> Option<T> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match node.value() {
        NodeValue::Float(value) if value.fract() == 0.0 && value.abs() < EXACT => {
            let message = format!("expected {what}, found {}", node.describe());
            context.report(node.place(), message, Some(format!("write {value:.0}")));
            None
        }
        _ => context.expected(node, what),
    }
}

fn whole_number_schema(minimum: Option<u32>) -> Json {
    match minimum {
        Some(minimum) => json!({"type": "integer", "minimum": minimum}),
        None => json!({"type": "integer"}),
    }
}

//! Random values: a number, `[a, b]`, or an object with one kind of distribution.

use pams_core::random::RandomValue;
use serde_json::{Value as Json, json};

use crate::block::is_note;
use crate::context::Context;
use crate::nearest::suggest;
use crate::node::{Node, NodeValue};
use crate::value::{ConfigValue, number};

const KINDS: [&str; 4] = ["uniform", "const", "normal", "expon"];
const EXPECTED: &str = "a number, [a, b], {\"uniform\": [a, b]}, {\"const\": [a]}, {\"normal\": [mean, deviation]} or {\"expon\": [mean]}";

impl ConfigValue for RandomValue {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value() {
            NodeValue::Integer(_) | NodeValue::Float(_) => number(node).map(Self::Constant),
            NodeValue::Array(_) => distribution("uniform", node, context),
            NodeValue::Object(members) => {
                let kinds: Vec<_> = members.iter().filter(|(key, _)| !is_note(key)).collect();
                match kinds.as_slice() {
                    [(kind, parameters)] => distribution(kind, parameters, context),
                    [] => context.expected(node, EXPECTED),
                    several => {
                        let names: Vec<_> =
                            several.iter().map(|(kind, _)| format!("`{kind}`")).collect();
                        let message = format!(
                            "a random value has one kind of distribution, not {}",
                            names.join(" and ")
                        );
                        context.problem(node.place(), message);
                        None
                    }
                }
            }
            NodeValue::NotFinite { .. } => context.expected(node, "a finite number"),
            _ => context.expected(node, EXPECTED),
        }
    }

    fn schema() -> Json {
        let numbers = |n: usize| json!({"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n});
        let kind = |kind: &str, n: usize| {
            json!({
                "type": "object",
                "properties": {kind: numbers(n)},
                "patternProperties": {crate::block::NOTE_PATTERN: true},
                "required": [kind],
                "additionalProperties": false,
            })
        };
        json!({"anyOf": [
            {"type": "number"}, numbers(2), kind("uniform", 2), kind("const", 1), kind("normal", 2), kind("expon", 1),
        ]})
    }
}

fn distribution(kind: &str, node: &Node, context: &mut Context) -> Option<RandomValue> {
    match kind {
        "const" => {
            parameters(kind, ["a"], node, context).map(|[value]| RandomValue::Constant(value))
        }
        "uniform" => {
            let [low, high] = parameters(kind, ["a", "b"], node, context)?;
            if !(high - low).is_finite() {
                context.problem(
                    node.place(),
                    format!("the range from {low:?} to {high:?} is too wide for a number"),
                );
                return None;
            }
            Some(RandomValue::Uniform { low, high })
        }
        "normal" => parameters(kind, ["mean", "deviation"], node, context)
            .map(|[mean, deviation]| RandomValue::Normal { mean, deviation }),
        "expon" => parameters(kind, ["mean"], node, context)
            .map(|[mean]| RandomValue::Exponential { mean }),
        _ => {
            let message = format!("unknown kind of distribution `{kind}`");
            context.report(node.place(), message, suggest(kind, KINDS.into_iter()));
            None
        }
    }
}

/// The parameters of a distribution: an array of as many numbers as there are `names`.
fn parameters<const N: usize>(
    kind: &str,
    names: [&str; N],
    node: &Node,
    context: &mut Context,
) -> Option<[f64; N]> {
    let expected = format!("[{}] for `{kind}`", names.join(", "));
    let NodeValue::Array(items) = node.value() else { return context.expected(node, &expected) };
    let values: Vec<_> = items.iter().map(|item| f64::read(item, context)).collect();
    let values = values.into_iter().collect::<Option<Vec<_>>>()?;
    <[f64; N]>::try_from(values).ok().or_else(|| context.expected(node, &expected))
}

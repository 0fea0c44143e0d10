//! The tree of a config: JSON values that know their path and their place in the text.

use indexmap::IndexMap;
use serde_json::Value as Json;

use crate::place::{Path, Place};

/// How deep arrays and objects may be nested.
pub(crate) const DEPTH_LIMIT: usize = 100;

/// A JSON value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    place: Place,
    value: NodeValue,
}

/// What a [`Node`] is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without a point or an exponent, from −2⁶³ to 2⁶⁴ − 1, kept exactly.
    Integer(i128),
    /// Any other finite number.
    Float(f64),
    /// Something that stands for a number but is none that we can hold: `NaN`, `Infinity`, `1e400`, an integer beyond
    /// 64 bits. Every reader of numbers refuses it.
    NotFinite {
        /// The text.
        literal: String,
        /// What is wrong with it, as in "which … ".
        reason: &'static str,
    },
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object; of a key that was given twice it has the last value.
    Object(Members),
}

/// The members of an object in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Members(pub(crate) IndexMap<String, Member>);

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Where the key stands.
    pub(crate) key: Place,
    pub(crate) node: Node,
}

impl Members {
    /// The value under `key`.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Node> {
        self.0.get(key).map(|member| &member.node)
    }

    /// Keys and values in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(key, member)| (key.as_str(), &member.node))
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Node {
    pub(crate) fn new(place: Place, value: NodeValue) -> Self {
        Self { place, value }
    }

    /// Where the value stands.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &NodeValue {
        &self.value
    }

    /// The value in words, for "expected a number, found …".
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.value {
            NodeValue::Null => "null".to_owned(),
            NodeValue::Bool(value) => value.to_string(),
            NodeValue::Integer(value) => value.to_string(),
            NodeValue::Float(value) => format!("{value:?}"),
            NodeValue::NotFinite { literal, reason } => {
                format!("{}, which {reason}", shorten(literal))
            }
            NodeValue::String(value) => format!("the string {:?}", shorten(value)),
            NodeValue::Array(items) => match items.len() {
                0 => "an empty array".to_owned(),
                1 => "an array of 1 value".to_owned(),
                n => format!("an array of {n} values"),
            },
            NodeValue::Object(members) if members.is_empty() => "an empty object".to_owned(),
            NodeValue::Object(_) => "an object".to_owned(),
        }
    }

    /// The value as plain JSON; what is no JSON number becomes null.
    #[must_use]
    pub fn to_json(&self) -> Json {
        self.to_json_with(&|_| None)
    }

    /// The value as plain JSON, with other texts where `replace` has one for the node.
    pub(crate) fn to_json_with(&self, replace: &dyn Fn(&Self) -> Option<String>) -> Json {
        match &self.value {
            NodeValue::Null | NodeValue::NotFinite { .. } => Json::Null,
            NodeValue::Bool(value) => Json::Bool(*value),
            NodeValue::Integer(value) => {
                i64::try_from(*value)
                    .map(Json::from)
                    .or_else(|_| u64::try_from(*value).map(Json::from))
            }
            .unwrap_or(Json::Null),
            NodeValue::Float(value) => Json::from(*value),
            NodeValue::String(value) => {
                Json::String(replace(self).unwrap_or_else(|| value.clone()))
            }
            NodeValue::Array(items) => {
                items.iter().map(|item| item.to_json_with(replace)).collect()
            }
            NodeValue::Object(members) => Json::Object(
                members
                    .iter()
                    .map(|(key, node)| (key.to_owned(), node.to_json_with(replace)))
                    .collect(),
            ),
        }
    }

    /// The tree of a value that has no text. Errors with the path at which the value is nested too deep.
    pub(crate) fn from_json(json: &Json, path: &Path, depth: usize) -> Result<Self, Path> {
        if depth > DEPTH_LIMIT {
            return Err(path.clone());
        }
        let value = match json {
            Json::Null => NodeValue::Null,
            Json::Bool(value) => NodeValue::Bool(*value),
            Json::Number(number) => number_value(number),
            Json::String(value) => NodeValue::String(value.clone()),
            Json::Array(items) => {
                let nodes = items.iter().enumerate();
                NodeValue::Array(
                    nodes
                        .map(|(i, item)| Self::from_json(item, &path.index(i), depth + 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            Json::Object(map) => {
                let mut members = Members::default();
                for (key, item) in map {
                    let path = path.key(key);
                    let node = Self::from_json(item, &path, depth + 1)?;
                    members.0.insert(key.clone(), Member { key: Place::new(path, None), node });
                }
                NodeValue::Object(members)
            }
        };
        Ok(Self::new(Place::new(path.clone(), None), value))
    }
}

fn number_value(number: &serde_json::Number) -> NodeValue {
    if let Some(value) = number.as_i64() {
        NodeValue::Integer(value.into())
    } else if let Some(value) = number.as_u64() {
        NodeValue::Integer(value.into())
    } else {
        match number.as_f64() {
            Some(value) if value.is_finite() => NodeValue::Float(value),
            _ => NodeValue::NotFinite {
                literal: number.to_string(),
                reason: "is too large for a number",
            },
        }
    }
}

/// The beginning of a long text.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

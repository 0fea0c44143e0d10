//! From text to the tree of a config.
//!
//! The tokens come from jiter; the tree is built here, because it has to know what no ready tree knows at once: where
//! every key and value stands, `NaN` and `1e400` as values whose reader names the key, and the last of repeated keys.

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use crate::node::{DEPTH_LIMIT, Member, Members, Node, NodeValue};
use crate::place::{Path, Place};

/// Why a text is no JSON, and where.
pub(crate) struct SyntaxProblem {
    pub(crate) place: Place,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

/// Reads the tree of a text.
pub(crate) fn parse(text: &[u8]) -> Result<Node, SyntaxProblem> {
    check_encoding(text)?;
    let mut parser = Parser { jiter: Jiter::new(text).with_allow_inf_nan(), text };
    let root = Path::default();
    let first = parser.jiter.peek().map_err(|error| parser.syntax(&root, &error))?;
    let node = parser.value(first, &root, 0)?;
    parser.jiter.finish().map_err(|error| parser.syntax(&root, &error))?;
    Ok(node)
}

fn check_encoding(text: &[u8]) -> Result<(), SyntaxProblem> {
    let problem = |offset, message: String, help| {
        Err(SyntaxProblem {
            place: Place::new(Path::default(), Some(offset)),
            message,
            help: Some(help),
        })
    };
    if text.starts_with(b"\xEF\xBB\xBF") {
        return problem(
            0,
            "the text starts with a byte order mark".into(),
            "save it as UTF-8 without BOM",
        );
    }
    if text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF") {
        return problem(0, "the text is UTF-16, not UTF-8".into(), "save it as UTF-8 without BOM");
    }
    if let Err(error) = std::str::from_utf8(text) {
        let offset = error.valid_up_to();
        let message = format!("the text is not UTF-8: byte {offset} is 0x{:02X}", text[offset]);
        return problem(offset, message, "save it as UTF-8");
    }
    if text.trim_ascii().is_empty() {
        return problem(
            0,
            "the text is empty".into(),
            "a config is one JSON object with the key `simulation`",
        );
    }
    Ok(())
}

struct Parser<'t> {
    jiter: Jiter<'t>,
    text: &'t [u8],
}

impl Parser<'_> {
    /// Reads the value that begins with `first`.
    fn value(&mut self, first: Peek, path: &Path, depth: usize) -> Result<Node, SyntaxProblem> {
        let place = Place::new(path.clone(), Some(self.jiter.current_index()));
        if depth > DEPTH_LIMIT {
            // The path would hide what is said.
            let place = Place::new(Path::default(), place.offset());
            let message = format!("arrays and objects are nested deeper than {DEPTH_LIMIT} levels");
            return Err(SyntaxProblem { place, message, help: None });
        }
        let value = match first {
            Peek::Null => self.jiter.known_null().map(|()| NodeValue::Null),
            Peek::True | Peek::False => self.jiter.known_bool(first).map(NodeValue::Bool),
            Peek::String => self.jiter.known_str().map(|text| NodeValue::String(text.to_owned())),
            Peek::Array => return Ok(Node::new(place, self.array(path, depth)?)),
            Peek::Object => return Ok(Node::new(place, self.object(path, depth)?)),
            _ => self.jiter.known_number_bytes(first).map(number),
        };
        match value {
            Ok(value) => Ok(Node::new(place, value)),
            Err(error) => Err(self.syntax(path, &error)),
        }
    }

    fn array(&mut self, path: &Path, depth: usize) -> Result<NodeValue, SyntaxProblem> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array().map_err(|error| self.syntax(path, &error))?;
        while let Some(first) = next {
            items.push(self.value(first, &path.index(items.len()), depth + 1)?);
            next = self.jiter.array_step().map_err(|error| self.syntax(path, &error))?;
        }
        Ok(NodeValue::Array(items))
    }

    fn object(&mut self, path: &Path, depth: usize) -> Result<NodeValue, SyntaxProblem> {
        let mut members = Members::default();
        let mut before = self.jiter.current_index() + 1;
        let mut next = self.jiter.known_object().map(|key| key.map(str::to_owned));
        loop {
            let key = match next {
                Ok(Some(key)) => key,
                Ok(None) => return Ok(NodeValue::Object(members)),
                Err(error) => return Err(self.syntax(path, &error)),
            };
            let path = path.key(&key);
            let quote = self.text[before..].iter().position(|byte| *byte == b'"');
            let place = Place::new(path.clone(), quote.map(|distance| before + distance));
            let first = self.jiter.peek().map_err(|error| self.syntax(&path, &error))?;
            let node = self.value(first, &path, depth + 1)?;
            members.0.insert(key, Member { key: place, node });
            before = self.jiter.current_index();
            next = self.jiter.next_key().map(|key| key.map(str::to_owned));
        }
    }

    fn syntax(&self, path: &Path, error: &JiterError) -> SyntaxProblem {
        let place = Place::new(path.clone(), Some(error.index.min(self.text.len())));
        let (message, help) = match &error.error_type {
            JiterErrorType::JsonError(kind) => self.explain(kind, error.index),
            other @ JiterErrorType::WrongType { .. } => (other.to_string(), None),
        };
        SyntaxProblem { place, message, help }
    }

    fn explain(&self, kind: &JsonErrorType, index: usize) -> (String, Option<&'static str>) {
        use JsonErrorType as E;
        let found = self.character_at(index);
        let truncated = Some("is the file complete?");
        let no_json = Some(if self.text[..index.min(self.text.len())].trim_ascii().is_empty() {
            "a config is one JSON object with the key `simulation`"
        } else {
            "JSON has no comments and no single quotes; a note is a key that starts with `MEMO`"
        });
        match kind {
            E::EofWhileParsingList => ("the text ends inside an array".into(), truncated),
            E::EofWhileParsingObject => ("the text ends inside an object".into(), truncated),
            E::EofWhileParsingString => ("the text ends inside a string".into(), truncated),
            E::EofWhileParsingValue => ("the text ends where a value should be".into(), truncated),
            E::ExpectedColon => (format!("expected `:` after a key, found {found}"), None),
            E::ExpectedListCommaOrEnd => {
                (format!("expected `,` or `]` after a value, found {found}"), None)
            }
            E::ExpectedObjectCommaOrEnd => {
                (format!("expected `,` or `}}` after a value, found {found}"), None)
            }
            E::ExpectedSomeIdent => {
                let word = self.word_at(index);
                (format!("expected `true`, `false`, `null` or a number, found `{word}`"), None)
            }
            E::ExpectedSomeValue => (format!("expected a value, found {found}"), no_json),
            E::KeyMustBeAString => {
                (format!("expected a key in double quotes, found {found}"), no_json)
            }
            E::TrailingComma => ("a comma after the last value".into(), Some("remove the comma")),
            E::TrailingCharacters => (
                format!("the object is over, but {found} follows"),
                Some("a config is one JSON object"),
            ),
            other => (other.to_string(), None),
        }
    }

    /// The word around a byte.
    fn word_at(&self, index: usize) -> String {
        const LONGEST: usize = 20;
        let is_end = |byte: &u8| !byte.is_ascii_alphanumeric();
        let (before, after) = self.text.split_at(index.min(self.text.len()));
        let start = before.iter().rposition(is_end).map_or(0, |end| end + 1);
        let end = after.iter().position(is_end).unwrap_or(after.len());
        let word = &self.text[start..before.len() + end];
        String::from_utf8_lossy(&word[..word.len().min(LONGEST)]).into_owned()
    }

    fn character_at(&self, index: usize) -> String {
        let rest = self.text.get(index..).unwrap_or_default();
        match String::from_utf8_lossy(&rest[..rest.len().min(4)]).chars().next() {
            Some(character) => format!("{character:?}"),
            None => "the end of the text".to_owned(),
        }
    }
}

/// The value of a number's text.
fn number(literal: &[u8]) -> NodeValue {
    let literal = String::from_utf8_lossy(literal);
    let refused = |reason| NodeValue::NotFinite { literal: literal.clone().into_owned(), reason };
    if literal.ends_with(|last: char| !last.is_ascii_digit()) {
        return refused("is not a finite number");
    }
    if !literal.contains(['.', 'e', 'E']) {
        return match literal.parse::<i128>() {
            Ok(value) if (i64::MIN.into()..=u64::MAX.into()).contains(&value) => {
                NodeValue::Integer(value)
            }
            _ => refused("does not fit in 64 bits"),
        };
    }
    match literal.parse::<f64>() {
        Ok(value) if value.is_finite() => NodeValue::Float(value),
        _ => refused("is too large for a number"),
    }
}

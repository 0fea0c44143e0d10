//! The parameters that a sweep varies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A parameter and the values that it takes.
///
/// It is written as `PATH=VALUE,VALUE`. The path is the keys of the config from outside in, with
/// dots between, and an element of an array by its number. Values are JSON; what is no JSON is a
/// string.
///
/// ```
/// use pams_sweep::Axis;
///
/// let axis: Axis = "FCNAgents.orderMargin=0.05,[0.0, 0.1]".parse()?;
/// assert_eq!(axis.path(), "FCNAgents.orderMargin");
/// assert_eq!(axis.values(), [serde_json::json!(0.05), serde_json::json!([0.0, 0.1])]);
/// # Ok::<(), pams_sweep::ParseAxisError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    path: String,
    values: Vec<Json>,
}

/// A text that is no parameter with its values; the message says what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAxisError(String);

impl fmt::Display for ParseAxisError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ParseAxisError {}

impl Axis {
    /// The keys from outside in, with dots between.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The values, in the order in which they were given.
    #[must_use]
    pub fn values(&self) -> &[Json] {
        &self.values
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(shown).collect();
        write!(formatter, "{}={}", self.path, values.join(","))
    }
}

impl FromStr for Axis {
    type Err = ParseAxisError;

    fn from_str(text: &str) -> Result<Self, ParseAxisError> {
        let Some((path, values)) = text.split_once('=') else {
            let message = format!("`{text}` has no values: write PATH=VALUE,VALUE");
            return Err(ParseAxisError(message));
        };
        let path = path.trim();
        if path.split('.').any(str::is_empty) {
            return Err(ParseAxisError(format!("`{path}` is no path of keys with dots between")));
        }
        let values: Vec<Json> = split(values).into_iter().map(value).collect();
        if let Some((index, twice)) =
            values.iter().enumerate().find(|(index, value)| values[..*index].contains(value))
        {
            let message = format!("{path}: value {} is {twice} once more", index + 1);
            return Err(ParseAxisError(message));
        }
        Ok(Self { path: path.to_owned(), values })
    }
}

/// The parts between commas that are not inside of brackets or of a string.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (index, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn value(text: &str) -> Json {
    let text = text.trim();
    serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned()))
}

/// The points of a sweep: every combination of the values of its parameters.
///
/// Points are counted with the last parameter changing fastest. Without parameters there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grid {
    axes: Vec<Axis>,
}

impl Grid {
    /// A grid of these parameters.
    ///
    /// # Errors
    ///
    /// When a parameter occurs twice.
    pub fn new(axes: Vec<Axis>) -> Result<Self, ParseAxisError> {
        for (index, axis) in axes.iter().enumerate() {
            if axes[..index].iter().any(|earlier| earlier.path == axis.path) {
                let message = format!("{} is given twice: put its values into one list", axis.path);
                return Err(ParseAxisError(message));
            }
        }
        Ok(Self { axes })
    }

    /// The parameters.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many points there are; none when there are more than can be counted.
    #[must_use]
    pub fn n_points(&self) -> Option<usize> {
        self.axes.iter().try_fold(1_usize, |product, axis| product.checked_mul(axis.values.len()))
    }

    /// The value of each parameter at a point, in the order of the parameters.
    #[must_use]
    pub fn values(&self, point: usize) -> Vec<&Json> {
        let mut rest = point;
        let mut values: Vec<&Json> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            values.push(&axis.values[rest % axis.values.len()]);
            rest /= axis.values.len();
        }
        values.reverse();
        values
    }

    /// What a point is called: `PATH=VALUE` for each parameter.
    #[must_use]
    pub fn describe(&self, point: usize) -> String {
        let named = self.axes.iter().zip(self.values(point));
        let parts: Vec<String> =
            named.map(|(axis, value)| format!("{}={}", axis.path, shown(value))).collect();
        parts.join(" ")
    }

    /// The parameter in which alone a point differs from the first one, if it is only one.
    pub(crate) fn only_other(&self, point: usize) -> Option<usize> {
        let first = self.axes.iter().map(|axis| &axis.values[0]);
        let mut others = first.zip(self.values(point)).enumerate().filter(|(_, (a, b))| a != b);
        let other = others.next();
        other.filter(|_| others.next().is_none()).map(|(index, _)| index)
    }

    /// The config of a point.
    ///
    /// `resolved` is the config as it was understood; from it comes what a block inherits, where
    /// only a part of that is replaced.
    pub(crate) fn apply(
        &self,
        point: usize,
        base: &Json,
        resolved: &Json,
    ) -> Result<Json, Misplaced> {
        let mut config = base.clone();
        for (axis, value) in self.axes.iter().zip(self.values(point)) {
            place(&mut config, resolved, &axis.path, value)?;
        }
        Ok(config)
    }
}

/// A value as it is shown: texts without quotes.
pub(crate) fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A path that leads nowhere.
#[derive(Debug)]
pub(crate) struct Misplaced {
    /// The path up to the key that there is not.
    pub(crate) path: String,
    pub(crate) message: String,
    /// What there is in its place.
    pub(crate) known: Vec<String>,
}

/// Puts a value under a path. The last key may be a new one: whether there is such a parameter is
/// for the reader of the config to say.
fn place(config: &mut Json, resolved: &Json, path: &str, value: &Json) -> Result<(), Misplaced> {
    let keys: Vec<&str> = path.split('.').collect();
    let (mut current, mut understood) = (config, Some(resolved));
    for (depth, &key) in keys.iter().enumerate() {
        let is_last = depth + 1 == keys.len();
        let here = || keys[..=depth].join(".");
        let wrong = |message: String, known| Misplaced { path: here(), message, known };
        current = match current {
            Json::Object(members) => {
                // A block that is not there is used by nothing, and its keys neither.
                let may_be_new = is_last && depth > 0;
                if !members.contains_key(key) {
                    let inherited = understood.and_then(|resolved| resolved.get(key));
                    match inherited {
                        Some(inherited) if depth > 0 => {
                            members.insert(key.to_owned(), inherited.clone());
                        }
                        _ if may_be_new => {
                            members.insert(key.to_owned(), Json::Null);
                        }
                        _ => return Err(wrong("unknown key".to_owned(), known(members))),
                    }
                }
                members.get_mut(key).expect("invariant: it was put there if it was missing")
            }
            Json::Array(elements) => {
                let n_elements = elements.len();
                let index = key.parse::<usize>().ok().filter(|index| *index < n_elements);
                match index {
                    Some(index) => &mut elements[index],
                    None => {
                        let message = match n_elements.checked_sub(1) {
                            Some(last) => format!("the array has elements 0 to {last}"),
                            None => "the array is empty".to_owned(),
                        };
                        return Err(wrong(message, Vec::new()));
                    }
                }
            }
            other => {
                let message = format!("there are no keys in {other}");
                return Err(wrong(message, Vec::new()));
            }
        };
        understood = understood.and_then(|resolved| match resolved {
            Json::Array(elements) => {
                key.parse::<usize>().ok().and_then(|index| elements.get(index))
            }
            other => other.get(key),
        });
    }
    current.clone_from(value);
    Ok(())
}

fn known(members: &Map<String, Json>) -> Vec<String> {
    members.keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_split_where_json_is_not() {
        let axis: Axis = r#"A.b=1,[2,3],{"expon":[1.0]},"x,\"y",plain text,true"#.parse().unwrap();
        let expected = json!([1, [2, 3], {"expon": [1.0]}, "x,\"y", "plain text", true]);
        assert_eq!(Json::from(axis.values().to_vec()), expected);
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        for (text, message) in [
            ("A.b", "`A.b` has no values: write PATH=VALUE,VALUE"),
            ("A..b=1", "`A..b` is no path of keys with dots between"),
            ("=1", "`` is no path of keys with dots between"),
            ("A.b=1,2,1", "A.b: value 3 is 1 once more"),
        ] {
            assert_eq!(text.parse::<Axis>().unwrap_err().to_string(), message);
        }
        let axis: Axis = "A.b=1".parse().unwrap();
        let error = Grid::new(vec![axis.clone(), axis]).unwrap_err();
        assert_eq!(error.to_string(), "A.b is given twice: put its values into one list");
    }

    #[test]
    fn the_last_parameter_changes_fastest() {
        let axes = ["A.x=1,2", "A.y=3,4,5"].map(|text| text.parse().unwrap());
        let grid = Grid::new(axes.to_vec()).unwrap();
        assert_eq!(grid.n_points(), Some(6));
        let names: Vec<String> = (0..6).map(|point| grid.describe(point)).collect();
        assert_eq!(names[0], "A.x=1 A.y=3");
        assert_eq!(names[1], "A.x=1 A.y=4");
        assert_eq!(names[5], "A.x=2 A.y=5");
        assert_eq!(Grid::default().n_points(), Some(1));
        assert_eq!(Grid::default().describe(0), "");
    }

    #[test]
    fn a_part_of_what_is_inherited_is_replaced_and_the_rest_stays() {
        let base = json!({"Base": {"weight": {"uniform": [1, 2]}}, "A": {"extends": "Base"}});
        let resolved = json!({"A": {"weight": {"uniform": [1, 2]}}});
        let axis: Axis = "A.weight.uniform.1=5".parse().unwrap();
        let config = Grid::new(vec![axis]).unwrap().apply(0, &base, &resolved).unwrap();
        let expected = json!({"Base": {"weight": {"uniform": [1, 2]}},
            "A": {"extends": "Base", "weight": {"uniform": [1, 5]}}});
        assert_eq!(config, expected);
    }

    #[test]
    fn a_path_that_leads_nowhere_says_where_it_ends() {
        let base = json!({"A": {"x": 1, "list": [1, 2], "none": []}});
        for (path, place, message) in [
            ("B.x", "B", "unknown key"),
            ("B", "B", "unknown key"),
            ("A.z.y", "A.z", "unknown key"),
            ("A.x.y", "A.x.y", "there are no keys in 1"),
            ("A.list.2", "A.list.2", "the array has elements 0 to 1"),
            ("A.none.0", "A.none.0", "the array is empty"),
        ] {
            let axis: Axis = format!("{path}=1").parse().unwrap();
            let error = Grid::new(vec![axis]).unwrap().apply(0, &base, &json!({})).unwrap_err();
            assert_eq!((&*error.path, &*error.message), (place, message));
        }
    }
}

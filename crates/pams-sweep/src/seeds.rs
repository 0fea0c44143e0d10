//! The seeds of a sweep.

use std::fmt;
use std::str::FromStr;

/// A set of seeds, in ascending order.
///
/// It is written as ranges and single seeds with commas between: `0..1000` ends before 1000, `0..=9`
/// with 9.
///
/// ```
/// use pams_sweep::Seeds;
///
/// let seeds: Seeds = "0..3,7".parse()?;
/// assert_eq!(seeds.iter().collect::<Vec<_>>(), [0, 1, 2, 7]);
/// assert_eq!(seeds.to_string(), "0..=2,7");
/// # Ok::<(), pams_sweep::ParseSeedsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// First and last seed of each range, ascending, neither touching nor overlapping.
    ranges: Vec<(u64, u64)>,
    count: u64,
}

/// A text that names no seeds; the message says what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSeedsError(String);

impl fmt::Display for ParseSeedsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ParseSeedsError {}

impl FromStr for Seeds {
    type Err = ParseSeedsError;

    fn from_str(text: &str) -> Result<Self, ParseSeedsError> {
        let mut ranges = text.split(',').map(range).collect::<Result<Vec<_>, _>>()?;
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        let count = merged
            .iter()
            .try_fold(0_u64, |sum, (first, last)| (last - first).checked_add(1)?.checked_add(sum));
        let count = count.ok_or_else(|| ParseSeedsError("those are too many seeds".to_owned()))?;
        Ok(Self { ranges: merged, count })
    }
}

/// One part between commas, as first and last seed.
fn range(part: &str) -> Result<(u64, u64), ParseSeedsError> {
    let part = part.trim();
    let wrong = || {
        let text = format!("`{part}` is neither a seed nor a range such as 0..1000 or 0..=9");
        ParseSeedsError(text)
    };
    let seed = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let empty = || ParseSeedsError(format!("the range `{part}` is empty"));
    let Some((first, last)) = part.split_once("..") else {
        let seed = seed(part)?;
        return Ok((seed, seed));
    };
    let first = seed(first)?;
    let last = match last.strip_prefix('=') {
        Some(last) => seed(last)?,
        None => seed(last)?.checked_sub(1).ok_or_else(empty)?,
    };
    if last < first { Err(empty()) } else { Ok((first, last)) }
}

impl Seeds {
    /// How many seeds there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The seeds, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().flat_map(|&(first, last)| first..=last)
    }

    /// The seed with so many before it.
    #[must_use]
    pub fn at(&self, mut index: u64) -> Option<u64> {
        for &(first, last) in &self.ranges {
            if index <= last - first {
                return Some(first + index);
            }
            index -= last - first + 1;
        }
        None
    }

    /// How many seeds are before this one; none if it is not in the set.
    #[must_use]
    pub fn position(&self, seed: u64) -> Option<u64> {
        let mut before = 0;
        for &(first, last) in &self.ranges {
            if (first..=last).contains(&seed) {
                return Some(before + (seed - first));
            }
            before += last - first + 1;
        }
        None
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if first == last {
                write!(formatter, "{comma}{first}")?;
            } else {
                write!(formatter, "{comma}{first}..={last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_every_seed_is_found_where_it_stands() {
        let seeds: Seeds = "5..8, 1,2,3..=4,100,6".parse().unwrap();
        assert_eq!(seeds.to_string(), "1..=7,100");
        assert_eq!(seeds.count(), 8);
        for (index, seed) in (0..).zip(seeds.iter()) {
            assert_eq!((seeds.at(index), seeds.position(seed)), (Some(seed), Some(index)));
        }
        assert_eq!((seeds.at(8), seeds.position(8)), (None, None));
        let largest: Seeds = "18446744073709551615".parse().unwrap();
        assert_eq!(largest.iter().collect::<Vec<_>>(), [u64::MAX]);
    }

    #[test]
    fn what_names_no_seeds_is_refused() {
        for (text, message) in [
            ("", "`` is neither a seed nor a range such as 0..1000 or 0..=9"),
            ("1;2", "`1;2` is neither a seed nor a range such as 0..1000 or 0..=9"),
            ("-1", "`-1` is neither a seed nor a range such as 0..1000 or 0..=9"),
            ("3..3", "the range `3..3` is empty"),
            ("0..0", "the range `0..0` is empty"),
            ("3..=2", "the range `3..=2` is empty"),
            ("0..=18446744073709551615", "those are too many seeds"),
        ] {
            assert_eq!(text.parse::<Seeds>().unwrap_err().to_string(), message);
        }
    }
}

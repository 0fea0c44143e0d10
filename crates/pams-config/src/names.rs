//! The names of the instances of a group.
//!
//! A group of a million agents has a million names but stores one prefix: names are made when they are asked for, and a
//! name is looked up by taking it apart.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of a group's instances: a prefix, and a number behind it when the group makes several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    prefix: Arc<str>,
    /// The number of the first name; none for a single name without a number.
    first: Option<i64>,
    len: usize,
}

impl Names {
    /// One name without a number.
    #[must_use]
    pub fn single(name: &str) -> Self {
        Self { prefix: name.into(), first: None, len: 1 }
    }

    /// `len` names, `prefix` followed by the numbers from `first` on. Numbers end at `i64::MAX`, and the names with
    /// them.
    #[must_use]
    pub fn numbered(prefix: &str, first: i64, len: usize) -> Self {
        let most = usize::try_from(i64::MAX.saturating_sub(first)).unwrap_or(usize::MAX);
        Self { prefix: prefix.into(), first: Some(first), len: len.min(most) }
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The name at `index`.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](Self::len).
    #[must_use]
    pub fn name(&self, index: usize) -> String {
        assert!(index < self.len, "name {index} of {} was asked for", self.len);
        match self.first {
            None => self.prefix.to_string(),
            Some(first) => format!("{}{}", self.prefix, self.number(first, index)),
        }
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = String> {
        (0..self.len).map(|index| self.name(index))
    }

    /// The index of `name`, if it is one of these.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        let number = name.strip_prefix(&*self.prefix)?;
        let Some(first) = self.first else {
            return (number.is_empty() && self.len > 0).then_some(0);
        };
        let value: i64 = number.parse().ok()?;
        if value.to_string() != number {
            return None;
        }
        let index = usize::try_from(i128::from(value) - i128::from(first)).ok()?;
        (index < self.len).then_some(index)
    }

    /// What stands before the number.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The names in words, such as "`A-0` to `A-9`".
    pub(crate) fn describe(&self) -> String {
        match self.len {
            0 => "no names".to_owned(),
            1 => format!("`{}`", self.name(0)),
            n => format!("`{}` to `{}`", self.name(0), self.name(n - 1)),
        }
    }

    /// A name that is also one of `other`.
    fn shared_with(&self, other: &Self) -> Option<String> {
        match (self.first, other.first) {
            (Some(mine), Some(theirs)) if self.prefix == other.prefix => {
                let start = mine.max(theirs);
                let name = format!("{}{start}", self.prefix);
                (self.position(&name).is_some() && other.position(&name).is_some()).then_some(name)
            }
            _ if self.len <= other.len => self.iter().find(|name| other.position(name).is_some()),
            _ => other.iter().find(|name| self.position(name).is_some()),
        }
    }

    fn number(&self, first: i64, index: usize) -> i128 {
        i128::from(first) + index as i128
    }
}

/// Which group a name belongs to, over many groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    groups: Vec<Names>,
    /// Group numbers by prefix.
    by_prefix: BTreeMap<Arc<str>, Vec<usize>>,
}

/// Two groups that make the same name.
pub(crate) struct Clash {
    pub(crate) name: String,
    pub(crate) other: usize,
}

impl NameTable {
    /// Adds a group; the first clash with an earlier one comes back.
    pub(crate) fn add(&mut self, names: Names) -> Option<Clash> {
        let clash = self.clash(&names);
        self.by_prefix.entry(Arc::clone(&names.prefix)).or_default().push(self.groups.len());
        self.groups.push(names);
        clash
    }

    /// The group and the index in it of `name`.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, usize)> {
        prefixes(name).find_map(|prefix| {
            let groups = self.by_prefix.get(prefix)?;
            groups.iter().find_map(|group| Some((*group, self.groups[*group].position(name)?)))
        })
    }

    /// Names clash only when one prefix continues the other with digits, or when they are equal.
    fn clash(&self, names: &Names) -> Option<Clash> {
        let clash_with = |other: &usize| {
            let name = self.groups[*other].shared_with(names)?;
            Some(Clash { name, other: *other })
        };
        let shorter =
            prefixes(&names.prefix).filter_map(|prefix| self.by_prefix.get(prefix)).flatten();
        let range = self.by_prefix.range(Arc::clone(&names.prefix)..);
        let longer = range
            .take_while(|(prefix, _)| prefix.starts_with(&*names.prefix))
            .filter(|(prefix, _)| is_number_start(&prefix[names.prefix.len()..]))
            .flat_map(|(_, groups)| groups);
        shorter.chain(longer).find_map(clash_with)
    }
}

/// `name` itself, and what is left of it when digits, or digits and a minus, are taken from its end.
fn prefixes(name: &str) -> impl Iterator<Item = &str> {
    const LONGEST_NUMBER: usize = 20;
    let shorter = (1..=LONGEST_NUMBER.min(name.len()))
        .take_while(|taken| matches!(name.as_bytes()[name.len() - taken], b'0'..=b'9' | b'-'))
        .map(|taken| &name[..name.len() - taken]);
    std::iter::once(name).chain(shorter)
}

/// Whether a whole number could begin so; also nothing.
pub(crate) fn is_number_start(text: &str) -> bool {
    text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_made_and_found() {
        let names = Names::numbered("A-", -1, 3);
        assert_eq!(names.iter().collect::<Vec<_>>(), ["A--1", "A-0", "A-1"]);
        assert_eq!(names.position("A-0"), Some(1));
        assert_eq!(names.position("A-00"), None);
        assert_eq!(names.position("A-2"), None);
        assert_eq!(names.position("A-+1"), None);
        assert_eq!(Names::single("A").position("A"), Some(0));
    }

    #[test]
    fn clashes_are_found_whatever_the_order() {
        let check = |one: Names, two: Names, expected: Option<&str>| {
            for (first, second) in [(&one, &two), (&two, &one)] {
                let mut table = NameTable::default();
                assert!(table.add(first.clone()).is_none());
                let clash = table.add(second.clone()).map(|clash| clash.name);
                assert_eq!(clash.as_deref(), expected, "{one:?} {two:?}");
            }
        };
        check(Names::single("A"), Names::single("A"), Some("A"));
        check(Names::single("A-0"), Names::numbered("A-", 0, 5), Some("A-0"));
        check(Names::single("A-5"), Names::numbered("A-", 0, 5), None);
        check(Names::numbered("A-1", 0, 10), Names::numbered("A-", 0, 100), Some("A-10"));
        check(Names::numbered("A-", 0, 5), Names::numbered("A-", 4, 5), Some("A-4"));
        check(Names::numbered("A-", 0, 4), Names::numbered("A-", 4, 5), None);
        check(Names::numbered("A", -1, 2), Names::numbered("A-", 0, 5), Some("A-1"));
        check(Names::numbered("é", 0, 4), Names::single("é1"), Some("é1"));
    }

    fn any_names() -> impl Strategy<Value = Names> {
        let prefix =
            prop::sample::select(vec!["", "A", "A-", "A1", "A-1", "A-10", "1", "-", "-1", "B"]);
        let numbered = (prefix.clone(), -12..12_i64, 0..15_usize);
        prop_oneof![
            prefix.prop_map(Names::single),
            numbered.prop_map(|(prefix, first, len)| Names::numbered(prefix, first, len)),
        ]
    }

    proptest! {
        #[test]
        fn a_clash_is_found_exactly_when_two_groups_share_a_name(
            groups in prop::collection::vec(any_names(), 0..6),
        ) {
            let mut table = NameTable::default();
            let mut seen = BTreeMap::new();
            for (index, names) in groups.iter().enumerate() {
                let shared = names.iter().any(|name| seen.contains_key(&name));
                let clash = table.add(names.clone());
                prop_assert_eq!(clash.is_some(), shared);
                if let Some(clash) = clash {
                    prop_assert!(names.position(&clash.name).is_some());
                    prop_assert!(groups[clash.other].position(&clash.name).is_some());
                }
                for name in names.iter() {
                    seen.entry(name).or_insert(index);
                }
            }
            for name in seen.keys() {
                let (group, index) = table.find(name).expect("the name was added");
                prop_assert_eq!(&groups[group].name(index), name);
            }
        }
    }

    #[test]
    fn a_million_names_need_no_memory_to_be_found() {
        let mut table = NameTable::default();
        table.add(Names::numbered("A", 0, 1_000_000));
        table.add(Names::single("B"));
        assert_eq!(table.find("A999999"), Some((0, 999_999)));
        assert_eq!(table.find("B"), Some((1, 0)));
        assert_eq!(table.find("A1000000"), None);
    }
}

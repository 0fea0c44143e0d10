//! A table that grows at the end and may forget its beginning.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// Entries numbered from 0, of which a beginning may have been forgotten.
///
/// Forgetting is lazy: memory is given back when half of the table is dead, so that each entry
/// is moved at most a constant number of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window<T> {
    /// The number of the entry at `entries[0]`.
    offset: u64,
    /// Entries before this number are forgotten.
    first: u64,
    entries: Vec<T>,
}

/// Room for entries from the start, so that short runs never move them. Memory that is not touched
/// costs nothing.
const FIRST: usize = 1024;

impl<T> Window<T> {
    pub(crate) fn new() -> Self {
        Self { offset: 0, first: 0, entries: Vec::with_capacity(FIRST) }
    }

    /// The number of the first entry that is still kept.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next entry will get.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.entries.len() as u64
    }

    pub(crate) fn push(&mut self, entry: T) {
        self.entries.push(entry);
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.entries.last()
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.entries.last_mut()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        if number < self.first {
            return None;
        }
        self.entries.get(usize::try_from(number - self.offset).ok()?)
    }

    /// Forgets all entries before `number`.
    pub(crate) fn forget_before(&mut self, number: u64) {
        self.first = self.first.max(number.min(self.end()));
        let dead = self.position(self.first);
        if dead >= 64 && dead * 2 >= self.entries.len() {
            self.entries.drain(..dead);
            self.offset = self.first;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "tables of this length fit in memory")]
    fn position(&self, number: u64) -> usize {
        (number - self.offset) as usize
    }
}

impl<T> Index<u64> for Window<T> {
    type Output = T;
    fn index(&self, number: u64) -> &T {
        &self.entries[self.position(number)]
    }
}

impl<T> IndexMut<u64> for Window<T> {
    fn index_mut(&mut self, number: u64) -> &mut T {
        let position = self.position(number);
        &mut self.entries[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_while_the_beginning_is_forgotten() {
        let mut window = Window::new();
        for number in 0..10_000_u64 {
            window.push(number * 3);
            window.forget_before(number.saturating_sub(9));
            assert_eq!(window.end(), number + 1);
            assert_eq!(window[number], number * 3);
            assert_eq!(window.get(window.first()), Some(&(window.first() * 3)));
            assert_eq!(window.first(), number.saturating_sub(9));
            assert_eq!(window.get(window.first().wrapping_sub(1)), None);
        }
        assert!(window.entries.len() < 200, "forgotten entries must give their memory back");
    }
}

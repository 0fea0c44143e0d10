//! A window of levels side by side: those near the touch.

use serde::{Deserialize, Serialize};

use super::queue::NONE;

/// How many keys the window covers.
pub(super) const SPAN: u32 = 512;

const WORDS: usize = SPAN as usize / 64;

/// The numbers of the levels whose keys are in `start .. start + SPAN`; a level is found without a
/// search, and the next one by its bit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Near {
    start: i64,
    /// Empty until the window is used.
    levels: Vec<u32>,
    /// One bit for each key that has a level.
    occupied: [u64; WORDS],
}

impl Near {
    /// Where a key is in the window, none when it is outside.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "less than the span")]
    pub(super) fn place(&self, key: i64) -> Option<usize> {
        let offset = key.wrapping_sub(self.start).cast_unsigned();
        // Both are computed: which of them fails is anybody's guess, that one does is not.
        let inside = (key >= self.start) & (offset < self.levels.len() as u64);
        inside.then_some(offset as usize)
    }

    /// The level at a place, which is `make`'s if there was none.
    #[inline]
    pub(super) fn get_or_insert(&mut self, place: usize, make: impl FnOnce() -> u32) -> u32 {
        let level = &mut self.levels[place];
        if *level == NONE {
            *level = make();
            self.occupied[place / 64] |= 1 << (place % 64);
        }
        *level
    }

    /// Empties a place.
    #[inline]
    pub(super) fn remove(&mut self, place: usize) -> u32 {
        self.occupied[place / 64] &= !(1 << (place % 64));
        std::mem::replace(&mut self.levels[place], NONE)
    }

    /// The largest key and its level.
    #[inline]
    pub(super) fn last(&self) -> Option<(i64, u32)> {
        let word = self.occupied.iter().rposition(|&word| word != 0)?;
        let place = word * 64 + self.occupied[word].ilog2() as usize;
        Some((self.key(place), self.levels[place]))
    }

    /// Takes out the smallest key with its level.
    pub(super) fn pop_first(&mut self) -> Option<(i64, u32)> {
        let word = self.occupied.iter().position(|&word| word != 0)?;
        let place = word * 64 + self.occupied[word].trailing_zeros() as usize;
        Some((self.key(place), self.remove(place)))
    }

    /// All keys with their levels, the largest first.
    pub(super) fn descending(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        let places = (0..self.levels.len()).rev();
        let occupied = places.filter(|&place| self.occupied[place / 64] >> (place % 64) & 1 == 1);
        occupied.map(|place| (self.key(place), self.levels[place]))
    }

    /// The first key that lies above the window.
    pub(super) fn end(&self) -> i64 {
        self.start.saturating_add(SPAN.into())
    }

    /// Moves the window, which must be empty.
    pub(super) fn move_to(&mut self, start: i64) {
        self.start = start;
        self.levels.resize(SPAN as usize, NONE);
    }

    #[inline]
    fn key(&self, place: usize) -> i64 {
        self.start.wrapping_add_unsigned(place as u64)
    }
}

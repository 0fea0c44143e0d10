//! The levels of one side in the order of their keys, of which the largest is the best.
//!
//! Near the touch they stand side by side in a window; all others are in a sorted list. A level is
//! in the window exactly if its key is. The window moves when a level is wanted that is near the
//! best one and yet outside, so a book whose touch wanders is always worked on in the window, and a
//! book with few levels far from each other never fills one.

use serde::{Deserialize, Serialize};

use super::far::Far;
use super::near::{Near, SPAN};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Ladder {
    near: Near,
    far: Far,
}

impl Ladder {
    /// The best key and the number of its level.
    #[inline]
    pub(super) fn best(&self) -> Option<(i64, u32)> {
        self.near.last().max(self.far.last())
    }

    /// The number of the level with this key, which is `make`'s if there was none. `best` is the
    /// best key.
    #[inline]
    pub(super) fn get_or_insert(
        &mut self,
        key: i64,
        best: Option<i64>,
        make: impl FnOnce() -> u32,
    ) -> u32 {
        if let Some(place) = self.near.place(key) {
            return self.near.get_or_insert(place, make);
        }
        match best {
            Some(best) if best.abs_diff(key) <= u64::from(SPAN / 2) => {
                self.move_window(best.max(key));
                let place = self.near.place(key).expect("invariant: the window is around the best");
                self.near.get_or_insert(place, make)
            }
            _ => self.far.get_or_insert(key, make),
        }
    }

    /// Takes out a level that is there.
    #[inline]
    pub(super) fn remove(&mut self, key: i64) {
        match self.near.place(key) {
            Some(place) => {
                self.near.remove(place);
            }
            None => self.far.remove(key),
        }
    }

    /// All keys with the numbers of their levels, the best first.
    pub(super) fn descending(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        let end = self.near.end();
        let above = self.far.descending().take_while(move |&(key, _)| key >= end);
        let below = self.far.descending().skip_while(move |&(key, _)| key >= end);
        above.chain(self.near.descending()).chain(below)
    }

    /// Moves the window so that three quarters of it lie below `best`, which no level exceeds.
    #[cold]
    fn move_window(&mut self, best: i64) {
        let start = best.saturating_sub((SPAN / 4 * 3).into());
        while let Some((key, level)) = self.near.pop_first() {
            self.far.get_or_insert(key, || level);
        }
        self.near.move_to(start);
        while let Some((key, level)) = self.far.pop_from(start) {
            let place = self.near.place(key).expect("invariant: no level is above the best");
            self.near.get_or_insert(place, || level);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::{Generator, GeneratorKind};

    /// A touch that wanders and sometimes jumps, over dense and sparse levels.
    #[test]
    fn a_ladder_is_a_sorted_map() {
        let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
        for (width, jump) in [(20, 5_000), (300, 1_000), (5_000, 100_000), (10_000_000, 10)] {
            let (mut ladder, mut model) = (Ladder::default(), BTreeMap::new());
            let mut center = 0;
            for number in 0..20_000_u32 {
                if generator.below(1_000) == 0 {
                    center += generator.integer(-jump, jump);
                }
                center += generator.integer(-2, 2);
                let key = center - generator.integer(0, width);
                let best = model.last_key_value().map(|(&key, &level)| (key, level));
                assert_eq!(ladder.best(), best, "width {width}, after {number}");
                if model.len() > 400 || generator.below(3) == 0 {
                    let place = usize::try_from(generator.below(model.len() as u64 + 1)).unwrap();
                    let some = model.keys().rev().nth(place / 3).copied();
                    if let Some(key) = some {
                        ladder.remove(key);
                        model.remove(&key);
                    }
                } else {
                    let level = ladder.get_or_insert(key, best.map(|(key, _)| key), || number);
                    assert_eq!(level, *model.entry(key).or_insert(number));
                }
                if number % 97 == 0 {
                    let levels = model.iter().rev().map(|(&key, &level)| (key, level));
                    assert!(ladder.descending().eq(levels), "width {width}, after {number}");
                }
            }
        }
    }

    #[test]
    fn thousands_of_levels_come_and_go_in_any_order() {
        let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 2);
        let mut keys: Vec<i64> = (0..5_000).map(|key| key * 1_000_003 - 2_000_000_000).collect();
        let mut ladder = Ladder::default();
        generator.shuffle(&mut keys);
        for (&key, number) in keys.iter().zip(0..) {
            ladder.get_or_insert(key, ladder.best().map(|(key, _)| key), || number);
        }
        assert_eq!(ladder.descending().count(), keys.len());
        assert!(ladder.descending().is_sorted_by(|a, b| a.0 > b.0));
        generator.shuffle(&mut keys);
        while let Some(key) = keys.pop() {
            ladder.remove(key);
            assert_eq!(ladder.best().map(|(key, _)| key), keys.iter().max().copied());
        }
        assert_eq!(ladder.descending().count(), 0);
        let first = |ladder: &mut Ladder| ladder.get_or_insert(7, None, || 1);
        assert_eq!((first(&mut ladder), ladder.best()), (1, Some((7, 1))));
    }

    #[test]
    fn keys_at_the_ends_of_the_number_range_have_their_order() {
        let mut ladder = Ladder::default();
        for (key, number) in [i64::MAX, i64::MAX - 1, 1 - i64::MAX, -i64::MAX].into_iter().zip(0..)
        {
            ladder.get_or_insert(key, ladder.best().map(|(key, _)| key), || number);
        }
        assert!(ladder.descending().map(|(_, number)| number).eq(0..4));
    }
}

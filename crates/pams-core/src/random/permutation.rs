//! Random orders that are handed out place by place.

use super::Generator;
use super::mersenne_twister::PIECE;

/// A reusable random order of the places 0 to n − 1, handed out one at a time.
///
/// In many steps only the first few places of an order are asked for. A permutation costs what is asked for, beyond
/// the draws themselves: places are worked out when they are handed out, and the next [`start`](Self::start) undoes
/// just those. The whole order equals [`Generator::shuffle`] of `[0, 1, …, n − 1]`, and does not depend on what was
/// taken from earlier orders.
///
/// ```
/// use pams_core::random::{Generator, GeneratorKind, Permutation};
///
/// let mut generator = Generator::new(GeneratorKind::Mt19937, 42);
/// let mut order = Permutation::new(4);
/// order.start(&mut generator);
/// assert_eq!(order.next(&mut generator), Some(0));
/// assert_eq!(order.next(&mut generator), Some(3));
/// ```
#[derive(Clone, Debug)]
pub struct Permutation {
    /// The places in order, but for those that were exchanged by the current order.
    pool: Vec<u32>,
    /// Where in the pool the place that was handed out was taken from, by where it ended up; in mt19937 mode also for
    /// those to come.
    draws: Vec<u32>,
    /// Room for making the draws, kept so that it need not be cleared each time.
    piece: Box<[u32; PIECE]>,
    handed_out: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No order was started yet.
    Idle,
    /// All draws are made; places taken gather at the end of the pool.
    Drawn,
    /// A draw is made for each place; places taken gather at the front of the pool.
    Drawing,
}

impl Permutation {
    /// A permutation of `n` places, which hands out nothing before it is started.
    ///
    /// # Panics
    ///
    /// If `n` is not below 2³².
    #[must_use]
    pub fn new(n: usize) -> Self {
        let end = u32::try_from(n).expect("places are counted in 32 bits");
        Self {
            pool: (0..end).collect(),
            draws: vec![0; n],
            piece: Box::new([0; PIECE]),
            handed_out: 0,
            stage: Stage::Idle,
        }
    }

    /// How many places there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pool.len()
    }

    /// Whether there is no place at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }

    /// Begins a new order, whatever was handed out of the last one.
    ///
    /// mt19937: draws as often as CPython's `sample` does, for all places. xoshiro256++: draws nothing yet.
    pub fn start(&mut self, generator: &mut Generator) {
        self.undo();
        let drawn = generator.draw_descending(&mut self.draws, &mut self.piece);
        self.stage = if drawn { Stage::Drawn } else { Stage::Drawing };
    }

    /// The next place of the order begun last; `None` after the last place, and before any order was begun.
    ///
    /// `generator` is the one that [`start`](Self::start) was given. mt19937: draws nothing. xoshiro256++: draws once,
    /// but for the last place not at all.
    #[inline]
    pub fn next(&mut self, generator: &mut Generator) -> Option<u32> {
        let left = self.pool.len() - self.handed_out;
        if left == 0 || self.stage == Stage::Idle {
            return None;
        }
        let to = self.destination(self.handed_out);
        if self.stage == Stage::Drawing {
            let further = if left > 1 { generator.below(left as u64) } else { 0 };
            self.draws[to] = self.pool_index(to as u64 + further);
        }
        let from = self.draws[to] as usize;
        self.handed_out += 1;
        self.pool.swap(from, to);
        Some(self.pool[to])
    }

    /// Where in the pool the place that is handed out as number `turn` ends up.
    #[inline]
    fn destination(&self, turn: usize) -> usize {
        if self.stage == Stage::Drawn { self.pool.len() - turn - 1 } else { turn }
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below the length of the pool, which 32 bits can count"
    )]
    fn pool_index(&self, index: u64) -> u32 {
        debug_assert!(index < self.pool.len() as u64);
        index as u32
    }

    /// Puts the pool in order again. Only where places were taken from and put to can it be out of order.
    fn undo(&mut self) {
        for turn in 0..self.handed_out {
            let to = self.destination(turn);
            let from = self.draws[to];
            self.pool[from as usize] = from;
            self.pool[to] = self.pool_index(to as u64);
        }
        self.handed_out = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::GeneratorKind;

    #[test]
    fn a_start_leaves_nothing_of_the_last_order() {
        for kind in [GeneratorKind::Xoshiro256PlusPlus, GeneratorKind::Mt19937] {
            let mut generator = Generator::new(kind, 3);
            let mut order = Permutation::new(50);
            for taken in (0..=50).chain([0, 0, 50, 50, 1]) {
                order.start(&mut generator);
                assert!(
                    order.pool.iter().copied().eq(0..50),
                    "{kind}, before {taken} places are taken"
                );
                for _ in 0..taken {
                    order.next(&mut generator);
                }
            }
        }
    }
}

//! A sorted list of numbered levels, wherever they are: the levels that are not near the touch.
//!
//! Chunks of at most [`CHUNK`] levels in order, so that a level is put in or taken out with one
//! search among chunks, one inside a chunk, and a move of a part of that chunk. With a hundred
//! levels that is one array; the best level is at the end, where most is done.

use serde::{Deserialize, Serialize};

const CHUNK: usize = 128;

/// A key and the number of its level.
type Entry = (i64, u32);

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Far {
    /// None of them is empty unless it is the only one.
    chunks: Vec<Vec<Entry>>,
    /// The first key of each chunk.
    firsts: Vec<i64>,
}

impl Far {
    /// The entry with the largest key.
    #[inline]
    pub(super) fn last(&self) -> Option<Entry> {
        self.chunks.last().and_then(|chunk| chunk.last()).copied()
    }

    /// The level of a key, which is `make`'s if there was none.
    pub(super) fn get_or_insert(&mut self, key: i64, make: impl FnOnce() -> u32) -> u32 {
        let number = self.chunk_of(key);
        let Some(chunk) = self.chunks.get_mut(number) else {
            let level = make();
            self.add_chunk(0, vec![(key, level)]);
            return level;
        };
        match chunk.binary_search_by_key(&key, |entry| entry.0) {
            Ok(place) => chunk[place].1,
            Err(place) => {
                let level = make();
                if chunk.len() < CHUNK {
                    chunk.insert(place, (key, level));
                    self.firsts[number] = chunk[0].0;
                } else {
                    self.insert_into_full(number, place, (key, level));
                }
                level
            }
        }
    }

    /// Takes out a key that is there.
    pub(super) fn remove(&mut self, key: i64) {
        let number = self.chunk_of(key);
        let chunk = &mut self.chunks[number];
        match chunk.last() {
            Some(last) if last.0 == key => {
                chunk.pop();
            }
            _ => {
                let place = chunk.binary_search_by_key(&key, |entry| entry.0);
                chunk.remove(place.expect("invariant: only what is there is taken out"));
            }
        }
        self.shrunk(number);
    }

    /// Takes out the entry with the largest key if that is at least `least`.
    pub(super) fn pop_from(&mut self, least: i64) -> Option<Entry> {
        let number = self.chunks.len().checked_sub(1)?;
        let entry = self.chunks[number].pop_if(|entry| entry.0 >= least)?;
        self.shrunk(number);
        Some(entry)
    }

    /// All entries, the largest key first.
    pub(super) fn descending(&self) -> impl Iterator<Item = Entry> + '_ {
        self.chunks.iter().rev().flat_map(|chunk| chunk.iter().rev().copied())
    }

    /// The chunk in which a key is, or would be. The last one needs no search.
    #[inline]
    fn chunk_of(&self, key: i64) -> usize {
        match *self.firsts {
            [] | [_] => 0,
            [.., last] if last <= key => self.firsts.len() - 1,
            [ref firsts @ .., _] => firsts.partition_point(|&first| first <= key).saturating_sub(1),
        }
    }

    #[cold]
    fn insert_into_full(&mut self, number: usize, place: usize, entry: Entry) {
        let middle = CHUNK / 2;
        let upper = self.chunks[number].drain(middle..).collect();
        self.add_chunk(number + 1, upper);
        let (number, place) =
            if place <= middle { (number, place) } else { (number + 1, place - middle) };
        self.chunks[number].insert(place, entry);
        self.firsts[number] = self.chunks[number][0].0;
    }

    fn add_chunk(&mut self, number: usize, mut chunk: Vec<Entry>) {
        chunk.reserve_exact(CHUNK - chunk.len());
        self.firsts.insert(number, chunk[0].0);
        self.chunks.insert(number, chunk);
    }

    /// Puts things right after a chunk has lost an entry. A chunk goes when it is empty, or when it
    /// and the one before it fill half a chunk together; the only chunk stays.
    #[inline]
    fn shrunk(&mut self, number: usize) {
        let length = self.chunks[number].len();
        let before = number.checked_sub(1).map(|before| self.chunks[before].len());
        let goes = match before {
            Some(before) => length == 0 || before + length <= CHUNK / 2,
            None => length == 0 && self.chunks.len() > 1,
        };
        if goes {
            self.drop_chunk(number);
        } else if let Some(first) = self.chunks[number].first() {
            self.firsts[number] = first.0;
        }
    }

    #[cold]
    fn drop_chunk(&mut self, number: usize) {
        let chunk = self.chunks.remove(number);
        self.firsts.remove(number);
        if !chunk.is_empty() {
            self.chunks[number - 1].extend(chunk);
        }
    }
}

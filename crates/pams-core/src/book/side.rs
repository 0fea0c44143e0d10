//! One side of a book: its market orders and its levels, best first.

use serde::{Deserialize, Serialize};

use super::Level;
use super::ladder::Ladder;
use super::orders::{Orders, Row};
use super::queue::{Chain, Links, NONE, walk};
use crate::order::Side;
use crate::quantity::{Tick, Volume};

/// The orders that wait at one price, or for any price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Waiting {
    key: i64,
    orders: Chain,
    volume: Volume,
    n_orders: u64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SideBook {
    side: Side,
    market: Waiting,
    /// Levels by number, those that are not in the ladder free for use.
    levels: Vec<Waiting>,
    free: Vec<u32>,
    /// Keyed so that a better price has the larger key: by tick for buys, by its negation for
    /// sells.
    ladder: Ladder,
    /// The number of the best level.
    best: u32,
    limit_volume: Volume,
}

impl SideBook {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            market: Waiting::default(),
            levels: Vec::new(),
            free: Vec::new(),
            ladder: Ladder::default(),
            best: NONE,
            limit_volume: Volume::ZERO,
        }
    }

    /// The slot of the order with the highest priority.
    #[inline]
    pub(super) fn top(&self) -> Option<u32> {
        if !self.market.orders.is_empty() {
            return Some(self.market.orders.head);
        }
        self.levels.get(self.best as usize).map(|level| level.orders.head)
    }

    /// The tick of the best level.
    #[inline]
    pub(super) fn best_limit(&self) -> Option<Tick> {
        self.levels.get(self.best as usize).map(|level| self.tick(level.key))
    }

    /// Whether market orders wait.
    #[inline]
    pub(super) fn has_market_orders(&self) -> bool {
        !self.market.orders.is_empty()
    }

    pub(super) fn levels(&self) -> impl Iterator<Item = Level> + '_ {
        self.ladder.descending().map(|(key, number)| {
            let waiting = &self.levels[number as usize];
            Level { tick: self.tick(key), volume: waiting.volume, n_orders: waiting.n_orders }
        })
    }

    pub(super) fn resting<'a>(&'a self, orders: &'a Orders) -> impl Iterator<Item = &'a Row> + 'a {
        let levels = self.ladder.descending().map(|(_, number)| &self.levels[number as usize]);
        std::iter::once(&self.market)
            .chain(levels)
            .flat_map(|waiting| walk(orders, waiting.orders.head, |row| &row.at_level))
    }

    pub(super) fn limit_volume(&self) -> Volume {
        self.limit_volume
    }

    pub(super) fn market_volume(&self) -> Volume {
        self.market.volume
    }

    /// Puts an order behind all others of its level.
    #[inline]
    pub(super) fn append(&mut self, orders: &mut Orders, slot: u32) {
        let row = &mut orders[slot];
        let volume = row.volume;
        let waiting = match row.tick() {
            None => &mut self.market,
            Some(tick) => {
                self.limit_volume += volume;
                let number = self.level(tick);
                row.level = number;
                &mut self.levels[number as usize]
            }
        };
        waiting.orders.append(orders, slot, at_level);
        waiting.volume += volume;
        waiting.n_orders += 1;
    }

    /// Takes `volume` of a resting order away without touching its place.
    #[inline]
    pub(super) fn reduce(&mut self, row: &mut Row, volume: Volume) {
        row.volume -= volume;
        if row.tick().is_some() {
            self.limit_volume -= volume;
        }
        self.waiting(row.level).volume -= volume;
    }

    /// Takes a resting order out; its volume stays as it is.
    #[inline]
    pub(super) fn remove(&mut self, orders: &mut Orders, slot: u32) {
        let row = &orders[slot];
        let (volume, number) = (row.volume, row.level);
        let waiting = self.waiting(number);
        waiting.orders.remove(orders, slot, at_level);
        waiting.volume -= volume;
        waiting.n_orders -= 1;
        let (key, is_empty) = (waiting.key, waiting.orders.is_empty());
        if number == NONE {
            return;
        }
        self.limit_volume -= volume;
        if is_empty {
            self.ladder.remove(key);
            self.free.push(number);
            if number == self.best {
                self.best = self.ladder.best().map_or(NONE, |(_, number)| number);
            }
        }
    }

    /// A level by its number, or the market orders.
    #[inline]
    fn waiting(&mut self, number: u32) -> &mut Waiting {
        self.levels.get_mut(number as usize).unwrap_or(&mut self.market)
    }

    /// The number of the level of a tick, which may be new.
    #[inline]
    fn level(&mut self, tick: Tick) -> u32 {
        let key = self.key(tick);
        let best = self.levels.get(self.best as usize).map(|level| level.key);
        if best == Some(key) {
            return self.best;
        }
        let (levels, free) = (&mut self.levels, &mut self.free);
        let number = self.ladder.get_or_insert(key, best, || new_level(levels, free, key));
        if best.is_none_or(|best| key > best) {
            self.best = number;
        }
        number
    }

    #[inline]
    fn key(&self, tick: Tick) -> i64 {
        match self.side {
            Side::Buy => tick.0,
            Side::Sell => -tick.0,
        }
    }

    #[inline]
    fn tick(&self, key: i64) -> Tick {
        match self.side {
            Side::Buy => Tick(key),
            Side::Sell => Tick(-key),
        }
    }
}

/// Makes an empty level.
#[inline]
fn new_level(levels: &mut Vec<Waiting>, free: &mut Vec<u32>, key: i64) -> u32 {
    if let Some(number) = free.pop() {
        levels[number as usize].key = key;
        return number;
    }
    let number = u32::try_from(levels.len()).expect("invariant: no more levels than orders");
    levels.push(Waiting { key, ..Waiting::default() });
    number
}

#[inline]
fn at_level(row: &mut Row) -> &mut Links {
    &mut row.at_level
}

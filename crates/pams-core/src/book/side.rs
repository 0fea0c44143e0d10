//! One side of a book: its market orders and its levels, best first.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use super::queue::{Chain, Orders, walk};
use super::{Best, Level};
use crate::ids::OrderId;
use crate::order::Side;
use crate::quantity::{Tick, Volume};

/// The orders that wait at one price, or for any price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Waiting {
    orders: Chain,
    volume: Volume,
    n_orders: u64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SideBook {
    side: Side,
    market: Waiting,
    /// Keyed so that the best price comes first: by tick for sells, by its negation for buys.
    levels: BTreeMap<i64, Waiting>,
    limit_volume: Volume,
}

impl SideBook {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            market: Waiting::default(),
            levels: BTreeMap::new(),
            limit_volume: Volume::ZERO,
        }
    }

    pub(super) fn best(&self) -> Option<Best> {
        if !self.market.orders.is_empty() {
            return Some(Best { tick: None, order_id: OrderId(self.market.orders.head) });
        }
        let (&key, waiting) = self.levels.first_key_value()?;
        Some(Best { tick: Some(self.tick(key)), order_id: OrderId(waiting.orders.head) })
    }

    pub(super) fn levels(&self) -> impl Iterator<Item = Level> + '_ {
        self.levels.iter().map(|(&key, waiting)| Level {
            tick: self.tick(key),
            volume: waiting.volume,
            n_orders: waiting.n_orders,
        })
    }

    pub(super) fn resting<'a>(&'a self, orders: &'a Orders) -> impl Iterator<Item = OrderId> + 'a {
        std::iter::once(&self.market)
            .chain(self.levels.values())
            .flat_map(|waiting| walk(orders, waiting.orders.head, |order| &order.at_level))
    }

    pub(super) fn limit_volume(&self) -> Volume {
        self.limit_volume
    }

    pub(super) fn market_volume(&self) -> Volume {
        self.market.volume
    }

    /// Puts an order of the table behind all others of its level.
    pub(super) fn append(&mut self, orders: &mut Orders, id: OrderId) {
        let (tick, volume) = (orders[id.0].tick, orders[id.0].volume);
        let waiting = match tick {
            None => &mut self.market,
            Some(tick) => {
                self.limit_volume += volume;
                let key = self.key(tick);
                self.levels.entry(key).or_default()
            }
        };
        waiting.orders.append(orders, id, |order| &mut order.at_level);
        waiting.volume += volume;
        waiting.n_orders += 1;
    }

    /// Takes `volume` of a resting order away without touching its place.
    pub(super) fn reduce(&mut self, orders: &mut Orders, id: OrderId, volume: Volume) {
        let order = &mut orders[id.0];
        order.volume -= volume;
        match order.tick {
            None => self.market.volume -= volume,
            Some(tick) => {
                self.limit_volume -= volume;
                let key = self.key(tick);
                self.levels
                    .get_mut(&key)
                    .expect("invariant: a resting limit order has a level")
                    .volume -= volume;
            }
        }
    }

    /// Takes a resting order out; its volume stays as it is.
    pub(super) fn remove(&mut self, orders: &mut Orders, id: OrderId) {
        let (tick, volume) = (orders[id.0].tick, orders[id.0].volume);
        let Some(tick) = tick else {
            self.market.take(orders, id, volume);
            return;
        };
        self.limit_volume -= volume;
        let Entry::Occupied(mut level) = self.levels.entry(self.key(tick)) else {
            unreachable!("invariant: a resting limit order has a level");
        };
        level.get_mut().take(orders, id, volume);
        if level.get().orders.is_empty() {
            level.remove();
        }
    }

    fn key(&self, tick: Tick) -> i64 {
        match self.side {
            Side::Buy => -tick.0,
            Side::Sell => tick.0,
        }
    }

    fn tick(&self, key: i64) -> Tick {
        match self.side {
            Side::Buy => Tick(-key),
            Side::Sell => Tick(key),
        }
    }
}

impl Waiting {
    fn take(&mut self, orders: &mut Orders, id: OrderId, volume: Volume) {
        self.orders.remove(orders, id, |order| &mut order.at_level);
        self.volume -= volume;
        self.n_orders -= 1;
    }
}

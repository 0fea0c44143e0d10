//! When orders trade, and at what price.
//!
//! A pass takes the best buy against the best sell until prices no longer cross. It has *one*
//! price: that of the last pair that had any. A pair's price is the limit of the only limit order
//! in it, or of the earlier of two; a pair of market orders has none.

use serde::{Deserialize, Serialize};

use super::MarketView;
use crate::book::Book;
use crate::ids::OrderId;
use crate::order::Side;
use crate::quantity::{Tick, Volume};

/// A buy and a sell order that trade in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// The buy order.
    pub buy: OrderId,
    /// The sell order.
    pub sell: OrderId,
    /// Units traded.
    pub volume: Volume,
}

impl MarketView {
    /// Whether a pass would trade now.
    pub(crate) fn is_executable(&self) -> bool {
        let book = &self.book;
        let (Some(buy), Some(sell)) = (book.best(Side::Buy), book.best(Side::Sell)) else {
            return false;
        };
        match (buy.tick, sell.tick) {
            (Some(bid), Some(ask)) => bid >= ask,
            (None, None) => market_orders_find_a_price(book),
            _ => true,
        }
    }

    /// Runs one pass, which must be executable, writes its fills to `fills` and returns its price
    /// in price units.
    pub(crate) fn run_pass(&mut self, fills: &mut Vec<Fill>) -> f64 {
        fills.clear();
        let mut price = None;
        while let Some((buy, sell)) = self.crossing_pair() {
            price = self.pair_tick(buy, sell).or(price);
            let volume = self.remaining(buy).min(self.remaining(sell));
            self.book.fill(buy, volume);
            self.book.fill(sell, volume);
            fills.push(Fill { buy, sell, volume });
        }
        let tick = price.expect("invariant: an executable pass has a pair with a limit order");
        let price = self.tick_size.price(tick);
        let values = self.values_mut();
        for fill in &*fills {
            values.executed_volume += fill.volume;
            values.executed_value += fill.volume.to_f64() * price;
        }
        values.last_executed_price = Some(price);
        self.refresh_prices();
        price
    }

    fn crossing_pair(&self) -> Option<(OrderId, OrderId)> {
        let buy = self.book.best(Side::Buy)?;
        let sell = self.book.best(Side::Sell)?;
        let crosses = match (buy.tick, sell.tick) {
            (Some(bid), Some(ask)) => bid >= ask,
            _ => true,
        };
        crosses.then_some((buy.order_id, sell.order_id))
    }

    /// The price of a pair. Ids count in the order of acceptance, so the lower id is the earlier
    /// order.
    fn pair_tick(&self, buy: OrderId, sell: OrderId) -> Option<Tick> {
        match (self.tick_of(buy), self.tick_of(sell)) {
            (Some(bid), Some(ask)) => Some(if buy < sell { bid } else { ask }),
            (bid, ask) => bid.or(ask),
        }
    }

    fn remaining(&self, id: OrderId) -> Volume {
        self.book.order(id).map_or(Volume::ZERO, |order| order.volume)
    }
}

/// With market orders at the top of both sides a pass needs a limit order to take its price from.
fn market_orders_find_a_price(book: &Book) -> bool {
    let (buy, sell) = (book.market_volume(Side::Buy), book.market_volume(Side::Sell));
    if buy == sell {
        let best_limit = |side| book.levels(side).next().map(|level| level.tick);
        return match (best_limit(Side::Buy), best_limit(Side::Sell)) {
            (Some(bid), Some(ask)) => bid >= ask,
            _ => false,
        };
    }
    let (shorter, shortfall) =
        if buy < sell { (Side::Buy, sell - buy) } else { (Side::Sell, buy - sell) };
    book.limit_volume(shorter) >= shortfall
}

//! When orders trade, and at what price.
//!
//! A pass takes the best buy against the best sell until prices no longer cross. It has *one*
//! price: that of the last pair that had any. A pair's price is the limit of the only limit order
//! in it, or of the earlier of two; a pair of market orders has none.

use super::MarketView;
use crate::book::{Best, Book, Fill};
use crate::order::Side;

impl MarketView {
    /// Whether a pass would trade now.
    pub(crate) fn is_executable(&self) -> bool {
        let book = &self.book;
        if let (Some(bid), Some(ask)) = (book.touch(Side::Buy), book.touch(Side::Sell)) {
            return bid >= ask;
        }
        match (book.best(Side::Buy), book.best(Side::Sell)) {
            (Some(Best { tick: None, .. }), Some(Best { tick: None, .. })) => {
                market_orders_find_a_price(book)
            }
            (buy, sell) => buy.is_some() && sell.is_some(),
        }
    }

    /// Runs one pass, which must be executable, writes its fills to `fills` and returns its price
    /// in price units.
    pub(crate) fn run_pass(&mut self, fills: &mut Vec<Fill>) -> f64 {
        fills.clear();
        let mut price = None;
        while let Some(fill) = self.book.match_best() {
            price = fill.tick.or(price);
            fills.push(fill);
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
}

/// With market orders at the top of both sides a pass needs a limit order to take its price from.
fn market_orders_find_a_price(book: &Book) -> bool {
    let (buy, sell) = (book.market_volume(Side::Buy), book.market_volume(Side::Sell));
    if buy == sell {
        return match (book.best_limit(Side::Buy), book.best_limit(Side::Sell)) {
            (Some(bid), Some(ask)) => bid >= ask,
            _ => false,
        };
    }
    let (shorter, shortfall) =
        if buy < sell { (Side::Buy, sell - buy) } else { (Side::Sell, buy - sell) };
    book.limit_volume(shorter) >= shortfall
}

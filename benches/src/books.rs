//! The books behind one interface.

use bourse_book::types as bourse;
use pams_core::{AgentId, NewOrder, OrderId, Side, Step, Tick, Volume};

use crate::stream::Message;
use crate::{Digest, Peer};

/// Ours, which forgets what has left when its clock moves.
pub struct Ours {
    book: pams_core::Book,
    time: Step,
}

/// How many messages arrive in a step of our clock.
const STEP: usize = 1_000;

impl Peer for Ours {
    fn new() -> Self {
        Self { book: pams_core::Book::new(Some(0)), time: Step::ZERO }
    }

    fn take(&mut self, number: usize, message: Message, trades: &mut Digest) {
        if number % STEP == 0 {
            self.time = self.time.next();
            self.book.expire(self.time, |_, _| ());
        }
        match message {
            Message::Add { buys, tick, volume } => {
                let side = if buys { Side::Buy } else { Side::Sell };
                self.book.place(NewOrder {
                    agent: AgentId(number as u32 % 100),
                    side,
                    tick: Some(Tick(tick.into())),
                    volume: Volume(volume.into()),
                    placed_at: self.time,
                    time_to_live: None,
                });
                while let Some(fill) = self.book.match_best() {
                    let (taker, maker) =
                        if buys { (fill.buy, fill.sell) } else { (fill.sell, fill.buy) };
                    let tick = fill.tick.expect("limit orders have a price");
                    trades.add(taker.0, maker.0, tick.0 as u64, fill.volume.0);
                }
            }
            Message::Cancel(order) => self.book.cancel(OrderId(order.into())),
        }
    }
}

/// Keeps all orders and trades.
pub struct Bourse(bourse_book::OrderBook);

impl Peer for Bourse {
    fn new() -> Self {
        Self(bourse_book::OrderBook::new(0, 1, true))
    }

    fn take(&mut self, number: usize, message: Message, _trades: &mut Digest) {
        // Orders of one price are ordered by time, so each needs its own.
        self.0.set_time(number as u64);
        match message {
            Message::Add { buys, tick, volume } => {
                let side = if buys { bourse::Side::Bid } else { bourse::Side::Ask };
                let trader = number as u32 % 100;
                self.0.create_and_place_order(side, volume, trader, Some(tick)).expect("a price");
            }
            Message::Cancel(order) => self.0.cancel_order(order as usize),
        }
    }

    fn rest(&self, trades: &mut Digest) {
        for trade in self.0.get_trades() {
            let (taker, maker) = (trade.active_order_id as u64, trade.passive_order_id as u64);
            trades.add(taker, maker, trade.price.into(), trade.vol.into());
        }
    }
}

/// Hands its trades out in a vector for each order.
pub struct Lobster {
    book: lobster::OrderBook,
    n_added: u128,
}

impl Peer for Lobster {
    fn new() -> Self {
        Self { book: lobster::OrderBook::default(), n_added: 0 }
    }

    fn take(&mut self, _number: usize, message: Message, trades: &mut Digest) {
        let event = match message {
            Message::Add { buys, tick, volume } => {
                let side = if buys { lobster::Side::Bid } else { lobster::Side::Ask };
                let (price, qty) = (tick.into(), volume.into());
                let id = self.n_added;
                self.n_added += 1;
                self.book.execute(lobster::OrderType::Limit { id, side, qty, price })
            }
            Message::Cancel(order) => {
                self.book.execute(lobster::OrderType::Cancel { id: order.into() })
            }
        };
        if let lobster::OrderEvent::Filled { fills, .. }
        | lobster::OrderEvent::PartiallyFilled { fills, .. } = event
        {
            for fill in fills {
                trades.add(fill.order_1 as u64, fill.order_2 as u64, fill.price, fill.qty);
            }
        }
    }
}

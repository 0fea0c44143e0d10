//! An order that was meant otherwise.

use super::{Event, EventContext, EventResult, Hook, HookPoint};
use crate::ids::MarketId;
use crate::order::{IncomingOrder, OrderKind, OrderRequest, Side};
use crate::quantity::{Step, Volume};

/// Turns the first order that reaches a market at one step into a large limit order far from the
/// market price. If none comes at that step, nothing ever happens.
#[derive(Clone, Debug)]
pub struct OrderMistakeShock {
    target: MarketId,
    step: Step,
    rate: f64,
    volume: Volume,
    time_to_live: u64,
    happened: bool,
}

impl OrderMistakeShock {
    /// A mistake at `step`, counted from the beginning of the simulation: the order becomes a buy
    /// when `rate` is positive, else a sell, at the market price times `1 + rate`. A
    /// `time_to_live` of 0 steps lives in that step only.
    #[must_use]
    pub fn new(target: MarketId, step: Step, rate: f64, volume: Volume, time_to_live: u64) -> Self {
        Self { target, step, rate, volume, time_to_live, happened: false }
    }
}

impl Event for OrderMistakeShock {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::during(HookPoint::BeforeOrder, self.step..self.step.next())]
    }

    fn before_order(
        &mut self,
        context: &mut EventContext<'_>,
        order: &mut IncomingOrder,
    ) -> EventResult {
        if order.request.market != self.target || self.happened {
            return Ok(());
        }
        self.happened = true;
        order.request = OrderRequest {
            market: self.target,
            side: if self.rate > 0.0 { Side::Buy } else { Side::Sell },
            kind: OrderKind::Limit {
                price: context.market(self.target).market_price() * (1.0 + self.rate),
            },
            volume: self.volume,
            time_to_live: Some(self.time_to_live),
        };
        Ok(())
    }
}

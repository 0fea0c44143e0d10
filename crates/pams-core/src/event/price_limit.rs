//! Limits to how far a limit order may stand from the opening price.

use super::{Event, EventContext, EventResult, Hook, HookPoint};
use crate::ids::MarketId;
use crate::order::{IncomingOrder, OrderKind};

/// Moves limit prices into `[P₀(1−r), P₀(1+r)]`, where P₀ is the market price at time 0, before
/// they are rounded to the grid. Market orders and markets outside the targets are left alone.
#[derive(Clone, Debug)]
pub struct PriceLimitRule {
    targets: Vec<MarketId>,
    rate: f64,
}

impl PriceLimitRule {
    /// A rule for `targets` with a relative width of `rate` to each side.
    #[must_use]
    pub fn new(targets: Vec<MarketId>, rate: f64) -> Self {
        Self { targets, rate }
    }
}

impl Event for PriceLimitRule {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::always(HookPoint::BeforeOrder)]
    }

    fn before_order(
        &mut self,
        context: &mut EventContext<'_>,
        order: &mut IncomingOrder,
    ) -> EventResult {
        let request = &mut order.request;
        if let OrderKind::Limit { price } = &mut request.kind
            && self.targets.contains(&request.market)
        {
            let opening = context.market(request.market).opening_price();
            let (lowest, highest) = (opening * (1.0 - self.rate), opening * (1.0 + self.rate));
            if *price < lowest {
                *price = lowest;
            } else if *price > highest {
                *price = highest;
            }
        }
        Ok(())
    }
}

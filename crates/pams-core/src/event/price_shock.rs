//! A sudden change of a fundamental price.

use std::ops::Range;

use super::{Event, EventContext, EventResult, Hook, HookPoint};
use crate::ids::MarketId;
use crate::quantity::Step;

/// Multiplies a spot market's fundamental price by `1 + rate` before each step of a range.
#[derive(Clone, Debug)]
pub struct FundamentalPriceShock {
    target: MarketId,
    steps: Range<Step>,
    rate: f64,
}

impl FundamentalPriceShock {
    /// A shock to `target` at each of `steps`, counted from the beginning of the simulation.
    #[must_use]
    pub fn new(target: MarketId, steps: Range<Step>, rate: f64) -> Self {
        Self { target, steps, rate }
    }
}

impl Event for FundamentalPriceShock {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::during(HookPoint::BeforeStep, self.steps.clone())]
    }

    fn before_step(&mut self, context: &mut EventContext<'_>, market: MarketId) -> EventResult {
        if market == self.target {
            let price = context.market(market).fundamental_price() * (1.0 + self.rate);
            context.set_fundamental_price(market, price);
        }
        Ok(())
    }
}

//! Circuit breakers.

use super::{Event, EventContext, EventResult, Hook, HookPoint};
use crate::ids::MarketId;
use crate::quantity::Step;
use crate::record::ExecutionRecord;

/// Stops all target markets for a while when a fill moves one of them too far from its opening
/// price. Each further halt needs a move that is larger by the same amount.
///
/// With P₀ the market price at time 0, P the price after the pass and n halts so far, a halt
/// begins when `|P₀ − P| ≥ P₀·r·(n+1)`. Orders are accepted while trading is halted.
#[derive(Clone, Debug)]
pub struct TradingHaltRule {
    targets: Vec<MarketId>,
    rate: f64,
    halting_steps: u64,
    n_halts: u32,
    halted_since: Option<Step>,
}

impl TradingHaltRule {
    /// A rule for `targets` with threshold `rate`, halting for `halting_steps` steps after the one
    /// in which it acts.
    #[must_use]
    pub fn new(targets: Vec<MarketId>, rate: f64, halting_steps: u64) -> Self {
        Self { targets, rate, halting_steps, n_halts: 0, halted_since: None }
    }

    fn set_targets(&self, context: &mut EventContext<'_>, running: bool) {
        for &target in &self.targets {
            context.set_running(target, running);
        }
    }
}

impl Event for TradingHaltRule {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::always(HookPoint::AfterExecution), Hook::always(HookPoint::BeforeStep)]
    }

    fn after_execution(
        &mut self,
        context: &mut EventContext<'_>,
        fill: &ExecutionRecord,
    ) -> EventResult {
        if !self.targets.contains(&fill.market) {
            return Ok(());
        }
        let market = context.market(fill.market);
        let opening = market.opening_price();
        let moved = (opening - market.market_price()).abs();
        if market.is_running() && moved >= opening * self.rate * f64::from(self.n_halts + 1) {
            self.n_halts += 1;
            self.halted_since = Some(context.time());
            self.set_targets(context, false);
        }
        Ok(())
    }

    fn before_step(&mut self, context: &mut EventContext<'_>, market: MarketId) -> EventResult {
        if let Some(start) = self.halted_since
            && self.targets.contains(&market)
        {
            if context.time() > start.saturating_add(self.halting_steps) {
                let running = context.session_executes();
                self.set_targets(context, running);
                self.halted_since = None;
            } else {
                self.set_targets(context, false);
            }
        }
        Ok(())
    }
}

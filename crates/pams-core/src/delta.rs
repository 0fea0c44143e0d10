//! What changed in the markets, so that copies elsewhere can follow.
//!
//! A change is a call of one deterministic method of [`MarketView`], so a replica that applies
//! the changes of every step equals the market itself, its book and series included. What a change
//! costs to send does not depend on the length of the history or the depth of the book.

use serde::{Deserialize, Serialize};

use crate::book::{Fill, NewOrder};
use crate::ids::{MarketId, OrderId};
use crate::market::{FieldValue, MarketView};

/// One change of one market.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketChange(pub(crate) Change);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Change {
    ClockMoved { fundamental_price: f64 },
    Placed(NewOrder),
    Canceled(OrderId),
    PassRan,
    Running(bool),
    MarketPrice(f64),
    FundamentalPrice(f64),
    Field(String, FieldValue),
}

/// Everything that changed in the markets since the last delta was taken, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepDelta {
    pub(crate) changes: Vec<(MarketId, MarketChange)>,
}

impl StepDelta {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Brings replicas up to date.
    ///
    /// # Panics
    ///
    /// If the replicas are not what the markets were when the delta began.
    pub fn apply(&self, replicas: &mut [MarketView]) {
        let mut fills = Vec::new();
        for (market, MarketChange(change)) in &self.changes {
            replicas[market.index()].apply(change, &mut fills);
        }
    }
}

impl MarketView {
    fn apply(&mut self, change: &Change, fills: &mut Vec<Fill>) {
        match change {
            Change::ClockMoved { fundamental_price } => {
                self.move_clock(*fundamental_price, |_, _| ());
            }
            Change::Placed(order) => {
                self.place(*order);
            }
            Change::Canceled(id) => self.cancel(*id),
            Change::PassRan => {
                self.run_pass(fills);
            }
            Change::Running(running) => self.set_running(*running),
            Change::MarketPrice(price) => self.set_market_price(*price),
            Change::FundamentalPrice(price) => self.set_fundamental_price(*price),
            Change::Field(name, value) => self.set_field(name.clone(), value.clone()),
        }
    }
}

/// Collects changes, if anybody wants them.
#[derive(Debug, Default)]
pub(crate) struct DeltaLog(Option<StepDelta>);

impl DeltaLog {
    pub(crate) fn enable(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(crate) fn take(&mut self) -> StepDelta {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, market: MarketId, change: impl FnOnce() -> Change) {
        if let Some(delta) = &mut self.0 {
            delta.changes.push((market, MarketChange(change())));
        }
    }
}

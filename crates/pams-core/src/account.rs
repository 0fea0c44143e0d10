//! What an agent owns: cash and holdings. Bookkeeping only, both may go negative.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::MarketId;
use crate::quantity::Volume;

/// An agent's cash and its holdings in the markets that it may trade in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    cash: f64,
    /// Ascending by id; shared by the agents of a group.
    markets: Arc<[MarketId]>,
    /// Units held, one entry for each of `markets`.
    holdings: Box<[i64]>,
}

impl Account {
    /// An account of an agent that may trade in `markets`, which must ascend.
    ///
    /// # Panics
    ///
    /// If the markets do not ascend.
    #[must_use]
    pub fn new(cash: f64, markets: Arc<[MarketId]>) -> Self {
        assert!(markets.is_sorted_by(|a, b| a < b), "the markets of an account ascend by id");
        let holdings = vec![0; markets.len()].into();
        Self { cash, markets, holdings }
    }

    /// Cash in price units.
    #[must_use]
    pub fn cash(&self) -> f64 {
        self.cash
    }

    /// The markets that the agent may trade in, ascending by id.
    #[must_use]
    pub fn markets(&self) -> &[MarketId] {
        &self.markets
    }

    /// Units held of a market's asset; none when the agent may not trade there.
    #[must_use]
    pub fn holding(&self, market: MarketId) -> Option<i64> {
        self.position(market).map(|position| self.holdings[position])
    }

    /// All holdings in units, ascending by market id.
    pub fn holdings(&self) -> impl Iterator<Item = (MarketId, i64)> + '_ {
        self.markets.iter().copied().zip(self.holdings.iter().copied())
    }

    /// Sets what the agent holds at the start.
    ///
    /// # Panics
    ///
    /// If the agent may not trade in that market.
    pub fn set_holding(&mut self, market: MarketId, units: i64) {
        *self.holding_mut(market) = units;
    }

    /// Whether the agent may trade in a market.
    #[must_use]
    pub fn can_trade(&self, market: MarketId) -> bool {
        self.position(market).is_some()
    }

    /// Pays for `volume` units at `price` and takes them.
    pub(crate) fn buy(&mut self, market: MarketId, price: f64, volume: Volume) {
        self.cash -= price * volume.to_f64();
        *self.holding_mut(market) += volume.signed();
    }

    /// Gives `volume` units and is paid `price` for each.
    pub(crate) fn sell(&mut self, market: MarketId, price: f64, volume: Volume) {
        self.cash += price * volume.to_f64();
        *self.holding_mut(market) -= volume.signed();
    }

    fn holding_mut(&mut self, market: MarketId) -> &mut i64 {
        let position = self.position(market).expect("invariant: checked when the order came in");
        &mut self.holdings[position]
    }

    fn position(&self, market: MarketId) -> Option<usize> {
        match *self.markets {
            [only] => (only == market).then_some(0),
            ref markets => markets.binary_search(&market).ok(),
        }
    }
}

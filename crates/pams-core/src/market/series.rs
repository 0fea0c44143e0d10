//! What a market keeps of every step, and how far back one may look.

use serde::{Deserialize, Serialize};

use super::MarketView;
use crate::quantity::{Step, Volume};

/// One step of one market. The current step's values change while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepValues {
    /// The price that counts, in price units.
    pub market_price: f64,
    /// The fundamental price, in price units.
    pub fundamental_price: f64,
    /// The price of the latest fill up to this step, in price units; none before the first.
    pub last_executed_price: Option<f64>,
    /// Half the sum of best bid and best ask at the last order, cancel or fill, in price units.
    pub mid_price: Option<f64>,
    /// Units traded in this step.
    pub executed_volume: Volume,
    /// Price times units traded in this step, in price units.
    pub executed_value: f64,
    /// Units traded in all steps before this one.
    pub volume_before: Volume,
    /// Price times units traded in all steps before this one, in price units.
    pub value_before: f64,
    /// Buy orders accepted in this step.
    pub n_buy_orders: u64,
    /// Sell orders accepted in this step.
    pub n_sell_orders: u64,
}

impl StepValues {
    pub(super) fn first(market_price: f64, fundamental_price: f64, executed: Volume) -> Self {
        Self {
            market_price,
            fundamental_price,
            last_executed_price: None,
            mid_price: None,
            executed_volume: executed,
            executed_value: 0.0,
            volume_before: Volume::ZERO,
            value_before: 0.0,
            n_buy_orders: 0,
            n_sell_orders: 0,
        }
    }

    /// The values that the step after this one starts with.
    pub(super) fn carried(&self, fundamental_price: f64, running: bool) -> Self {
        let followed = if running { self.last_executed_price.or(self.mid_price) } else { None };
        Self {
            market_price: followed.unwrap_or(self.market_price),
            fundamental_price,
            executed_volume: Volume::ZERO,
            executed_value: 0.0,
            volume_before: self.volume_before + self.executed_volume,
            value_before: self.value_before + self.executed_value,
            n_buy_orders: 0,
            n_sell_orders: 0,
            ..*self
        }
    }
}

/// Why a value of another step can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The step has not come yet.
    #[error("step {asked} is in the future: the clock stands at {now}")]
    Future {
        /// The step asked for.
        asked: Step,
        /// The current step.
        now: Step,
    },
    /// There never was such a step.
    #[error("there is no step {asked}: time begins at 0")]
    BeforeStart {
        /// The step asked for.
        asked: Step,
    },
    /// The step lies further back than what is kept.
    #[error(
        "step {asked} is no longer kept: the history window reaches back to step {oldest} \
         (make simulation.historyWindow larger)"
    )]
    Forgotten {
        /// The step asked for.
        asked: Step,
        /// The oldest step that is kept.
        oldest: Step,
    },
}

impl MarketView {
    /// The values of the current step.
    ///
    /// # Panics
    ///
    /// Before time 0, when no agent or event is asked anything.
    #[must_use]
    pub fn values(&self) -> &StepValues {
        self.steps.last().expect("invariant: values are read from time 0 on")
    }

    pub(super) fn values_mut(&mut self) -> &mut StepValues {
        self.steps.last_mut().expect("invariant: values are written from time 0 on")
    }

    /// The values of a step, past or current.
    ///
    /// # Errors
    ///
    /// When the step is in the future, before time 0, or no longer kept.
    pub fn values_at(&self, step: Step) -> Result<&StepValues, HistoryError> {
        if step > self.time {
            return Err(HistoryError::Future { asked: step, now: self.time });
        }
        let number =
            u64::try_from(step.0).map_err(|_| HistoryError::BeforeStart { asked: step })?;
        self.steps.get(number).ok_or_else(|| HistoryError::Forgotten {
            asked: step,
            oldest: Step(i64::try_from(self.steps.first()).unwrap_or(i64::MAX)),
        })
    }

    /// The current market price, in price units.
    #[must_use]
    pub fn market_price(&self) -> f64 {
        self.values().market_price
    }

    /// The current fundamental price, in price units.
    #[must_use]
    pub fn fundamental_price(&self) -> f64 {
        self.values().fundamental_price
    }

    /// The stored mid price, in price units: made at the last order, cancel or fill, not at an
    /// expiration; none when a side was empty or had a market order at its top.
    #[must_use]
    pub fn mid_price(&self) -> Option<f64> {
        self.values().mid_price
    }

    /// The price of the latest fill, in price units; none before the first.
    #[must_use]
    pub fn last_executed_price(&self) -> Option<f64> {
        self.values().last_executed_price
    }

    /// The market price of time 0, in price units, however long ago that is.
    #[must_use]
    pub fn opening_price(&self) -> f64 {
        if self.time > Step::ZERO { self.opening_price } else { self.market_price() }
    }

    /// The volume-weighted average price of all fills from time 0 to the end of `step` (or now, in
    /// the current step), in price units: Σ price·units / Σ units. NaN while nothing has traded.
    ///
    /// # Errors
    ///
    /// As [`MarketView::values_at`].
    pub fn vwap_at(&self, step: Step) -> Result<f64, HistoryError> {
        let values = self.values_at(step)?;
        let volume = values.volume_before + values.executed_volume;
        if volume.is_zero() {
            return Ok(f64::NAN);
        }
        Ok((values.value_before + values.executed_value) / volume.to_f64())
    }

    /// Units traded in the steps from `first` to the current one.
    ///
    /// # Errors
    ///
    /// As [`MarketView::values_at`].
    pub fn executed_volume_since(&self, first: Step) -> Result<Volume, HistoryError> {
        let before = self.values_at(first)?.volume_before;
        let now = self.values();
        Ok(now.volume_before + now.executed_volume - before)
    }

    /// How many steps before the current one are kept; all when none.
    #[must_use]
    pub fn history_window(&self) -> Option<u64> {
        self.history_window
    }
}

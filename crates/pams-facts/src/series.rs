//! What a market did, one entry for each step.

use crate::error::{Error, ErrorKind};

/// What one market of one run did, in columns with one entry for each step.
///
/// A column that was not recorded is empty. Where there is no value, as the best buy price of an
/// empty book, stands NaN. Prices are in price units, volumes in units of the asset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarketSeries {
    /// The market's name.
    pub name: String,
    /// The step's time.
    pub step: Vec<i64>,
    /// The market price at the end of the step.
    pub price: Vec<f64>,
    /// The mid price: half the sum of the best buy and the best sell price.
    pub mid: Vec<f64>,
    /// The fundamental price.
    pub fundamental: Vec<f64>,
    /// The volume traded in the step.
    pub volume: Vec<f64>,
    /// The volume bought minus the volume sold by those whose order came later and so made the trade.
    pub signed_volume: Vec<f64>,
    /// The best buy price at the end of the step.
    pub best_bid: Vec<f64>,
    /// The best sell price at the end of the step.
    pub best_ask: Vec<f64>,
    /// The volume that waits at the best buy price; 0 where nobody buys.
    pub bid_volume: Vec<f64>,
    /// The volume that waits at the best sell price; 0 where nobody sells.
    pub ask_volume: Vec<f64>,
}

/// A fill, as far as it matters who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// The number of the buy order, counted in the order of arrival.
    pub buy_order: u64,
    /// The number of the sell order.
    pub sell_order: u64,
    /// Units traded.
    pub volume: u64,
}

impl Trade {
    /// The volume with the sign of the side that made the trade: of the order that came later.
    ///
    /// Records tell who came later, so nothing has to be guessed from prices, as Lee and Ready (1991)
    /// have to.
    ///
    /// ```
    /// let trade = pams_facts::Trade { buy_order: 7, sell_order: 3, volume: 2 };
    /// assert_eq!(trade.signed_volume(), 2.0);
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "volumes of more than 2^53 units do not occur")]
    pub fn signed_volume(self) -> f64 {
        let volume = self.volume as f64;
        if self.buy_order > self.sell_order { volume } else { -volume }
    }
}

impl MarketSeries {
    /// A series of which only prices are known, as those of a real market.
    #[must_use]
    pub fn from_prices(name: impl Into<String>, price: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            step: (0_i64..).take(price.len()).collect(),
            price,
            ..Self::default()
        }
    }

    /// The number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.step.len()
    }

    /// Whether there is no step.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    /// The series without the steps before the time `first`, such as those of a warm-up.
    #[must_use]
    pub fn from_step(&self, first: i64) -> Self {
        let begin = self.step.partition_point(|&step| step < first);
        let rest = |column: &Vec<f64>| column.get(begin..).unwrap_or_default().to_vec();
        Self {
            name: self.name.clone(),
            step: self.step[begin..].to_vec(),
            price: rest(&self.price),
            mid: rest(&self.mid),
            fundamental: rest(&self.fundamental),
            volume: rest(&self.volume),
            signed_volume: rest(&self.signed_volume),
            best_bid: rest(&self.best_bid),
            best_ask: rest(&self.best_ask),
            bid_volume: rest(&self.bid_volume),
            ask_volume: rest(&self.ask_volume),
        }
    }

    /// Checks that each column is empty or has an entry for each step.
    ///
    /// # Errors
    ///
    /// Names the first column of which that is not true.
    pub fn check(&self) -> Result<(), Error> {
        let columns = [
            ("price", &self.price),
            ("mid", &self.mid),
            ("fundamental", &self.fundamental),
            ("volume", &self.volume),
            ("signed_volume", &self.signed_volume),
            ("best_bid", &self.best_bid),
            ("best_ask", &self.best_ask),
            ("bid_volume", &self.bid_volume),
            ("ask_volume", &self.ask_volume),
        ];
        let steps = self.len();
        match columns.into_iter().find(|(_, column)| ![0, steps].contains(&column.len())) {
            None => Ok(()),
            Some((name, column)) => {
                let (market, n) = (&self.name, column.len());
                let message =
                    format!("market {market} has {steps} steps, but {n} values of {name}");
                Err(Error::new(ErrorKind::Lengths, message))
            }
        }
    }
}

//! All facts of one market of one run.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::autocorrelation::{autocorrelation, decay, ljung_box};
use crate::error::Error;
use crate::fundamental::deviation;
use crate::liquidity::{imbalance, imbalance_foretells, price_impact, spread, volume_volatility};
use crate::returns::{log_returns, sizes};
use crate::series::MarketSeries;
use crate::statistics::{count, mean, moments};
use crate::tail::{Tail, tail_index};

/// How facts are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which prices returns are made from. By default, market prices.
    pub price: Price,
    /// The steps that one return spans. By default, 1.
    pub horizon: usize,
    /// The lags whose autocorrelations are facts. By default, 1, 2, 5, 10, 20 and 50.
    pub lags: Vec<usize>,
    /// The largest lag of correlograms, and of the fit of the decay. By default, 50.
    pub max_lag: usize,
    /// The part of the returns that is the tail. By default, 0.05.
    pub tail_fraction: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            price: Price::Market,
            horizon: 1,
            lags: vec![1, 2, 5, 10, 20, 50],
            max_lag: 50,
            tail_fraction: 0.05,
        }
    }
}

/// Which prices returns are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// The market price, which is that of the latest fill; it jumps between buyers' and sellers' prices.
    Market,
    /// The mid price, which does not.
    Mid,
}

/// The unit of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A pure number.
    None,
    /// Price units.
    Price,
    /// 1/10 000.
    BasisPoints,
    /// Units of the asset.
    Volume,
    /// Price units per unit of the asset.
    PricePerVolume,
}

impl Unit {
    /// How the unit is written; nothing for a pure number.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Price => "price",
            Self::BasisPoints => "bp",
            Self::Volume => "units",
            Self::PricePerVolume => "price/unit",
        }
    }
}

/// A value in a table for people: about five significant digits; a dash where there is no value.
///
/// ```
/// assert_eq!(pams_facts::show(0.012345678), "0.012346");
/// assert_eq!(pams_facts::show(f64::NAN), "–");
/// ```
#[must_use]
pub fn show(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "\u{2013}".to_owned(),
        0.0 => "0".to_owned(),
        1e-4..1.0 => {
            let text = format!("{value:.6}");
            text.trim_end_matches('0').to_owned()
        }
        1.0..1e7 => {
            let digits = if size < 10.0 {
                4
            } else if size < 1000.0 {
                3
            } else {
                1
            };
            let text = format!("{value:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.4e}"),
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A number with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Group and name, such as `returns.skewness`.
    pub key: String,
    /// The unit of the value.
    pub unit: Unit,
    /// NaN where what it is made from is missing, or where its formula has no value.
    pub value: f64,
}

/// Autocorrelations from lag 0 on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlograms {
    /// Of returns.
    pub returns: Vec<f64>,
    /// Of the sizes of returns.
    pub absolute: Vec<f64>,
    /// Of the squares of returns.
    pub squared: Vec<f64>,
}

/// The facts of one market of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The market's name.
    pub market: String,
    /// The facts; which there are and their order depends on the options only.
    pub facts: Vec<Fact>,
    /// Autocorrelations, also of the lags that are no facts.
    pub correlograms: Correlograms,
}

impl Facts {
    /// Computes all facts of `series`.
    ///
    /// # Errors
    ///
    /// If columns have different lengths.
    pub fn of(series: &MarketSeries, options: &Options) -> Result<Self, Error> {
        series.check()?;
        let prices = match options.price {
            Price::Market => &series.price,
            Price::Mid => &series.mid,
        };
        let returns = log_returns(prices, options.horizon);
        let correlograms = Correlograms::of(&returns, options.max_lag);
        let mut list = List(Vec::new());
        list.returns(&returns, options);
        list.correlations(&correlograms, &options.lags);
        list.clustering(&returns, &correlograms);
        list.volume(series, prices, options);
        list.liquidity(series);
        list.impact(series, options);
        list.deviation(series);
        Ok(Self { market: series.name.clone(), facts: list.0, correlograms })
    }

    /// The value of the fact `key`, if there is such a fact.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<f64> {
        self.facts.iter().find(|fact| fact.key == key).map(|fact| fact.value)
    }
}

impl Correlograms {
    /// The autocorrelations of `returns`, of their sizes and of their squares up to `max_lag`.
    #[must_use]
    pub fn of(returns: &[f64], max_lag: usize) -> Self {
        let squares: Vec<f64> = returns.iter().map(|value| value * value).collect();
        Self {
            returns: autocorrelation(returns, max_lag),
            absolute: autocorrelation(&sizes(returns), max_lag),
            squared: autocorrelation(&squares, max_lag),
        }
    }
}

/// The list that grows.
struct List(Vec<Fact>);

impl List {
    fn push(&mut self, key: impl Into<String>, unit: Unit, value: f64) {
        self.0.push(Fact { key: key.into(), unit, value });
    }

    fn returns(&mut self, returns: &[f64], options: &Options) {
        let moments = moments(returns);
        self.push("returns.count", Unit::None, count(moments.count));
        self.push("returns.mean", Unit::None, moments.mean);
        self.push("returns.standard_deviation", Unit::None, moments.standard_deviation);
        self.push("returns.skewness", Unit::None, moments.skewness);
        self.push("returns.excess_kurtosis", Unit::None, moments.excess_kurtosis);
        for (name, tail) in [("both", Tail::Both), ("lower", Tail::Lower), ("upper", Tail::Upper)] {
            let index = tail_index(returns, tail, options.tail_fraction);
            self.push(format!("tail_index.{name}"), Unit::None, index);
        }
    }

    fn correlations(&mut self, correlograms: &Correlograms, lags: &[usize]) {
        let all = [
            ("returns", &correlograms.returns),
            ("absolute", &correlograms.absolute),
            ("squared", &correlograms.squared),
        ];
        for (name, values) in all {
            for lag in lags {
                let value = values.get(*lag).copied().unwrap_or(f64::NAN);
                self.push(format!("autocorrelation.{name}.{lag}"), Unit::None, value);
            }
        }
    }

    fn clustering(&mut self, returns: &[f64], correlograms: &Correlograms) {
        let test = ljung_box(&sizes(returns));
        let decay = decay(&correlograms.absolute);
        let of_decay = |value: fn(crate::Line) -> f64| decay.map_or(f64::NAN, value);
        self.push("clustering.ljung_box", Unit::None, test.statistic);
        self.push("clustering.p_value", Unit::None, test.p_value);
        self.push("clustering.decay", Unit::None, of_decay(|line| -line.slope));
        self.push("clustering.decay_lags", Unit::None, of_decay(|line| count(line.count)));
        self.push("clustering.decay_r_squared", Unit::None, of_decay(|line| line.r_squared));
    }

    fn volume(&mut self, series: &MarketSeries, prices: &[f64], options: &Options) {
        let correlation = volume_volatility(prices, &series.volume, options.horizon);
        self.push("volume.mean", Unit::Volume, mean(&series.volume));
        self.push("volume.volatility_correlation", Unit::None, correlation);
    }

    fn liquidity(&mut self, series: &MarketSeries) {
        let spread = spread(&series.best_bid, &series.best_ask);
        self.push("spread.quoted", Unit::Price, spread.quoted);
        self.push("spread.relative", Unit::BasisPoints, spread.relative);
        self.push("spread.two_sided", Unit::None, spread.two_sided);
        self.push("depth.bid", Unit::Volume, mean(&series.bid_volume));
        self.push("depth.ask", Unit::Volume, mean(&series.ask_volume));
        let imbalance = imbalance(&series.bid_volume, &series.ask_volume);
        let foretells = imbalance_foretells(&imbalance, &series.mid);
        self.push("imbalance.mean", Unit::None, mean(&imbalance));
        self.push("imbalance.absolute", Unit::None, mean(&sizes(&imbalance)));
        self.push("imbalance.foretells", Unit::None, foretells);
    }

    fn impact(&mut self, series: &MarketSeries, options: &Options) {
        let line = price_impact(&series.mid, &series.signed_volume, options.horizon);
        self.push("impact.lambda", Unit::PricePerVolume, line.slope);
        self.push("impact.standard_error", Unit::PricePerVolume, line.slope_standard_error);
        self.push("impact.r_squared", Unit::None, line.r_squared);
    }

    fn deviation(&mut self, series: &MarketSeries) {
        let deviation = deviation(&series.price, &series.fundamental);
        self.push("deviation.mean_absolute", Unit::Price, deviation.mean_absolute);
        self.push("deviation.root_mean_square", Unit::Price, deviation.root_mean_square);
        self.push("deviation.relative_absolute", Unit::None, deviation.relative_absolute);
        self.push("deviation.relative", Unit::None, deviation.relative);
    }
}

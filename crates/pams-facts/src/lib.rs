//! The stylised facts of a market, and pictures of it.
//!
//! ```
//! use pams_facts::{Facts, MarketSeries, Options};
//!
//! let series = MarketSeries::from_prices("spot", vec![300.0, 301.0, 299.5, 300.5]);
//! let facts = Facts::of(&series, &Options::default())?;
//! assert_eq!(facts.value("returns.count"), Some(3.0));
//! # Ok::<(), pams_facts::Error>(())
//! ```
//!
//! # Concepts
//!
//! A [`MarketSeries`] is what one market of one run did, step by step. [`Facts::of`] computes everything
//! that the literature looks at; each number comes from a function of its own, whose documentation has
//! formula, source and unit. [`bands`] tells what several seeds say together, and [`Prices`] reads real
//! prices to stand beside.
//!
//! A [`Report`] is a run to look at. [`Report::charts`] draws it as SVG, [`Report::page`] puts the charts
//! and the facts into one HTML page that needs nothing else, [`Report::sheet`] into one SVG.
//!
//! # Features
//!
//! `png`, on by default: [`png()`] makes PNG from SVG, with a font that is part of this crate.
//!
//! # Limits
//!
//! This crate computes and draws. It knows no simulator and no run folder, reads and writes no file and
//! prints nothing: who calls it hands columns in and gets numbers and texts back.
#![forbid(unsafe_code)]

mod autocorrelation;
mod bands;
mod error;
mod facts;
mod fundamental;
mod liquidity;
mod plot;
mod prices;
mod returns;
mod series;
mod statistics;
mod tail;

pub use autocorrelation::{LjungBox, autocorrelation, decay, independence_band, ljung_box};
pub use bands::{Band, bands, student_quantile};
pub use error::{Error, ErrorKind};
pub use facts::{Correlograms, Fact, Facts, Options, Price, Unit, show};
pub use fundamental::{Deviation, deviation};
pub use liquidity::{
    Spread, imbalance, imbalance_foretells, price_impact, spread, volume_volatility,
};
#[cfg(feature = "png")]
pub use plot::png;
pub use plot::{Chart, DepthLevel, Mark, MarketReport, Report, Side};
pub use prices::Prices;
pub use returns::{changes, log_returns, sums};
pub use series::{MarketSeries, Trade};
pub use statistics::{Line, Moments, correlation, line, mean, moments};
pub use tail::{Tail, tail_index};

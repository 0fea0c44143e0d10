//! Pictures of a run: each chart as SVG, all of them as one HTML page or one SVG sheet.

mod canvas;
mod correlogram;
mod depth;
mod distribution;
mod lines;
mod page;
#[cfg(feature = "png")]
mod png;
mod points;
mod sheet;

use crate::bands::Band;
use crate::error::Error;
use crate::facts::{Facts, Options, Price};
use crate::returns::log_returns;
use crate::series::MarketSeries;

#[cfg(feature = "png")]
pub use png::png;

/// A run to look at.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What it is about, such as the name of the config.
    pub title: String,
    /// What else to know about the run: seed, generator, hash, each with its name.
    pub about: Vec<(String, String)>,
    /// The markets.
    pub markets: Vec<MarketReport>,
}

/// One market of a [`Report`].
#[derive(Clone, Debug, Default)]
pub struct MarketReport {
    /// What the market did.
    pub series: MarketSeries,
    /// What waited in its book; empty if it was not recorded.
    pub depth: Vec<DepthLevel>,
    /// What happened when.
    pub marks: Vec<Mark>,
}

/// The volume that waits at one price at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthLevel {
    /// The step's time.
    pub step: i64,
    /// Who waits.
    pub side: Side,
    /// The price.
    pub price: f64,
    /// Units that wait.
    pub volume: f64,
}

/// The side of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Buy orders.
    Bid,
    /// Sell orders.
    Ask,
}

/// Something that happened at a step and is marked in charts over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The step's time.
    pub step: i64,
    /// What happened, in a few words.
    pub label: String,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A name for a file: lower case letters and hyphens.
    pub name: &'static str,
    /// The market's name.
    pub market: String,
    /// The title, which also stands in the picture.
    pub title: String,
    /// What is shown and how it was made, in a sentence or two.
    pub caption: String,
    /// The picture: a complete SVG document.
    pub svg: String,
}

impl Report {
    /// Draws the charts of all markets, those of one market one after the other.
    ///
    /// Charts for which nothing was recorded are left out: the spread without best prices, the depth map
    /// without depth, everything about returns if there are fewer than two different ones.
    ///
    /// # Errors
    ///
    /// If columns have different lengths, or a picture can't be drawn.
    pub fn charts(&self, options: &Options) -> Result<Vec<Chart>, Error> {
        let mut charts = Vec::new();
        for market in &self.markets {
            market.series.check()?;
            market.draw(options, &mut charts)?;
        }
        Ok(charts)
    }

    /// Puts charts and facts into one HTML page, which loads nothing from anywhere.
    ///
    /// `facts` are those of the markets; with `bands`, which come from several runs, their mean and
    /// confidence interval stand beside.
    #[must_use]
    pub fn page(&self, charts: &[Chart], facts: &[Facts], bands: &[(String, Vec<Band>)]) -> String {
        page::page(self, charts, facts, bands)
    }

    /// Puts charts below each other into one SVG, such as those of one market.
    #[must_use]
    pub fn sheet(&self, charts: &[Chart]) -> String {
        sheet::sheet(&self.title, charts)
    }
}

impl MarketReport {
    fn draw(&self, options: &Options, charts: &mut Vec<Chart>) -> Result<(), Error> {
        let series = &self.series;
        let mut add = |chart: Option<Chart>| charts.extend(chart);
        add(lines::prices(self)?);
        add(lines::volume(self)?);
        add(lines::spread(self)?);
        add(depth::map(self)?);
        let prices = match options.price {
            Price::Market => &series.price,
            Price::Mid => &series.mid,
        };
        let returns = log_returns(prices, options.horizon);
        add(lines::returns(self, &returns, options)?);
        add(distribution::histogram(&series.name, &returns)?);
        add(correlogram::correlogram(&series.name, &returns, options)?);
        Ok(())
    }
}

/// A text inside of HTML or SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! Run folders as what facts and pictures are made from.

use std::fs;

use pams_core::{MarketId, Side as BookSide, Step};
use pams_facts::{DepthLevel, Mark, MarketReport, MarketSeries, Side, Trade};
use pams_results::{RunFolder, SessionEvent};
use serde_json::Value as Json;

use crate::output::Failure;

/// The markets of a run, ordered by id. Levels of the book besides the best ones are only kept `for_maps`.
pub(super) fn markets(folder: &RunFolder, wants: Wants) -> Result<Vec<MarketReport>, Failure> {
    let mut markets: Vec<MarketReport> =
        folder.info().markets.iter().map(|name| named(name)).collect();
    for row in folder.steps()? {
        let row = row?;
        let Some(market) = markets.get_mut(row.record.market.index()) else { continue };
        let series = &mut market.series;
        series.step.push(row.record.time.0);
        series.price.push(row.record.market_price);
        series.fundamental.push(row.record.fundamental_price);
        series.mid.push(row.mid_price.unwrap_or(f64::NAN));
        series.best_bid.push(row.best_bid.unwrap_or(f64::NAN));
        series.best_ask.push(row.best_ask.unwrap_or(f64::NAN));
        series.volume.push(units(row.executed_volume.0));
    }
    trades(folder, &mut markets)?;
    depth(folder, &mut markets, wants)?;
    let marks = marks(folder)?;
    for market in &mut markets {
        let name = &market.series.name;
        let here = marks.iter().filter(|(target, _)| target.as_ref().is_none_or(|it| it == name));
        market.marks = here.map(|(_, mark)| mark.clone()).collect();
    }
    Ok(markets)
}

/// What is wanted of the depth of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// What waits at the best prices.
    Best,
    /// Also what waits behind them.
    Levels,
}

fn named(name: &str) -> MarketReport {
    let series = MarketSeries { name: name.to_owned(), ..MarketSeries::default() };
    MarketReport { series, ..MarketReport::default() }
}

/// Adds the signed volume of each step.
fn trades(folder: &RunFolder, markets: &mut [MarketReport]) -> Result<(), Failure> {
    for market in markets.iter_mut() {
        market.series.signed_volume = vec![0.0; market.series.len()];
    }
    for row in folder.executions()? {
        let fill = row?.record;
        let trade = Trade {
            buy_order: fill.buy_order_id.0,
            sell_order: fill.sell_order_id.0,
            volume: fill.volume.0,
        };
        if let Some((market, place)) = place(markets, fill.market, fill.time) {
            market.series.signed_volume[place] += trade.signed_volume();
        }
    }
    Ok(())
}

/// Adds what waits in the book, if it was recorded.
fn depth(folder: &RunFolder, markets: &mut [MarketReport], wants: Wants) -> Result<(), Failure> {
    let (Some(rows), Some(kept)) = (folder.depth()?, folder.info().tables.depth) else {
        return Ok(());
    };
    let every = i64::try_from(kept.every.max(1)).unwrap_or(i64::MAX);
    for MarketReport { series, .. } in markets.iter_mut() {
        // Where there was a look at the book and no level, nobody waited.
        let looks = |step: &i64| if step % every == 0 { 0.0 } else { f64::NAN };
        series.bid_volume = series.step.iter().map(looks).collect();
        series.ask_volume.clone_from(&series.bid_volume);
    }
    for row in rows {
        let row = row?;
        let Some((market, place)) = place(markets, row.market, row.time) else { continue };
        let volume = units(row.volume.0);
        let side = match row.side {
            BookSide::Buy => Side::Bid,
            BookSide::Sell => Side::Ask,
        };
        if row.level == 0 {
            match side {
                Side::Bid => market.series.bid_volume[place] = volume,
                Side::Ask => market.series.ask_volume[place] = volume,
            }
        }
        if wants == Wants::Levels {
            market.depth.push(DepthLevel { step: row.time.0, side, price: row.price, volume });
        }
    }
    Ok(())
}

/// The market, and where in its columns a step stands.
fn place(
    markets: &mut [MarketReport],
    market: MarketId,
    time: Step,
) -> Option<(&mut MarketReport, usize)> {
    let market = markets.get_mut(market.index())?;
    let place = market.series.step.binary_search(&time.0).ok()?;
    Some((market, place))
}

/// Sessions and events of the config with the market that they concern, ordered by time. Without a market
/// they concern all.
fn marks(folder: &RunFolder) -> Result<Vec<(Option<String>, Mark)>, Failure> {
    let config = config(folder)?;
    let sessions = config["simulation"]["sessions"].as_array().map_or(&[][..], Vec::as_slice);
    let mut marks = Vec::new();
    for row in folder.sessions()? {
        let row = row?;
        let (SessionEvent::SessionBegin, Some(session)) = (row.event, row.session) else {
            continue;
        };
        let begin = row.time.0;
        if let Some(name) = folder.info().sessions.get(session.index()) {
            marks.push((None, Mark { step: begin, label: format!("session {name}") }));
        }
        let events = sessions.get(session.index()).and_then(|session| session["events"].as_array());
        marks.extend(
            events.into_iter().flatten().filter_map(|event| of_event(&config, event, begin)),
        );
    }
    marks.sort_by_key(|(_, mark)| mark.step);
    Ok(marks)
}

/// An event that the config gives a time.
fn of_event(config: &Json, event: &Json, begin: i64) -> Option<(Option<String>, Mark)> {
    let name = event.as_str()?;
    let settings = &config[name];
    let step = begin.checked_add(settings["triggerTime"].as_i64()?)?;
    let target = settings["target"].as_str().map(str::to_owned);
    Some((target, Mark { step, label: name.to_owned() }))
}

fn config(folder: &RunFolder) -> Result<Json, Failure> {
    let path = folder.config_path();
    let read = fs::read_to_string(&path).map_err(|error| Failure::read(&path, &error))?;
    serde_json::from_str(&read)
        .map_err(|error| Failure::Told(format!("{} is damaged: {error}", path.display())))
}

#[expect(clippy::cast_precision_loss, reason = "volumes of more than 2^53 units do not occur")]
fn units(volume: u64) -> f64 {
    volume as f64
}

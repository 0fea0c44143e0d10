//! Market groups.

use std::collections::{BTreeMap, BTreeSet};

use pams_core::MarketId;
use serde_json::{Map, Value as Json};

use crate::block::{Block, ConfigBlock};
use crate::catalog::ClassKind;
use crate::context::Context;
use crate::node::NodeValue;
use crate::place::Place;
use crate::read::group::{self, BlockList, Group, LooseInteger, Naming};
use crate::read::{ClassKeys, Source};
use crate::reference::MarketReference;
use crate::settings::MarketGroup;
use crate::value::{Located, NonNegative, Positive};

crate::config_block! {
    /// What names the markets of a group.
    pub(crate) struct MarketNaming {
        /// How many markets the group makes; 1 when it is not given.
        pub(crate) count: Option<LooseInteger> = "numMarkets",
        /// The first number in the names; `to` goes with it, `numMarkets` does not.
        pub(crate) from: Option<i64> = "from",
        /// The last number in the names.
        pub(crate) to: Option<i64> = "to",
        /// What stands before the number; the name of the block, with `-` when it makes several, when it is not given.
        pub(crate) prefix: Option<String> = "prefix",
    }
}

crate::config_block! {
    /// What every market says.
    pub(crate) struct MarketKeys {
        /// The smallest difference of prices.
        pub(crate) tick_size: Positive = "tickSize",
        /// The market price at the start; the fundamental price when it is not given.
        pub(crate) market_price: Option<Positive> = "marketPrice",
        /// The fundamental price at the start; the market price when it is not given.
        pub(crate) fundamental_price: Option<Positive> = "fundamentalPrice",
        /// The mean of the fundamental's log return per step.
        pub(crate) fundamental_drift: f64 = "fundamentalDrift" default 0.0,
        /// The standard deviation of the fundamental's log return per step; 0 when it is not given.
        pub(crate) fundamental_volatility: Option<NonNegative> = "fundamentalVolatility",
        /// How many shares there are; a component of an index needs them.
        pub(crate) outstanding_shares: Option<u64> = "outstandingShares",
    }
}

crate::config_block! {
    /// What every index market says besides.
    pub(crate) struct IndexKeys {
        /// The names of the components, which are listed before the index.
        pub(crate) markets: Vec<Located<MarketReference>> = "markets",
    }
    deprecated { "requires": "the components are listed before the index" }
}

/// Opens the listed groups and makes their markets known by name. A group that cannot be opened has no markets.
pub(crate) fn open<'t>(
    source: Source<'t>,
    listed: BlockList,
    context: &mut Context,
) -> Vec<Option<Group<'t>>> {
    let listed = group::without_repeats(listed, context);
    let open_one = |block| {
        let group = open_group(source, block, context);
        if group.is_none() {
            let prefix = own_prefix(source, &block.value);
            for name in prefix.into_iter().chain([block.value.clone()]) {
                context.markets_mut().add_unresolved(name);
            }
        }
        group
    };
    listed.iter().map(open_one).collect()
}

/// Reads the keys of a group. `index` is its number among the groups that could be opened.
pub(crate) fn read(
    source: Source<'_>,
    group: &Group<'_>,
    index: usize,
    resolved: &mut Map<String, Json>,
    context: &mut Context,
) -> Option<MarketGroup> {
    let opened = &group.block.opened;
    let class = &group.block.class;
    let is_index = source.catalog.is_index(class);
    let mut block = Block::new(opened.place.clone(), &opened.fields, context);
    block.know(ClassKeys::keys());
    block.know(MarketNaming::keys());
    let keys = MarketKeys::read(&mut block);
    check_prices(&mut block);
    let components = if is_index { components(&mut block, group.first) } else { Some(Vec::new()) };
    let class_settings = source.catalog.read(ClassKind::Market, class, &mut block);
    block.report_unknown(&BTreeMap::from([
        ("markets", "only an index has `markets`".to_owned()),
        ("requires", "only an index has `requires`".to_owned()),
        ("numAgents", "did you mean `numMarkets`?".to_owned()),
    ]));
    resolved.insert(opened.name.clone(), block.resolved().into());

    let keys = keys?;
    let fundamental = |value| if is_index { 0.0 } else { value };
    let volatility = fundamental(keys.fundamental_volatility.map_or(0.0, NonNegative::value));
    let entry = context.markets_mut().group_mut(index);
    entry.outstanding_shares = keys.outstanding_shares;
    entry.volatility = Some(volatility);
    let components = components?;
    entry.components.clone_from(&components);
    let price = keys.market_price.or(keys.fundamental_price)?;
    Some(MarketGroup {
        block: opened.name.clone(),
        class: class.clone(),
        names: group.names.clone(),
        first_id: MarketId(u32::try_from(group.first).ok()?),
        tick_size: keys.tick_size.value(),
        market_price: price.value(),
        fundamental_price: keys.fundamental_price.unwrap_or(price).value(),
        fundamental_drift: fundamental(keys.fundamental_drift),
        fundamental_volatility: volatility,
        outstanding_shares: keys.outstanding_shares,
        components,
        class_settings: class_settings?,
    })
}

fn open_group<'t>(
    source: Source<'t>,
    listed: &Located<String>,
    context: &mut Context,
) -> Option<Group<'t>> {
    let classed = group::open(source, ClassKind::Market, listed, context)?;
    let opened = &classed.opened;
    let mut block = Block::new(opened.place.clone(), &opened.fields, context);
    let MarketNaming { count, from, to, prefix } = MarketNaming::read(&mut block)?;
    let naming = Naming { count_key: "numMarkets", count, from, to, prefix };
    let names = group::names(naming, &mut block, &opened.name)?;
    let first = context.markets().len();
    group::check_total(first, names.len(), &opened.place, ClassKind::Market, context)?;
    let is_index = source.catalog.is_index(&classed.class);
    if let Some(clash) = context.markets_mut().add(&opened.name, names.clone(), is_index) {
        let other = context.markets().groups()[clash.other].names.describe();
        let message =
            format!("the market name `{}` is taken: another group makes {other}", clash.name);
        context.problem_with_help(
            &opened.place,
            message,
            "give one of the groups another `prefix`",
        );
    }
    Some(Group { block: classed, names, first })
}

/// The prefix that a block gives itself.
fn own_prefix(source: Source<'_>, block: &str) -> Option<String> {
    let NodeValue::Object(members) = source.root.value(block)?.value() else { return None };
    match members.value("prefix")?.value() {
        NodeValue::String(prefix) => Some(prefix.clone()),
        _ => None,
    }
}

fn check_prices(block: &mut Block<'_>) {
    if !block.contains("marketPrice") && !block.contains("fundamentalPrice") {
        block.problem("marketPrice", "a market needs `marketPrice` or `fundamentalPrice`");
    }
}

/// The components of an index whose first market has the id `first`.
fn components(block: &mut Block<'_>, first: usize) -> Option<Vec<MarketId>> {
    let before = block.problem_count();
    let components = IndexKeys::read(block)?.markets;
    if components.is_empty() {
        block.problem("markets", "an index needs at least one component");
    }
    let mut seen = BTreeSet::new();
    let mut total: u64 = 0;
    let mut all_known = true;
    for Located { value: MarketReference(id), place } in &components {
        if !seen.insert(*id) {
            let name = block.markets().name(*id);
            block.context().problem(place, format!("the component `{name}` is listed twice"));
            continue;
        }
        match check_component(block, *id, first, place) {
            Some(shares) => total = total.saturating_add(shares),
            None => all_known = false,
        }
    }
    if all_known && total == 0 && !components.is_empty() {
        block.problem(
            "markets",
            "the components have no shares: all their `outstandingShares` are 0",
        );
    }
    (block.problem_count() == before)
        .then(|| components.iter().map(|component| component.value.0).collect())
}

/// The shares of a component, if it can be one.
fn check_component(
    block: &mut Block<'_>,
    id: MarketId,
    first: usize,
    place: &Place,
) -> Option<u64> {
    let name = block.markets().name(id);
    if id.index() >= first {
        let help = "list it before the index in `simulation.markets`";
        block.context().problem_with_help(
            place,
            format!("the component `{name}` is not listed before the index"),
            help,
        );
        return None;
    }
    let entry = block.markets().entry(id);
    let was_read = entry.volatility.is_some();
    let shares = entry.outstanding_shares;
    if was_read && shares.is_none() {
        let message =
            format!("the component `{name}` has no `outstandingShares`, the weights of an index");
        block.context().problem(place, message);
    }
    shares
}

//! Agent groups.

use std::collections::BTreeMap;

use pams_core::AgentId;
use pams_core::random::RandomValue;
use serde_json::{Map, Value as Json};

use crate::block::{Block, ConfigBlock};
use crate::catalog::ClassKind;
use crate::context::Context;
use crate::names::NameTable;
use crate::nearest::suggest;
use crate::read::group::{self, BlockList, Group, LooseInteger, Naming};
use crate::read::{ClassKeys, Source};
use crate::settings::AgentGroup;
use crate::value::Located;

crate::config_block! {
    /// What names the agents of a group.
    pub(crate) struct AgentNaming {
        /// How many agents the group makes; 1 when it is not given.
        pub(crate) count: Option<LooseInteger> = "numAgents",
        /// The first number in the names; `to` goes with it, `numAgents` does not.
        pub(crate) from: Option<i64> = "from",
        /// The last number in the names.
        pub(crate) to: Option<i64> = "to",
        /// What stands before the number; the name of the block, with `-` when it makes several, when it is not given.
        pub(crate) prefix: Option<String> = "prefix",
    }
}

crate::config_block! {
    /// What every agent says.
    pub(crate) struct AgentKeys {
        /// The market groups that the agents can trade in.
        pub(crate) markets: BlockList = "markets",
        /// The cash at the start.
        pub(crate) cash_amount: RandomValue = "cashAmount",
        /// The shares of each market at the start.
        pub(crate) asset_volume: RandomValue = "assetVolume",
    }
}

/// Opens the listed groups. A group that cannot be opened is `None`.
pub(crate) fn open<'t>(
    source: Source<'t>,
    listed: BlockList,
    context: &mut Context,
) -> Vec<Option<Group<'t>>> {
    let listed = group::without_repeats(listed, context);
    let mut table = NameTable::default();
    let mut places = Vec::new();
    let mut first = 0;
    let open_one = |block| {
        let group = open_group(source, block, first, context)?;
        first = group::check_total(
            first,
            group.names.len(),
            &group.block.opened.place,
            ClassKind::Agent,
            context,
        )?;
        let opened = &group.block.opened;
        if let Some(clash) = table.add(group.names.clone()) {
            let other: &String = &places[clash.other];
            let message = format!(
                "the agent name `{}` is taken: the group `{other}` makes it too",
                clash.name
            );
            context.problem_with_help(
                &opened.place,
                message,
                "give one of the groups another `prefix`",
            );
        }
        places.push(opened.name.clone());
        Some(group)
    };
    listed.iter().map(open_one).collect()
}

/// Reads the keys of a group.
pub(crate) fn read(
    source: Source<'_>,
    group: &Group<'_>,
    resolved: &mut Map<String, Json>,
    context: &mut Context,
) -> Option<AgentGroup> {
    let opened = &group.block.opened;
    let class = &group.block.class;
    let mut block = Block::new(opened.place.clone(), &opened.fields, context);
    block.know(ClassKeys::keys());
    block.know(AgentNaming::keys());
    let keys = AgentKeys::read(&mut block);
    let markets = keys.as_ref().and_then(|keys| accessible(&keys.markets, &mut block));
    block.set_accessible(markets.clone());
    let class_settings = source.catalog.read(ClassKind::Agent, class, &mut block);
    block.report_unknown(&BTreeMap::from([("numMarkets", "did you mean `numAgents`?".to_owned())]));
    resolved.insert(opened.name.clone(), block.resolved().into());

    let keys = keys?;
    Some(AgentGroup {
        block: opened.name.clone(),
        class: class.clone(),
        names: group.names.clone(),
        first_id: AgentId(u32::try_from(group.first).ok()?),
        markets: markets?,
        cash_amount: keys.cash_amount,
        asset_volume: keys.asset_volume,
        class_settings: class_settings?,
    })
}

fn open_group<'t>(
    source: Source<'t>,
    listed: &Located<String>,
    first: usize,
    context: &mut Context,
) -> Option<Group<'t>> {
    let classed = group::open(source, ClassKind::Agent, listed, context)?;
    let mut block = Block::new(classed.opened.place.clone(), &classed.opened.fields, context);
    let AgentNaming { count, from, to, prefix } = AgentNaming::read(&mut block)?;
    let naming = Naming { count_key: "numAgents", count, from, to, prefix };
    let names = group::names(naming, &mut block, &classed.opened.name)?;
    Some(Group { block: classed, names, first })
}

/// The market groups of an agent's list, which has group names.
fn accessible(listed: &BlockList, block: &mut Block<'_>) -> Option<Vec<usize>> {
    let before = block.problem_count();
    let listed = group::without_repeats(listed.clone(), block.context());
    let groups: Vec<_> = listed.iter().map(|name| market_group(name, block)).collect();
    if block.problem_count() > before {
        return None;
    }
    groups.into_iter().collect()
}

fn market_group(name: &Located<String>, block: &mut Block<'_>) -> Option<usize> {
    let markets = block.markets();
    if let Some(group) = markets.group_of_block(&name.value) {
        return Some(group);
    }
    if markets.is_unresolved(&name.value) {
        return None;
    }
    let help = match markets.id(&name.value) {
        Some(id) => {
            let group = markets.block(markets.group_of(id));
            Some(format!(
                "agents are given whole groups: `{}` is a market of the group `{group}`",
                name.value
            ))
        }
        None => suggest(&name.value, markets.blocks()),
    };
    let message =
        format!("there is no market group named `{}` in `simulation.markets`", name.value);
    block.context().report(&name.place, message, help);
    None
}

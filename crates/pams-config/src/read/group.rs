//! Opening a listed block: finding it, merging what it extends, reading its class and its names.

use std::collections::BTreeSet;

use crate::block::{Block, Fields};
use crate::catalog::ClassKind;
use crate::context::Context;
use crate::names::Names;
use crate::nearest::{nearest, suggest};
use crate::node::{Member, Node, NodeValue};
use crate::place::Place;
use crate::read::Source;
use crate::value::{ConfigValue, Located};

crate::config_block! {
    /// What every block may say.
    #[expect(dead_code, reason = "declared for its keys and schema; `extends` is followed before anything is read")]
    pub(crate) struct ClassKeys {
        /// The class of what the block makes.
        pub(crate) class: Located<String> = "class",
        /// The block whose keys this one takes over, except where it has its own.
        pub(crate) extends: Option<String> = "extends",
    }
}

/// A list of block names. A wrong item is reported and left out, so that the others are still looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockList(pub(crate) Vec<Located<String>>);

impl ConfigValue for BlockList {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let NodeValue::Array(items) = node.value() else {
            return context.expected(node, "an array of block names");
        };
        Some(Self(items.iter().filter_map(|item| Located::read(item, context)).collect()))
    }

    fn schema() -> serde_json::Value {
        Vec::<String>::schema()
    }
}

/// A whole number that may also be written as `2.0`, as PAMS takes it for counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LooseInteger(pub(crate) i64);

impl ConfigValue for LooseInteger {
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53 in magnitude")]
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match node.value() {
            NodeValue::Float(value) if value.fract() == 0.0 && value.abs() < EXACT => {
                Some(Self(*value as i64))
            }
            _ => i64::read(node, context).map(Self),
        }
    }

    fn schema() -> serde_json::Value {
        i64::schema()
    }
}

/// A block with everything it inherits.
pub(crate) struct Opened<'t> {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) fields: Fields<'t>,
}

/// A block whose class is known.
pub(crate) struct Classed<'t> {
    pub(crate) opened: Opened<'t>,
    pub(crate) class: String,
}

/// A group of which everything is known that others refer to.
pub(crate) struct Group<'t> {
    pub(crate) block: Classed<'t>,
    pub(crate) names: Names,
    pub(crate) first: usize,
}

/// The keys that name a group's instances.
pub(crate) struct Naming {
    pub(crate) count_key: &'static str,
    pub(crate) count: Option<LooseInteger>,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) prefix: Option<String>,
}

/// Reports blocks that are listed twice; gives those that are listed once or first.
pub(crate) fn without_repeats(listed: BlockList, context: &mut Context) -> Vec<Located<String>> {
    let mut seen = BTreeSet::new();
    let is_new = |block: &Located<String>| {
        let is_new = seen.insert(block.value.clone());
        if !is_new {
            context.problem(&block.place, format!("`{}` is listed twice", block.value));
        }
        is_new
    };
    listed.0.into_iter().filter(is_new).collect()
}

/// The block that a list names, merged with what it extends, and its class.
pub(crate) fn open<'t>(
    source: Source<'t>,
    kind: ClassKind,
    listed: &Located<String>,
    context: &mut Context,
) -> Option<Classed<'t>> {
    let opened = find(source, kind, listed, context)?;
    let mut block = Block::new(opened.place.clone(), &opened.fields, context);
    let class = block.value::<Located<String>>("class")?;
    let classes = source.catalog.class_names(kind);
    if !classes.contains(&class.value) {
        let is_class_of =
            |other: &ClassKind| source.catalog.class_names(*other).contains(&class.value);
        if let Some(other) = ClassKind::ALL.into_iter().find(is_class_of) {
            let message = format!(
                "`{}` is no block of {kind}s: its class `{}` makes {other}s",
                listed.value, class.value
            );
            context.report(&listed.place, message, None);
        } else {
            let message = format!("there is no class of {kind}s named `{}`", class.value);
            context.report(
                &class.place,
                message,
                suggest(&class.value, classes.iter().map(String::as_str)),
            );
        }
        return None;
    }
    Some(Classed { opened, class: class.value })
}

/// The names of a group's instances; `None` when the keys that make them are wrong.
pub(crate) fn names(naming: Naming, block: &mut Block<'_>, name: &str) -> Option<Names> {
    let Naming { count_key, count, from, to, prefix } = naming;
    let (first, len) = match (from, to) {
        (None, None) => match count.map_or(1, |count| count.0) {
            1 => (None, 1),
            n if n < 0 => {
                block.problem(
                    count_key,
                    format!("expected a whole number that is 0 or above, found {n}"),
                );
                return None;
            }
            n => (Some(0), i128::from(n)),
        },
        (Some(_), None) | (None, Some(_)) => {
            let (given, missing) = if from.is_some() { ("from", "to") } else { ("to", "from") };
            block.problem(missing, format!("this key is required, because `{given}` is given"));
            return None;
        }
        (Some(_), Some(_)) if count.is_some() => {
            let message = format!(
                "`from` and `to` say how many there are: they cannot be combined with `{count_key}`"
            );
            block.problem(count_key, message);
            return None;
        }
        (Some(from), Some(to)) if to < from => {
            block.problem("to", format!("`to` is below `from`: {to} < {from}"));
            return None;
        }
        (Some(from), Some(to)) => (Some(from), i128::from(to) - i128::from(from) + 1),
    };
    let Some(len) = u32::try_from(len).ok().and_then(|len| usize::try_from(len).ok()) else {
        let key = if from.is_some() { "to" } else { count_key };
        block.problem(key, format!("a group makes at most {} instances, not {len}", u32::MAX));
        return None;
    };
    let prefix =
        prefix.unwrap_or_else(|| if len > 1 { format!("{name}-") } else { name.to_owned() });
    Some(match first {
        None => Names::single(&prefix),
        Some(first) => Names::numbered(&prefix, first, len),
    })
}

/// Reports that there are more instances than ids.
pub(crate) fn check_total(
    first: usize,
    len: usize,
    place: &Place,
    kind: ClassKind,
    context: &mut Context,
) -> Option<usize> {
    let total = first.checked_add(len).filter(|total| u32::try_from(*total).is_ok());
    if total.is_none() {
        context.problem(place, format!("there are more {kind}s than {}", u32::MAX));
    }
    total
}

fn find<'t>(
    source: Source<'t>,
    kind: ClassKind,
    listed: &Located<String>,
    context: &mut Context,
) -> Option<Opened<'t>> {
    let name = &listed.value;
    let Some(member) = source.root.0.get(name).filter(|_| name != "simulation") else {
        let best = nearest(name, blocks(source)).map(str::to_owned);
        let help = best.as_ref().map(|best| format!("did you mean `{best}`?"));
        context.report(&listed.place, format!("there is no block named `{name}`"), help);
        if let Some(best) = best.filter(|_| kind == ClassKind::Market) {
            context.markets_mut().add_unresolved(best);
        }
        return None;
    };
    let fields = merge(source, kind, name, member, context)?;
    Some(Opened { name: name.clone(), place: member.node.place().clone(), fields })
}

/// The keys of a block and of what it extends; the nearer block wins.
fn merge<'t>(
    source: Source<'t>,
    kind: ClassKind,
    name: &str,
    member: &'t Member,
    context: &mut Context,
) -> Option<Fields<'t>> {
    let mut chain = vec![];
    let mut path = vec![name.to_owned()];
    let mut seen = BTreeSet::from([name.to_owned()]);
    let mut next = Some(member);
    while let Some(member) = next {
        let NodeValue::Object(members) = member.node.value() else {
            return context.expected(&member.node, "a block, which is an object");
        };
        chain.push(members);
        let Some(extends) = members.value("extends") else { break };
        let parent = String::read(extends, context)?;
        path.push(parent.clone());
        if !seen.insert(parent.clone()) {
            let message = format!("a block cannot extend itself: {}", path.join(" → "));
            context.problem(extends.place(), message);
            return None;
        }
        next = source.root.0.get(&parent).filter(|_| parent != "simulation");
        if next.is_none() {
            let help =
                nearest(&parent, blocks(source)).map(|best| format!("did you mean `{best}`?"));
            context.report(extends.place(), format!("there is no block named `{parent}`"), help);
            return None;
        }
    }
    let mut fields = Fields::default();
    for (generation, members) in chain.iter().enumerate().rev() {
        let inherited = generation > 0;
        let kept = members
            .0
            .iter()
            .filter(|(key, _)| *key != "extends" && !(inherited && is_own(kind, key)));
        fields.0.extend(kept.map(|(key, member)| (key.as_str(), member)));
    }
    Some(fields)
}

/// Whether a key is not inherited.
fn is_own(kind: ClassKind, key: &str) -> bool {
    match key {
        "from" | "to" => true,
        "numMarkets" | "numAgents" | "prefix" => kind == ClassKind::Event,
        _ => false,
    }
}

/// The names of all blocks.
fn blocks(source: Source<'_>) -> impl Iterator<Item = &str> + Clone {
    let members = source.root.0.iter();
    members
        .filter(|(key, member)| {
            *key != "simulation" && matches!(member.node.value(), NodeValue::Object(_))
        })
        .map(|(key, _)| key.as_str())
}

//! Correlations of fundamentals.

use std::collections::BTreeMap;

use pams_core::MarketId;
use serde_json::Value as Json;

use crate::block::{Block, ConfigBlock, Fields};
use crate::context::Context;
use crate::node::{Node, NodeValue};
use crate::place::Place;
use crate::reference::MarketReference;
use crate::settings::Correlation;
use crate::value::ConfigValue;

crate::config_block! {
    /// How fundamentals move together.
    pub(crate) struct CorrelationKeys {
        /// Triples of two market names and their correlation. A pair that is given twice, in either order, has the last.
        pub(crate) pairwise: Option<Vec<Node>> = "pairwise",
    }
}

/// Reads `fundamentalCorrelations`; the plain form is given back besides. Every pair comes once.
pub(crate) fn read(node: &Node, context: &mut Context) -> Option<(Vec<Correlation>, Json)> {
    let NodeValue::Object(members) = node.value() else {
        return context.expected(node, "an object with the key `pairwise`");
    };
    let fields = Fields::of(members);
    let mut block = Block::new(node.place().clone(), &fields, context);
    let keys = CorrelationKeys::read(&mut block);
    block.report_unknown(&BTreeMap::new());
    let plain = block.resolved().into();
    let mut pairs = BTreeMap::new();
    for triple in keys?.pairwise.unwrap_or_default() {
        if let Some(correlation) = read_triple(&triple, context) {
            let Correlation { first, second, .. } = correlation;
            pairs.insert((first.min(second), first.max(second)), correlation);
        }
    }
    Some((pairs.into_values().collect(), plain))
}

fn read_triple(node: &Node, context: &mut Context) -> Option<Correlation> {
    let NodeValue::Array(items) = node.value() else { return context.expected(node, EXPECTED) };
    let [first_node, second_node, value_node] = items.as_slice() else {
        return context.expected(node, EXPECTED);
    };
    let first = read_market(first_node, context);
    let second = read_market(second_node, context);
    let value = f64::read(value_node, context);
    if let Some(value) = value.filter(|value| value.abs() >= 1.0) {
        context.problem(
            value_node.place(),
            format!("a correlation lies between -1 and 1, found {value:?}"),
        );
    }
    let (first, second) = (first?, second?);
    if first == second {
        let name = context.markets().name(first);
        context.problem(node.place(), format!("`{name}` cannot be correlated with itself"));
    }
    Some(Correlation { first, second, value: value? })
}

const EXPECTED: &str = "[market, market, correlation]";

fn read_market(node: &Node, context: &mut Context) -> Option<MarketId> {
    let MarketReference(id) = MarketReference::read(node, context)?;
    check_market(id, node.place(), context);
    Some(id)
}

fn check_market(id: MarketId, place: &Place, context: &mut Context) {
    let name = context.markets().name(id);
    if context.markets().is_index(id) {
        let message = format!("`{name}` is an index, whose fundamental its components make");
        context.problem_with_help(place, message, "correlate the components");
    } else if context.markets().entry(id).volatility == Some(0.0) {
        let message = format!(
            "`{name}` has no `fundamentalVolatility`, so nothing can be correlated with it"
        );
        context.problem(place, message);
    }
}

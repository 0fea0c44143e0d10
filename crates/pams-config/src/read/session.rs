//! Sessions and their events.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use crate::block::{Block, ConfigBlock, Fields};
use crate::catalog::ClassKind;
use crate::context::Context;
use crate::node::{Node, NodeValue};
use crate::python;
use crate::read::group::{self, BlockList, LooseInteger};
use crate::read::{ClassKeys, Source};
use crate::settings::{EventSettings, SessionSettings};
use crate::value::{ConfigValue, Located};

crate::config_block! {
    /// A session: some steps under the same rules.
    pub(crate) struct SessionKeys {
        /// The name; a number is converted to a string.
        pub(crate) name: Located<SessionName> = "sessionName",
        /// How many steps the session lasts.
        pub(crate) iteration_steps: Located<u64> = "iterationSteps",
        /// Whether agents are asked for orders.
        pub(crate) with_order_placement: bool = "withOrderPlacement",
        /// Whether orders are matched.
        pub(crate) with_order_execution: bool = "withOrderExecution",
        /// Accepted and without effect: choose a logger that prints.
        pub(crate) with_print: bool = "withPrint",
        /// How many normal agents may submit orders in a step; 1 when it is not given.
        pub(crate) max_normal_orders: Option<LooseInteger> = "maxNormalOrders",
        /// How many high-frequency agents may submit orders in a round; 1 when it is not given.
        pub(crate) max_high_frequency_orders: Option<LooseInteger> = "maxHighFrequencyOrders",
        /// The old name of `maxHighFrequencyOrders`.
        pub(crate) max_hifreq_orders: Option<LooseInteger> = "maxHifreqOrders",
        /// The probability of a high-frequency round after each list of orders; 1 when it is not given.
        pub(crate) high_frequency_submit_rate: Option<f64> = "highFrequencySubmitRate",
        /// The old name of `highFrequencySubmitRate`.
        pub(crate) hifreq_submit_rate: Option<f64> = "hifreqSubmitRate",
        /// The events that the session lists.
        pub(crate) events: Option<BlockList> = "events",
    }
}

crate::config_block! {
    /// What every event says.
    pub(crate) struct EventKeys {
        /// Whether the event happens at all.
        pub(crate) enabled: bool = "enabled" default true,
    }
}

const OLD_NAMES: [(&str, &str); 2] = [
    ("maxHifreqOrders", "maxHighFrequencyOrders"),
    ("hifreqSubmitRate", "highFrequencySubmitRate"),
];

/// A name that may be given as a number.
#[derive(Clone, Debug)]
pub(crate) struct SessionName(String);

impl ConfigValue for SessionName {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        python::to_string(node).map(Self).or_else(|| context.expected(node, "a string or a number"))
    }

    fn schema() -> Json {
        json!({"type": ["string", "number", "boolean", "null"]})
    }
}

/// Reads sessions one after the other, and each event once however often it is listed.
pub(crate) struct Sessions<'t> {
    source: Source<'t>,
    names: BTreeSet<String>,
    steps: u64,
    events: BTreeMap<String, Option<EventSettings>>,
}

impl<'t> Sessions<'t> {
    pub(crate) fn new(source: Source<'t>) -> Self {
        Self { source, names: BTreeSet::new(), steps: 0, events: BTreeMap::new() }
    }

    /// Reads a session. Its plain form goes to `plain`, the blocks of its events to `resolved`.
    pub(crate) fn read(
        &mut self,
        node: &Node,
        plain: &mut Vec<Json>,
        resolved: &mut Map<String, Json>,
        context: &mut Context,
    ) -> Option<SessionSettings> {
        let NodeValue::Object(members) = node.value() else {
            return context.expected(node, "a session, which is an object");
        };
        let fields = Fields::of(members);
        let mut block = Block::new(node.place().clone(), &fields, context);
        let keys = SessionKeys::read(&mut block);
        check_old_names(&mut block);
        block.report_unknown(&BTreeMap::new());
        plain.push(block.resolved().into());

        let Some(keys) = keys else {
            self.check_events(members.value("events"), resolved, context);
            return None;
        };
        self.check_name(&keys.name, context);
        self.check_steps(&keys.iteration_steps, context);
        let events = keys.events.unwrap_or_default();
        let events: Vec<_> =
            events.0.iter().map(|event| self.event(event, resolved, context)).collect();
        Some(SessionSettings {
            name: keys.name.value.0,
            iteration_steps: keys.iteration_steps.value,
            with_order_placement: keys.with_order_placement,
            with_order_execution: keys.with_order_execution,
            with_print: keys.with_print,
            max_normal_orders: keys.max_normal_orders.map_or(1, |most| most.0),
            max_high_frequency_orders: keys
                .max_high_frequency_orders
                .or(keys.max_hifreq_orders)
                .map_or(1, |most| most.0),
            high_frequency_submit_rate: keys
                .high_frequency_submit_rate
                .or(keys.hifreq_submit_rate)
                .unwrap_or(1.0),
            events: events.into_iter().collect::<Option<_>>()?,
        })
    }

    /// Looks at the events of a session that has mistakes of its own.
    fn check_events(
        &mut self,
        events: Option<&Node>,
        resolved: &mut Map<String, Json>,
        context: &mut Context,
    ) {
        let events = events.and_then(|node| BlockList::read(node, context)).unwrap_or_default();
        for event in &events.0 {
            let _ = self.event(event, resolved, context);
        }
    }

    fn check_name(&mut self, name: &Located<SessionName>, context: &mut Context) {
        let Located { value: SessionName(name), place } = name;
        if !self.names.insert(name.clone()) {
            context.problem(place, format!("another session has the name {name:?} too"));
        }
    }

    fn check_steps(&mut self, steps: &Located<u64>, context: &mut Context) {
        match self.steps.checked_add(steps.value) {
            Some(total) => self.steps = total,
            None => context
                .problem(&steps.place, format!("the sessions have more steps than {}", u64::MAX)),
        }
    }

    fn event(
        &mut self,
        listed: &Located<String>,
        resolved: &mut Map<String, Json>,
        context: &mut Context,
    ) -> Option<EventSettings> {
        if let Some(event) = self.events.get(&listed.value) {
            return event.clone();
        }
        let event = read_event(self.source, listed, resolved, context);
        self.events.insert(listed.value.clone(), event.clone());
        event
    }
}

fn read_event(
    source: Source<'_>,
    listed: &Located<String>,
    resolved: &mut Map<String, Json>,
    context: &mut Context,
) -> Option<EventSettings> {
    let group::Classed { opened, class } = group::open(source, ClassKind::Event, listed, context)?;
    let mut block = Block::new(opened.place.clone(), &opened.fields, context);
    block.know(ClassKeys::keys());
    let keys = EventKeys::read(&mut block);
    let class_settings = source.catalog.read(ClassKind::Event, &class, &mut block);
    let single = || "a block of an event makes one event".to_owned();
    let naming = ["from", "to", "prefix", "numMarkets", "numAgents", "numEvents"];
    block.report_unknown(&naming.into_iter().map(|key| (key, single())).collect());
    resolved.insert(opened.name.clone(), block.resolved().into());
    Some(EventSettings {
        block: opened.name,
        class,
        enabled: keys?.enabled,
        class_settings: class_settings?,
    })
}

fn check_old_names(block: &mut Block<'_>) {
    for (old, new) in OLD_NAMES {
        if block.contains(old) && block.contains(new) {
            block.problem(old, format!("this is the old name of `{new}`, which is given too"));
        } else if block.contains(old) {
            block.warn(old, format!("this is the old name of `{new}`"));
        }
    }
}

//! From the tree of a config to settings.
//!
//! Names come first, because everything refers to them: groups are opened (their block found, merged with what it
//! extends, their class and names read) before the keys of any of them are read. Reading goes on after every mistake; a
//! part that could not be read is left out, and the mistakes found keep the whole from being used.

mod agent;
mod correlation;
mod group;
mod market;
mod session;
mod simulation;

pub(crate) use agent::{AgentKeys, AgentNaming};
pub(crate) use correlation::CorrelationKeys;
pub(crate) use group::ClassKeys;
pub(crate) use market::{IndexKeys, MarketKeys, MarketNaming};
pub(crate) use session::{EventKeys, SessionKeys};
pub(crate) use simulation::{ListKeys, SimulationKeys};

use serde_json::{Map, Value as Json};

use crate::block::is_note;
use crate::catalog::ClassCatalog;
use crate::context::{Context, ReadOptions};
use crate::error::ConfigError;
use crate::nearest::nearest;
use crate::node::{Members, Node, NodeValue};
use crate::settings::Settings;

/// What is read, and who knows the classes.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) root: &'t Members,
    pub(crate) catalog: &'t dyn ClassCatalog,
}

/// The whole config.
pub(crate) fn settings(
    root: &Node,
    text: Option<&[u8]>,
    catalog: &dyn ClassCatalog,
    options: ReadOptions,
) -> Result<Settings, ConfigError> {
    let mut context = Context::new(options);
    let settings = match root.value() {
        NodeValue::Object(members) => {
            read_all(Source { root: members, catalog }, root, &mut context)
        }
        _ => context.expected(root, "one object with the key `simulation`"),
    };
    if settings.is_none() && context.problem_count() == 0 {
        let message =
            "a class refused its settings without saying why, which is a mistake in the class";
        context.problem(root.place(), message);
    }
    let (_, warnings) = context.finish(text)?;
    let settings = settings.expect("invariant: without settings there is a problem");
    Ok(Settings { warnings, ..settings })
}

fn read_all(source: Source<'_>, root: &Node, context: &mut Context) -> Option<Settings> {
    report_strays(source, context);
    let Some(node) = source.root.value("simulation") else {
        let blocks = source.root.iter().map(|(key, _)| key);
        let help =
            nearest("simulation", blocks).map(|key| format!("is it what `{key}` should be?"));
        context.report(
            &root.place().missing("simulation"),
            "this key is required".to_owned(),
            help,
        );
        return None;
    };
    let mut resolved = Map::new();
    let simulation = simulation::read(source, node, &mut resolved, context)?;
    Some(Settings {
        simulation: simulation.settings,
        markets: simulation.markets.into_iter().collect::<Option<_>>()?,
        agents: simulation.agents.into_iter().collect::<Option<_>>()?,
        sessions: simulation.sessions.into_iter().collect::<Option<_>>()?,
        correlations: simulation.correlations,
        warnings: Vec::new(),
        resolved: Json::Object(resolved),
    })
}

/// Keys at the top that are no blocks: whoever wrote `"seed": 1` there believes that it is used.
fn report_strays(source: Source<'_>, context: &mut Context) {
    for (key, member) in &source.root.0 {
        if matches!(member.node.value(), NodeValue::Object(_))
            || is_note(key)
            || key == "simulation"
        {
            continue;
        }
        let message = format!(
            "unknown key: at the top stand `simulation` and blocks, found {}",
            member.node.describe()
        );
        context.unknown_key(
            &member.key,
            message,
            Some("a note is a key that starts with `MEMO`".to_owned()),
        );
    }
}

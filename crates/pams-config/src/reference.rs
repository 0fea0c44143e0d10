//! References: names of markets that become ids when they are read, and paths of files.

use std::path::PathBuf;

use pams_core::MarketId;
use serde_json::{Value as Json, json};

use crate::context::Context;
use crate::node::Node;
use crate::value::ConfigValue;

/// The instance name of a market, resolved to its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarketReference(pub MarketId);

/// The instance name of a market that is not an index, resolved to its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpotMarketReference(pub MarketId);

impl ConfigValue for MarketReference {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let name = String::read(node, context)?;
        match context.markets().resolve(&name) {
            Ok(id) => Some(Self(id)),
            Err(unknown) => {
                if let Some(unknown) = unknown {
                    context.report(node.place(), unknown.message, unknown.help);
                }
                None
            }
        }
    }

    fn schema() -> Json {
        json!({"type": "string", "description": "The name of a market."})
    }
}

impl ConfigValue for SpotMarketReference {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let MarketReference(id) = MarketReference::read(node, context)?;
        if context.markets().is_index(id) {
            let name = context.markets().name(id);
            let message = format!("`{name}` is an index, whose price its components make");
            context.problem_with_help(node.place(), message, "name one of its components");
            return None;
        }
        Some(Self(id))
    }

    fn schema() -> Json {
        json!({"type": "string", "description": "The name of a market that is not an index."})
    }
}

/// The path of a file. A relative one is meant from the folder of the config.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(pub PathBuf);

impl ConfigValue for FilePath {
    fn read(node: &Node, context: &mut Context) -> Option<Self> {
        let path = String::read(node, context)?;
        if path.is_empty() {
            return context.expected(node, "the path of a file");
        }
        let path = match context.folder() {
            // An absolute path stays as it is.
            Some(folder) => folder.join(path),
            None => path.into(),
        };
        context.set_file(node.place(), &path);
        Some(Self(path))
    }

    fn schema() -> Json {
        json!({"type": "string", "minLength": 1})
    }
}

//! The JSON Schema of a config.
//!
//! A schema cannot know which blocks are listed and which are templates that others complete. So of a block it checks
//! what can be checked alone: with a `class`, that its keys are the class's and have the right types; without one, that
//! keys which some class has have a right type. Whether every required key is there only the reader can say; in return
//! the schema also looks at blocks that nothing uses, where the reader does not.

use serde_json::{Map, Value as Json, json};

use crate::block::{ConfigBlock, NOTE_PATTERN};
use crate::catalog::{ClassCatalog, ClassKind};
use crate::read::{
    AgentKeys, AgentNaming, ClassKeys, CorrelationKeys, EventKeys, IndexKeys, ListKeys, MarketKeys,
    MarketNaming, SessionKeys, SimulationKeys,
};

/// The JSON Schema (draft 2020-12) of a config with these classes.
#[must_use]
pub fn schema(catalog: &dyn ClassCatalog) -> Json {
    let mut definitions = Map::new();
    let mut by_class = Vec::new();
    let mut all_keys = Map::new();
    for kind in ClassKind::ALL {
        for class in catalog.class_names(kind) {
            let block = class_schema(catalog, kind, &class);
            collect(&block, &mut all_keys);
            let name = format!("{kind} {class}");
            by_class.push(json!({
                "properties": {"class": {"const": class}},
                "required": ["class"],
                "$ref": format!("#/$defs/{}", escape(&name)),
            }));
            definitions.insert(name, block);
        }
    }
    definitions.insert("template".to_owned(), template_schema(all_keys));
    by_class.push(json!({"$ref": "#/$defs/template"}));
    definitions.insert("session".to_owned(), closed(SessionKeys::schema()));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PAMS config",
        "type": "object",
        "properties": {"simulation": simulation_schema()},
        "required": ["simulation"],
        "patternProperties": {NOTE_PATTERN: true},
        "additionalProperties": {"$ref": "#/$defs/block"},
        "$defs": Json::Object(with(definitions, "block", json!({"type": "object", "anyOf": by_class}))),
    })
}

fn simulation_schema() -> Json {
    let mut simulation = join(ListKeys::schema(), [SimulationKeys::schema()]);
    let properties = &mut simulation["properties"];
    properties["sessions"]["items"] = json!({"$ref": "#/$defs/session"});
    let mut correlations = closed(CorrelationKeys::schema());
    correlations["properties"]["pairwise"]["items"] = json!({
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "string"}, {
            "type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 1,
        }],
        "minItems": 3,
        "maxItems": 3,
    });
    properties["fundamentalCorrelations"] = correlations;
    closed(simulation)
}

/// A block whose class is known: its keys and no others. None is required, since a block that extends another, or that
/// others extend, need not have them all.
fn class_schema(catalog: &dyn ClassCatalog, kind: ClassKind, class: &str) -> Json {
    let generic = match kind {
        ClassKind::Market if catalog.is_index(class) => {
            vec![MarketNaming::schema(), MarketKeys::schema(), IndexKeys::schema()]
        }
        ClassKind::Market => vec![MarketNaming::schema(), MarketKeys::schema()],
        ClassKind::Agent => vec![AgentNaming::schema(), AgentKeys::schema()],
        ClassKind::Event => vec![EventKeys::schema()],
    };
    let own = catalog.schema(kind, class);
    let description = own.get("description").cloned();
    let mut block = join(ClassKeys::schema(), generic.into_iter().chain([own]));
    block["properties"]["class"]["const"] = class.into();
    if let Some(block) = block.as_object_mut() {
        block.remove("required");
        block.remove("description");
        block.extend(description.map(|text| ("description".to_owned(), text)));
    }
    closed(block)
}

/// A block without a class: any keys, and where some class has a key, one of the types that classes give it.
fn template_schema(all_keys: Map<String, Json>) -> Json {
    let any_of = |(key, schemas): (String, Json)| (key, json!({"anyOf": schemas}));
    let mut properties: Map<String, Json> = all_keys.into_iter().map(any_of).collect();
    properties.insert("class".to_owned(), json!(false));
    json!({"type": "object", "properties": properties})
}

/// Adds the schemas of a block's keys to those that each key has in other blocks.
fn collect(block: &Json, all_keys: &mut Map<String, Json>) {
    for (key, schema) in block["properties"].as_object().into_iter().flatten() {
        let known = all_keys.entry(key.clone()).or_insert_with(|| json!([]));
        if let Some(known) = known.as_array_mut().filter(|known| !known.contains(schema)) {
            known.push(schema.clone());
        }
    }
}

/// One object with the keys of several.
fn join(mut first: Json, others: impl IntoIterator<Item = Json>) -> Json {
    for mut other in others {
        if let Some(properties) = other.get_mut("properties").and_then(Json::as_object_mut) {
            for (key, schema) in std::mem::take(properties) {
                first["properties"][key] = schema;
            }
        }
        if let Some(more) = other.get_mut("required").and_then(Json::as_array_mut) {
            let mut required = first["required"].take().as_array().cloned().unwrap_or_default();
            required.append(more);
            first["required"] = required.into();
        }
    }
    first
}

/// An object that has no keys but those of its schema, and notes.
fn closed(mut schema: Json) -> Json {
    schema["patternProperties"] = json!({NOTE_PATTERN: true});
    schema["additionalProperties"] = json!(false);
    schema
}

/// A name in a JSON pointer that is part of a URI.
fn escape(name: &str) -> String {
    let escape_one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        b'~' => "~0".to_owned(),
        b'/' => "~1".to_owned(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(escape_one).collect()
}

fn with(mut map: Map<String, Json>, key: &str, value: Json) -> Map<String, Json> {
    map.insert(key.to_owned(), value);
    map
}

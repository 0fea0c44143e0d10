//! The documentation says what the program knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pams_agent::Registry;
use pams_runner::SequentialRunner;
use serde_json::Value as Json;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The keys of all objects that a schema describes.
fn collect_keys(schema: &Json, keys: &mut BTreeSet<String>) {
    match schema {
        Json::Object(members) => {
            for (name, value) in members {
                if let ("properties", Json::Object(properties)) = (name.as_str(), value) {
                    keys.extend(properties.keys().cloned());
                }
                collect_keys(value, keys);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}

#[test]
fn every_key_of_a_config_is_in_the_reference() {
    let page = read("docs/src/config.md");
    let mut keys = BTreeSet::new();
    collect_keys(&pams_config::schema(&Registry::builtin()), &mut keys);
    assert!(keys.contains("tickSize") && keys.contains("pairwise"), "the schema has its keys");
    // The kinds of random values are written as objects.
    let is_there = |key: &&String| {
        page.contains(&format!("`{key}`")) || page.contains(&format!("{{\"{key}\": "))
    };
    let missing: Vec<&String> =
        keys.iter().filter(|key| *key != "simulation").filter(|key| !is_there(key)).collect();
    assert!(missing.is_empty(), "docs/src/config.md does not have {missing:?}");
}

#[test]
fn every_built_in_class_is_in_the_reference() {
    use pams_config::{ClassCatalog, ClassKind};
    let page = read("docs/src/config.md");
    let registry = Registry::builtin();
    let classes = ClassKind::ALL.into_iter().flat_map(|kind| registry.class_names(kind));
    let missing: Vec<String> = classes.filter(|class| !page.contains(class.as_str())).collect();
    assert!(missing.is_empty(), "docs/src/config.md does not have {missing:?}");
}

#[test]
fn the_readme_shows_the_hash_of_its_run() {
    let report = SequentialRunner::builder()
        .config_path(root().join("examples/configs/CI2002.json"))
        .seed(42)
        .build()
        .and_then(pams_runner::Runner::run)
        .expect("the run of the README");
    let hash = report.records_hash.expect("hashed by default").to_string();
    assert!(read("README.md").contains(&hash), "README.md does not have {hash}");
}

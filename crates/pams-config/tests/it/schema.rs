//! The schema accepts what the reader accepts, and sees what can be seen in one block.

use pams_config::{ClassCatalog, ClassKind, schema};
use serde_json::{Value as Json, json};

use crate::catalog::Catalog;
use crate::samples::{SampleCatalog, all_samples};

fn is_valid(catalog: &dyn ClassCatalog, config: &Json) -> Result<(), String> {
    let schema = schema(catalog);
    jsonschema::meta::validate(&schema).map_err(|error| format!("the schema is none: {error}"))?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    let errors: Vec<_> = validator.iter_errors(config).map(|error| error.to_string()).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

#[test]
fn samples_are_valid() {
    for (name, text) in all_samples() {
        let config = serde_json::from_str(&text).expect("samples are JSON");
        is_valid(&SampleCatalog, &config).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_base_is_valid_and_mistakes_in_it_are_not() {
    let base: Json = serde_json::from_str(include_str!("base.json")).expect("the base is JSON");
    is_valid(&Catalog, &base).expect("the base is right");
    let refused = |pointer: &str, value: Json| {
        let mut config = base.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        config.pointer_mut(parent).expect("the parent is there")[key] = value.clone();
        assert!(is_valid(&Catalog, &config).is_err(), "{pointer} = {value}");
    };
    refused("/Traders/window", json!("5"));
    refused("/Traders/windwo", json!(5));
    refused("/Traders/weight", json!({"expon": [1, 2]}));
    refused("/Traders/class", json!("Tradre"));
    refused("/Spot/tickSize", json!(0));
    refused("/simulation/numParallel", json!(0));
    refused("/simulation/startMethod", json!("frok"));
    refused("/simulation/sessions", json!([{}]));
    refused("/simulation/seed", json!(1));
    refused("/simulation/fundamentalCorrelations", json!({"pairwise": [["A", "B", 1]]}));
    refused("/seed", json!(1));
}

#[test]
fn every_class_has_a_definition() {
    let schema = schema(&Catalog);
    for kind in ClassKind::ALL {
        for class in Catalog.class_names(kind) {
            let definition = &schema["$defs"][format!("{kind} {class}")];
            assert_eq!(definition["properties"]["class"]["const"], class);
        }
    }
}

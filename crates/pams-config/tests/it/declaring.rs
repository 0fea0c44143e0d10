//! What one declaration makes of a class's settings.

use std::path::PathBuf;

use pams_config::{
    Block, ClassCatalog, ClassKind, ClassSettings, ConfigBlock, ConfigValue, FilePath, ReadOptions,
    Settings, Strictness, config_block, read_settings,
};
use serde_json::{Value as Json, json};

use crate::catalog::{Margin, Picky, Trader};

#[test]
fn keys_are_listed_in_order_with_those_of_flattened_blocks() {
    let trader = ["weight", "window", "reversion", "margin", "marginSize", "oldWeight"];
    assert_eq!(Trader::keys(), trader);
    assert_eq!(Picky::keys(), [&trader[..], &["preference", "favourites"]].concat());
}

#[test]
fn a_choice_knows_its_names() {
    assert_eq!(Margin::ALL.map(Margin::name), ["fixed", "normal"]);
    assert_eq!(Margin::schema(), serde_json::json!({"enum": ["fixed", "normal"]}));
}

#[test]
fn doc_comments_types_and_defaults_make_the_schema() {
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&Picky::schema()).expect("JSON can be written")
    );
}

config_block! {
    struct Model {
        weights: FilePath = "weights",
    }
}

/// One class of agents, whose settings name a file.
struct Models;

impl ClassCatalog for Models {
    fn class_names(&self, kind: ClassKind) -> Vec<String> {
        if kind == ClassKind::Agent { vec!["Model".to_owned()] } else { Vec::new() }
    }

    fn read(&self, _: ClassKind, _: &str, block: &mut Block<'_>) -> Option<ClassSettings> {
        read_settings::<Model>(block)
    }

    fn schema(&self, _: ClassKind, _: &str) -> Json {
        Model::schema()
    }

    fn is_index(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn relative_paths_are_meant_from_the_folder_of_the_config() {
    let path = |weights: &str, options: ReadOptions| {
        let config = json!({
            "simulation": {"markets": [], "agents": ["M"], "sessions": []},
            "M": {"class": "Model", "markets": [], "cashAmount": 1, "assetVolume": 1,
                  "weights": weights},
        });
        let settings = Settings::from_value(&config, &Models, options)?;
        let model: &Model = settings.agents[0].class_settings.downcast_ref().expect("a model");
        Ok::<_, pams_config::ConfigError>(model.weights.0.clone())
    };
    let in_folder = || ReadOptions::from(Strictness::Strict).folder("configs");
    assert_eq!(path("m.pt", in_folder()).unwrap(), PathBuf::from("configs/m.pt"));
    assert_eq!(path("/data/m.pt", in_folder()).unwrap(), PathBuf::from("/data/m.pt"));
    assert_eq!(path("m.pt", ReadOptions::default()).unwrap(), PathBuf::from("m.pt"));
    let error = path("", in_folder()).unwrap_err().to_string();
    assert!(
        error.contains("M.weights: expected the path of a file, found the string \"\""),
        "{error}"
    );
}

#[test]
fn the_resolved_config_can_lie_elsewhere_than_the_files_that_it_names() {
    let config = json!({
        "simulation": {"markets": [], "agents": ["M", "N"], "sessions": []},
        "Base": {"class": "Model", "markets": [], "cashAmount": 1, "assetVolume": 1,
                 "weights": "m.pt"},
        "M": {"extends": "Base"},
        "N": {"extends": "Base", "weights": "/data/n.pt"},
    });
    let options = ReadOptions::from(Strictness::Strict).folder("/configs");
    let settings = Settings::from_value(&config, &Models, options).expect("it is a config");
    assert_eq!(settings.resolved["M"]["weights"], "/configs/m.pt");
    assert_eq!(settings.resolved["N"]["weights"], "/data/n.pt");
    let elsewhere = ReadOptions::from(Strictness::Strict).folder("/elsewhere");
    let again = Settings::from_value(&settings.resolved, &Models, elsewhere).expect("it is one");
    assert_eq!(again.resolved, settings.resolved);
}

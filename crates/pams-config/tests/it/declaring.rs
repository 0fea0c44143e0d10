//! What one declaration makes of a class's settings.

use pams_config::{ConfigBlock, ConfigValue};

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

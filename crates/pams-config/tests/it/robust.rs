//! No input makes the reader panic, and none takes it long.

use pams_config::{ConfigError, Settings, Strictness};
use proptest::prelude::*;

use crate::catalog::Catalog;

const BASE: &str = include_str!("base.json");

fn read(text: &[u8]) -> Result<Settings, ConfigError> {
    Settings::from_json(text, &Catalog, Strictness::Strict)
}

/// Pieces of which wrong configs are made.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"Spot\"",
        "\"Spot-0\"",
        "\"class\"",
        "\"extends\"",
        "\"from\"",
        "\"to\"",
        "\"numMarkets\"",
        "\"prefix\"",
        "\"\"",
        "null",
        "true",
        "NaN",
        "-Infinity",
        "1e400",
        "-1",
        "0",
        "1.0",
        "é",
        "\\u",
        "\u{1F600}",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999999",
        "\n",
    ])
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&text);
    }

    #[test]
    fn no_pieces_in_a_config_make_it_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, piece()), 1..5),
    ) {
        let mut text: Vec<char> = BASE.chars().collect();
        for (at, removed, piece) in changes {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = read(text.as_bytes()) {
            prop_assert!(!error.problems().is_empty());
            prop_assert!(error.problems().iter().all(|problem| problem.position.is_some()));
        }
    }

    #[test]
    fn no_value_in_the_place_of_another_makes_it_panic(at in any::<prop::sample::Index>(), piece in piece()) {
        // Values stand behind colons, commas and brackets.
        let starts: Vec<usize> = BASE.match_indices([':', '[', ',']).map(|(at, _)| at + 1).collect();
        let start = starts[at.index(starts.len())];
        let end = start + BASE[start..].find([',', ']', '}']).unwrap_or(0);
        let text = format!("{}{piece}{}", &BASE[..start], &BASE[end..]);
        let _ = read(text.as_bytes());
    }
}

#[test]
fn a_long_key_above_many_values_costs_no_memory_for_paths() {
    let text = format!("{{\"{}\": [{}1]}}", "k".repeat(100_000), "1,".repeat(100_000));
    let error = read(text.as_bytes()).expect_err("there is no simulation");
    assert_eq!(error.problems().len(), 2);
}

#[test]
fn a_million_agents_are_read_at_once() {
    let text = BASE.replace("\"numAgents\": 10", "\"numAgents\": 4000000000");
    let settings = read(text.as_bytes()).expect("a config may ask for many agents");
    assert_eq!(settings.agents[0].names.name(3_999_999_999), "Traders-3999999999");
    assert_eq!(settings.agents[1].first_id.index(), 4_000_000_000);
}

//! The texts of errors: each case changes one thing in a config that is right.

use std::fmt::Write as _;

use pams_config::{Settings, Strictness};

use crate::catalog::Catalog;

const BASE: &str = include_str!("base.json");

/// What a case changes: a text that stands in the config once, and what comes in its place.
type Change<'a> = (&'a str, &'a str);

/// Shows what is said about each change.
fn report(cases: &[&[Change<'_>]]) -> String {
    let mut report = String::new();
    for changes in cases {
        let mut text = BASE.to_owned();
        for (from, to) in *changes {
            assert_eq!(text.matches(from).count(), 1, "`{from}` stands in the config once");
            text = text.replacen(from, to, 1);
            let change = if to.is_empty() { format!("without {from}") } else { (*to).to_owned() };
            writeln!(report, "# {}", change.trim().replace('\n', "⏎"))
                .expect("a string can be written to");
        }
        report.push_str(&said(text.as_bytes()));
        report.push('\n');
    }
    report
}

/// All errors and warnings of a text.
pub(crate) fn said(text: &[u8]) -> String {
    let mut said = String::new();
    let warnings = match Settings::from_json(text, &Catalog, Strictness::Strict) {
        Ok(settings) => settings.warnings,
        Err(error) => {
            writeln!(said, "{error}").expect("a string can be written to");
            error.warnings().to_vec()
        }
    };
    for warning in warnings {
        writeln!(said, "warning: {warning}").expect("a string can be written to");
    }
    said
}

/// Compares what is said about each change with the snapshot of that name.
fn check(name: &str, cases: &[&[Change<'_>]]) {
    insta::assert_snapshot!(name, report(cases));
}

#[test]
fn the_base_has_no_mistakes() {
    assert_eq!(said(BASE.as_bytes()), "");
}

#[test]
fn texts_that_are_no_json() {
    let cut = BASE.find("\"expon\"").expect("the base has an exponential");
    let whole: &[&[u8]] = &[
        b"",
        b"  \n ",
        b"\xEF\xBB\xBF{}",
        b"{\"a\": \"\xE9\"}",
        b"\xFF\xFE{\0}\0",
        b"[1]",
        b"{}",
        b"{\"simulatoin\": {}}",
        b"{\"simulation\": 5}",
        b"{\"simulation\": {}} extra",
        b"{'simulation': {}}",
        b"{\"simulation\": {\"markets\": [\"A\",]}}",
        b"{\"simulation\": {\"markets\": [] \"agents\": []}}",
        b"{\"simulation\": {// no comment\n}}",
        b"{\"simulation\": {\"numParallel\": 01}}",
        b"{\"simulation\": {\"numParallel\": nul}}",
        "{\"simulation\": {\"é\": tru}}".as_bytes(),
        &BASE.as_bytes()[..cut],
    ];
    let mut report = String::new();
    for text in whole {
        let start = String::from_utf8_lossy(&text[..text.len().min(60)]).escape_debug().to_string();
        writeln!(report, "# {start}\n{}", said(text)).expect("a string can be written to");
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = said(deep.as_bytes());
    write!(report, "# nesting\n{deep}").expect("a string can be written to");
    insta::assert_snapshot!("texts_that_are_no_json", report);
}

#[test]
fn numbers() {
    check(
        "numbers",
        &[
            &[("\"cashAmount\": 10000", "\"cashAmount\": NaN")],
            &[("\"cashAmount\": 10000", "\"cashAmount\": 1e400")],
            &[("\"rate\": -0.1", "\"rate\": -Infinity")],
            &[("\"rate\": -0.1", "\"rate\": \"abc\"")],
            &[("\"rate\": -0.1", "\"rate\": true")],
            &[("\"rate\": -0.1", "\"rate\": null")],
            &[("\"window\": 5", "\"window\": 5.0")],
            &[("\"window\": 5", "\"window\": 5.5")],
            &[("\"window\": 5", "\"window\": -5")],
            &[("\"window\": 5", "\"window\": 1e300")],
            &[("\"window\": 5", "\"window\": 36893488147419103232")],
            &[("\"window\": 5", "\"window\": true")],
            &[("\"iterationSteps\": 10", "\"iterationSteps\": -1")],
            &[(
                "\"tickSize\": 0.1,\n    \"marketPrice\": 300.0,\n    \"markets\"",
                "\"tickSize\": 0,\"marketPrice\": -300.0,\n    \"markets\"",
            )],
            &[("\"fundamentalVolatility\": 0.01", "\"fundamentalVolatility\": -0.01")],
        ],
    );
}

#[test]
fn random_values() {
    let weight = "{\"expon\": [1.0]}";
    check(
        "random_values",
        &[
            &[(weight, "{\"const\": 7}")],
            &[(weight, "{}")],
            &[(weight, "{\"expon\": [1], \"const\": [1]}")],
            &[(weight, "{\"expon\": [1, 2]}")],
            &[(weight, "{\"exponential\": [1]}")],
            &[(weight, "{\"unifrom\": [1, 2]}")],
            &[(weight, "[1, 2, 3]")],
            &[(weight, "[\"a\", null]")],
            &[(weight, "[-1.7e308, 1.7e308]")],
            &[(weight, "\"1\"")],
            &[(weight, "true")],
        ],
    );
}

#[test]
fn keys() {
    check(
        "keys",
        &[
            &[("\"window\": 5", "\"windwo\": 5")],
            &[("\"window\": 5", "\"window\": 5, \"seed\": 1")],
            &[("\"window\": 5", "\"window\": 5, \"tickSize\": 1")],
            &[("\"window\": 5", "\"window\": 5, \"oldWeight\": 1")],
            &[("\"window\": 5", "\"window\": 5, \"days\": 1")],
            &[("\"window\": 5", "\"window\": 5, \"margin\": \"fix\"")],
            &[("\"window\": 5", "\"window\": 5, \"marginSize\": 1.5")],
            &[(
                "\"window\": 5",
                "\"window\": 5, \"MEMO\": 1, \"_x\": NaN, \"// y\": [], \"comment\": {}",
            )],
            &[("\"window\": 5", "\"Window\": 5, \"a.b\": 1")],
            &[("\"numMarkets\": 2", "\"numMarkets\": 2, \"markets\": []")],
            &[("\"numMarkets\": 2", "\"numMarkets\": 2, \"numAgents\": 2")],
            &[("\"outstandingShares\": 1000", "\"outstandingShare\": 1000")],
            &[("\"rate\": -0.1", "\"rate\": -0.1, \"prefix\": \"S\"")],
            &[
                ("\"withPrint\": true,", "\"withPrint\": 1,"),
                ("\"withPrint\": true}", "\"withPrint\": true, \"maxOrders\": 2}"),
            ],
            &[("  \"Shock\": {", "  \"seed\": 7,\n  \"Shock\": {")],
            &[(
                "\"marketPrice\": 300.0,\n    \"fundamentalVolatility\"",
                "\"fundamentalVolatility\"",
            )],
        ],
    );
}

#[test]
fn groups_and_names() {
    check(
        "groups_and_names",
        &[
            &[("\"markets\": [\"Spot\", \"Index\"]", "\"markets\": [\"Spto\", \"Index\"]")],
            &[(
                "\"markets\": [\"Spot\", \"Index\"]",
                "\"markets\": [\"Spot\", 5, \"Index\", \"Spot\"]",
            )],
            &[("\"markets\": [\"Spot\", \"Index\"]", "\"markets\": [\"Index\", \"Spot\"]")],
            &[("\"markets\": [\"Spot\", \"Index\"]", "\"markets\": \"Spot\"")],
            &[(
                "\"markets\": [\"Spot\", \"Index\"]",
                "\"markets\": [\"Spot\", \"Index\", \"simulation\"]",
            )],
            &[(
                "\"agents\": [\"Traders\", \"Maker\"]",
                "\"agents\": [\"Traders\", \"Maker\", \"Spot\"]",
            )],
            &[("\"class\": \"Trader\"", "\"class\": \"Tradre\"")],
            &[("\"class\": \"Trader\"", "\"class\": 5")],
            &[("\"class\": \"Trader\",", "")],
            &[("\"extends\": \"SpotBase\"", "\"extends\": \"SpotBasis\"")],
            &[("\"extends\": \"SpotBase\"", "\"extends\": \"Spot\"")],
            &[("\"extends\": \"SpotBase\"", "\"extends\": [\"SpotBase\"]")],
            &[("\"class\": \"Market\"", "\"extends\": \"Spot\"")],
            &[("\"numMarkets\": 2", "\"numMarkets\": -2")],
            &[("\"numMarkets\": 2", "\"numMarkets\": 2, \"from\": 0, \"to\": 1")],
            &[("\"numMarkets\": 2", "\"from\": 0")],
            &[("\"numMarkets\": 2", "\"from\": 4, \"to\": 3")],
            &[("\"numMarkets\": 2", "\"from\": -9223372036854775808, \"to\": 9223372036854775807")],
            &[("\"numMarkets\": 2", "\"numMarkets\": true")],
            &[("\"numMarkets\": 2", "\"numMarkets\": 18446744073709551615")],
            &[("\"numAgents\": 10", "\"numAgents\": 5000000000")],
            &[("\"numAgents\": 10", "\"numAgents\": 2, \"prefix\": 5")],
            &[("\"class\": \"Maker\"", "\"class\": \"Maker\", \"prefix\": \"Traders-3\"")],
            &[("\"class\": \"IndexMarket\"", "\"class\": \"IndexMarket\", \"prefix\": \"Spot-0\"")],
            &[(
                "\"markets\": [\"Index\", \"Spot\"]",
                "\"markets\": [\"Spot-0\", \"Idnex\", \"SpotBase\"]",
            )],
            &[("\"markets\": [\"Index\", \"Spot\"]", "\"markets\": [\"Spot\", \"Spot\"]")],
        ],
    );
}

#[test]
fn references() {
    check(
        "references",
        &[
            &[("\"target\": \"Spot-0\"", "\"target\": \"Spot-7\"")],
            &[("\"target\": \"Spot-0\"", "\"target\": \"Spot\"")],
            &[("\"target\": \"Spot-0\"", "\"target\": \"Index\"")],
            &[("\"target\": \"Spot-0\"", "\"target\": 0")],
            &[("\"markets\": [\"Index\", \"Spot\"]", "\"markets\": [\"Index\"]")],
            &[("\"markets\": [\"Spot-0\", \"Spot-1\"]", "\"markets\": [\"Spot-0\", \"Spot-0\"]")],
            &[("\"markets\": [\"Spot-0\", \"Spot-1\"]", "\"markets\": [\"Spot-0\", \"Index\"]")],
            &[("\"markets\": [\"Spot-0\", \"Spot-1\"]", "\"markets\": [\"Spot\"]")],
            &[("\"markets\": [\"Spot-0\", \"Spot-1\"]", "\"markets\": []")],
            &[(
                "\"markets\": [\"Spot-0\", \"Spot-1\"]",
                "\"markets\": [\"Spot-0\", \"Spot-1\"], \"requires\": [\"Spot\"]",
            )],
            &[("\"outstandingShares\": 1000", "\"outstandingShares\": 0")],
            &[(",\n    \"outstandingShares\": 1000", "")],
            &[(
                "[\"Spot-0\", \"Spot-1\", 0.5]",
                "[\"Spot-0\", \"Spot-1\", 1], [\"Spot-0\", \"Spot-0\", -1.0]",
            )],
            &[(
                "[\"Spot-0\", \"Spot-1\", 0.5]",
                "[\"Spot-0\", \"Index\", 0.5], [\"Spto-0\", \"Spot-1\", \"x\"], [1, 2]",
            )],
            &[("\"fundamentalVolatility\": 0.01", "\"fundamentalVolatility\": 0")],
            &[("\"pairwise\"", "\"pairwize\"")],
        ],
    );
}

#[test]
fn simulation_and_sessions() {
    let first = "\"iterationSteps\": 10,";
    check(
        "simulation_and_sessions",
        &[
            &[(
                "  \"simulation\": {",
                "  \"simulation\": {\"numParallel\": 0, \"startMethod\": \"frok\", \"torchNumThreads\": null,",
            )],
            &[(
                "  \"simulation\": {",
                "  \"simulation\": {\"numParallel\": true, \"torchNumThreads\": \"2\", \"historyWindow\": 0,",
            )],
            &[(
                "  \"simulation\": {",
                "  \"simulation\": {\"numParallel\": 1.5, \"torchNumThreads\": -1, \"numParalel\": 2,",
            )],
            &[("\"sessionName\": 1", "\"sessionName\": \"0\"")],
            &[("\"sessionName\": 1", "\"sessionName\": [1]")],
            &[("\"sessionName\": 1,", "")],
            &[(
                first,
                "\"iterationSteps\": 10, \"maxHifreqOrders\": 2, \"hifreqSubmitRate\": 0.5,",
            )],
            &[(
                first,
                "\"iterationSteps\": 10, \"maxHifreqOrders\": 2, \"maxHighFrequencyOrders\": 2,",
            )],
            &[(
                first,
                "\"iterationSteps\": \"10\", \"maxNormalOrders\": 1.5, \"highFrequencySubmitRate\": \"a\",",
            )],
            &[("\"events\": [\"Shock\"]", "\"events\": [\"Shokc\"]")],
            &[("\"events\": [\"Shock\"]", "\"events\": [\"Spot\"]")],
            &[("\"events\": [\"Shock\"]", "\"events\": \"Shock\"")],
            &[("\"rate\": -0.1", "\"rate\": -0.1, \"enabled\": \"yes\"")],
            &[("\"fundamentalCorrelations\": {", "\"fundamentalCorelations\": {")],
        ],
    );
}

#[test]
fn all_mistakes_are_shown_at_once_and_each_once() {
    let text = r#"{
  "simulation": {
    "markets": ["A", "B"],
    "agents": ["X", "Y"],
    "sessions": [
      {"sessionName": "s", "iterationSteps": -1, "withOrderPlacement": true, "withOrderExecution": true,
       "withPrint": true, "events": ["E", "E"]},
      {"sessionName": "t", "withOrderPlacement": true, "withOrderExecution": true, "withPrint": true, "events": ["E"]}
    ]
  },
  "A": {"class": "Market", "tickSize": -1, "marketPrice": 300},
  "B": {"class": "Market", "tickSize": 1, "price": 300},
  "Base": {"class": "Trader", "markets": ["A"], "cashAmount": 1, "assetVolume": {"const": 1}, "wieght": 1},
  "X": {"extends": "Base", "window": 1, "weight": 1},
  "Y": {"extends": "Base", "window": 1, "weight": "heavy"},
  "E": {"class": "Shock", "target": "C", "rate": "x"}
}"#;
    insta::assert_snapshot!(said(text.as_bytes()));
}

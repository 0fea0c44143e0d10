//! Configs with mistakes: every one ends with a message that says where, what and what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{BASE, Outcome, Pams, report};

/// Runs what the base becomes with each of these replacements.
#[track_caller]
fn messages(cases: &[(&str, &[(&str, &str)])]) -> String {
    let pams = Pams::new();
    report(cases.iter().map(|(name, edits)| {
        let mut text = BASE.to_owned();
        for (from, to) in *edits {
            assert!(text.contains(from), "{name}: the base has no {from}");
            text = text.replacen(from, to, 1);
        }
        pams.write("config.json", text);
        let outcome = pams.run(&["run", "config.json", "--seed", "1"]);
        assert_eq!(outcome.code, Some(1), "{name}");
        (name, outcome.failure(1))
    }))
}

#[test]
fn the_base_itself_is_right() {
    let pams = Pams::new();
    let checked = pams.run(&["check", "base.json"]);
    assert_eq!(checked.stderr, "");
    assert_eq!(
        checked.success(),
        "base.json has no mistakes: 4 markets, 13 agents, 2 sessions, 50 steps\n"
    );
    pams.run(&["run", "base.json", "--seed", "1"]).success();
}

#[test]
fn texts_that_are_no_config() {
    let pams = Pams::new();
    let half = &BASE.as_bytes()[..BASE.len() / 2];
    let cases: &[(&str, &[u8])] = &[
        ("empty", b""),
        ("blank", b" \n\n"),
        ("truncated", half),
        ("not UTF-8", b"{\n  \"Z\xfcrich\": 1}"),
        ("UTF-16", b"\xff\xfe{\0}\0"),
        ("byte order mark", b"\xef\xbb\xbf{}"),
        ("zeros", &[0; 64]),
        ("top-level array", b"[{\"simulation\": {}}]"),
        ("top-level number", b"300"),
        ("two objects", b"{\"simulation\": {}}\n{\"simulation\": {}}"),
        ("comment", b"{\n  // markets\n  \"simulation\": {}}"),
        ("comma at the end", b"{\"simulation\": {\"markets\": [\"Spot\",]}}"),
        ("single quotes", b"{'simulation': {}}"),
        ("missing comma", b"{\"simulation\": {}\n \"Spot\": {}}"),
        ("unquoted key", b"{simulation: {}}"),
        ("Python's None", b"{\"simulation\": {\"markets\": None}}"),
        ("a Python script", b"import pams\n"),
    ];
    let mut messages: Vec<(&str, String)> = cases
        .iter()
        .map(|(name, text)| {
            pams.write("config.json", text);
            (*name, pams.run(&["run", "config.json"]).failure(1))
        })
        .collect();
    pams.write("config.json", "[".repeat(10_000));
    messages.push(("10,000 arrays deep", pams.run(&["check", "config.json"]).failure(1)));
    pams.write("config.json", format!("{}1{}", "{\"a\": ".repeat(10_000), "}".repeat(10_000)));
    messages.push(("10,000 objects deep", pams.run(&["check", "config.json"]).failure(1)));
    insta::assert_snapshot!(report(messages));
}

#[test]
fn files_that_cannot_be_read() {
    let pams = Pams::new();
    fs::create_dir(pams.path("directory")).expect("the directory can be written");
    let cases = [
        ("missing", "missing.json"),
        ("in a directory that is missing", "missing/config.json"),
        ("in a file", "base.json/config.json"),
        ("a directory", "directory"),
    ];
    insta::assert_snapshot!(report(
        cases.iter().map(|(name, path)| (name, pams.run(&["run", path]).failure(1)))
    ));
}

#[test]
fn a_file_without_permission() {
    const NOBODY: &str = "65534";
    let pams = Pams::new();
    fs::set_permissions(pams.path("base.json"), fs::Permissions::from_mode(0o000))
        .expect("it is our file");
    let mut command = pams.command(&["check", "base.json"]);
    if fs::read(pams.path("base.json")).is_ok() {
        // The superuser may read everything: let an unprivileged user try. It must reach the file
        // and the program, which others may have put where it can't go.
        fs::set_permissions(pams.path("."), fs::Permissions::from_mode(0o755))
            .expect("it is our directory");
        let program = pams.path("pams");
        fs::copy(env!("CARGO_BIN_EXE_pams-with-test-classes"), &program)
            .expect("the program can be copied");
        let mut as_nobody = Command::new("setpriv");
        as_nobody.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        as_nobody.arg(&program).args(["check", "base.json"]).current_dir(pams.path("."));
        if !can_become_nobody(&as_nobody, &program) {
            #[expect(clippy::print_stderr, reason = "a skipped test says so")]
            {
                eprintln!("skipped: no unprivileged user can run the command here");
            }
            return;
        }
        command = as_nobody;
    }
    assert_eq!(
        Outcome::of(&mut command).failure(1),
        "error: base.json can't be read: you have no permission\n"
    );
}

fn can_become_nobody(command: &Command, program: &Path) -> bool {
    let mut version = Command::new(command.get_program());
    for argument in command.get_args().take_while(|argument| *argument != program) {
        version.arg(argument);
    }
    let status = version.arg(program).arg("--version").output();
    status.is_ok_and(|output| output.status.success())
}

#[test]
fn keys_and_blocks() {
    let report = messages(&[
        ("no simulation", &[("\"simulation\": {", "\"Nothing\": {")]),
        ("misspelt simulation", &[("\"simulation\": {", "\"simulations\": {")]),
        ("no markets", &[("    \"markets\": [\"Spot\", \"Index\"],\n", "")]),
        (
            "markets are a string",
            &[("\"markets\": [\"Spot\", \"Index\"]", "\"markets\": \"Spot\"")],
        ),
        (
            "sessions are an object",
            &[
                ("\"sessions\": [", "\"sessions\": {\"first\": ["),
                ("    ],\n    \"fund", "    ]},\n    \"fund"),
            ],
        ),
        ("no session name", &[("\"sessionName\": \"opening\", ", "")]),
        ("two sessions with one name", &[("\"opening\"", "\"trading\"")]),
        ("misspelt key of a session", &[("\"iterationSteps\": 20", "\"iterationStep\": 20")]),
        ("number for a flag", &[("\"withPrint\": true}", "\"withPrint\": 1}")]),
        ("no class", &[("    \"class\": \"FCNAgent\",\n", "")]),
        ("misspelt class", &[("\"FCNAgent\"", "\"FCNAgents\"")]),
        ("class of another kind", &[("\"FCNAgent\"", "\"IndexMarket\"")]),
        ("misspelt key", &[("\"noiseScale\"", "\"noiseScales\"")]),
        (
            "key of another class",
            &[("\"noiseScale\": 0.001,", "\"noiseScale\": 0.001, \"orderThresholdPrice\": 1.0,")],
        ),
        ("null", &[("\"cashAmount\": 10000", "\"cashAmount\": null")]),
        ("number in quotes", &[("\"cashAmount\": 10000", "\"cashAmount\": \"10000\"")]),
        ("block is a list", &[("\"Base\": {", "\"Base\": [{"), ("1000\n  },", "1000\n  }],")]),
        ("setting at the top", &[("\"Base\": {", "\"numParallel\": 4,\n  \"Base\": {")]),
        (
            "many mistakes at once",
            &[
                ("\"tickSize\": 0.01", "\"tickSize\": -0.01"),
                ("\"numMarkets\": 3", "\"numMarkets\": \"3\""),
                ("\"chartWeight\": 0.5", "\"chartWeigth\": 0.5"),
                ("\"targetMarket\": \"Spot-0\"", "\"targetMarket\": \"Index\""),
                ("\"target\": \"Spot-0\"", "\"target\": \"Index\""),
            ],
        ),
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn names_and_references() {
    let report = messages(&[
        (
            "unknown group of markets",
            &[(
                "\"markets\": [\"Spot\", \"Index\"],\n    \"agents\"",
                "\"markets\": [\"Spots\", \"Index\"],\n    \"agents\"",
            )],
        ),
        ("unknown group of agents", &[("\"Maker\"]", "\"Makers\"]")]),
        ("group listed twice", &[("\"Maker\"]", "\"Maker\", \"Maker\"]")]),
        ("agent's market unknown", &[("\"markets\": [\"Spot\"]", "\"markets\": [\"Bond\"]")]),
        (
            "agent's market is an instance",
            &[("\"markets\": [\"Spot\"]", "\"markets\": [\"Spot-0\"]")],
        ),
        ("extends itself", &[("\"extends\": \"Base\"", "\"extends\": \"Spot\"")]),
        (
            "extends in a loop",
            &[("\"tickSize\": 0.01,", "\"tickSize\": 0.01, \"extends\": \"Spot\",")],
        ),
        ("parent missing", &[("\"extends\": \"Base\"", "\"extends\": \"Bass\"")]),
        ("two parents", &[("\"extends\": \"Base\"", "\"extends\": [\"Base\", \"Index\"]")]),
        ("event missing", &[("\"events\": [\"Shock\"", "\"events\": [\"Shocks\"")]),
        ("agents as an event", &[("\"events\": [\"Shock\"", "\"events\": [\"Traders\"")]),
        ("target missing", &[("\"target\": \"Spot-0\"", "\"target\": \"Spot-3\"")]),
        ("target is a group", &[("\"target\": \"Spot-0\"", "\"target\": \"Spot\"")]),
        ("target is an index", &[("\"target\": \"Spot-0\"", "\"target\": \"Index\"")]),
        (
            "index before its components",
            &[("[\"Spot\", \"Index\"],\n    \"agents\"", "[\"Index\", \"Spot\"],\n    \"agents\"")],
        ),
        (
            "component twice",
            &[(
                "[\"Spot-0\", \"Spot-1\", \"Spot-2\"]\n  },\n  \"Traders\"",
                "[\"Spot-0\", \"Spot-0\"]\n  },\n  \"Traders\"",
            )],
        ),
        ("components without shares", &[(",\n    \"outstandingShares\": 1000", "")]),
        (
            "names that collide",
            &[
                ("\"numMarkets\": 3", "\"numMarkets\": 3, \"prefix\": \"Index\""),
                ("\"IndexMarket\"", "\"Market\", \"from\": 2, \"to\": 2"),
                (
                    "    \"markets\": [\"Spot-0\", \"Spot-1\", \"Spot-2\"]\n  },\n  \"Traders\"",
                    "    \"prefix\": \"Index\"\n  },\n  \"Traders\"",
                ),
            ],
        ),
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn numbers() {
    let report = messages(&[
        ("NaN", &[("\"marketPrice\": 300.0", "\"marketPrice\": NaN")]),
        ("infinity", &[("\"noiseScale\": 0.001", "\"noiseScale\": Infinity")]),
        ("too large for a float", &[("\"cashAmount\": 10000", "\"cashAmount\": 1e400")]),
        (
            "too large for a whole number",
            &[("\"iterationSteps\": 20", "\"iterationSteps\": 99999999999999999999")],
        ),
        ("float for a whole number", &[("\"iterationSteps\": 20", "\"iterationSteps\": 20.0")]),
        ("large float for a whole number", &[("\"orderVolume\": 1", "\"orderVolume\": 1e300")]),
        ("negative steps", &[("\"iterationSteps\": 20", "\"iterationSteps\": -20")]),
        ("no volume", &[("\"orderVolume\": 1", "\"orderVolume\": 0")]),
        ("negative time", &[("\"triggerTime\": 5", "\"triggerTime\": -5")]),
        ("tick size 0", &[("\"tickSize\": 0.01", "\"tickSize\": 0")]),
        ("negative price", &[("\"marketPrice\": 300.0", "\"marketPrice\": -300.0")]),
        (
            "negative volatility",
            &[("\"fundamentalVolatility\": 0.001", "\"fundamentalVolatility\": -0.001")],
        ),
        ("negative count", &[("\"numAgents\": 10", "\"numAgents\": -10")]),
        ("too many agents", &[("\"numAgents\": 10", "\"numAgents\": 5000000000")]),
        ("more agents than memory", &[("\"numAgents\": 10", "\"numAgents\": 4000000000")]),
        ("from above to", &[("\"numAgents\": 10", "\"from\": 10, \"to\": 1")]),
        ("from without to", &[("\"numAgents\": 10", "\"from\": 10")]),
        (
            "from, to and a count",
            &[("\"numAgents\": 10", "\"numAgents\": 10, \"from\": 0, \"to\": 9")],
        ),
        ("unknown distribution", &[("{\"expon\": [1.0]}", "{\"exponential\": [1.0]}")]),
        ("two distributions", &[("{\"expon\": [1.0]}", "{\"expon\": [1.0], \"const\": [1.0]}")]),
        ("parameter too many", &[("{\"expon\": [1.0]}", "{\"expon\": [1.0, 2.0]}")]),
        ("three bounds", &[("[100, 200]", "[100, 200, 300]")]),
        (
            "steps without end",
            &[
                ("\"iterationSteps\": 20", "\"iterationSteps\": 18446744073709551615"),
                ("\"iterationSteps\": 30", "\"iterationSteps\": 18446744073709551615"),
            ],
        ),
        ("holding too large", &[("\"assetVolume\": 50", "\"assetVolume\": 1e300")]),
        ("tick too small for the price", &[("\"tickSize\": 0.01", "\"tickSize\": 5e-324")]),
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn models_that_make_no_sense() {
    let report = messages(&[
        (
            "correlations that contradict each other",
            &[(
                "[[\"Spot-0\", \"Spot-1\", 0.5]]",
                "[[\"Spot-0\", \"Spot-1\", 0.9], [\"Spot-1\", \"Spot-2\", 0.9], [\"Spot-0\", \"Spot-2\", -0.9]]",
            )],
        ),
        ("correlation above 1", &[("\"Spot-1\", 0.5", "\"Spot-1\", 1.5")]),
        ("correlation with itself", &[("\"Spot-1\", 0.5", "\"Spot-0\", 0.5")]),
        (
            "correlation of two markets that do not move",
            &[("\"fundamentalVolatility\": 0.001", "\"fundamentalVolatility\": 0.0")],
        ),
        (
            "arbitrage without components",
            &[(
                "\"markets\": [\"Spot\", \"Index\"],\n    \"cashAmount\"",
                "\"markets\": [\"Index\"],\n    \"cashAmount\"",
            )],
        ),
        (
            "arbitrage without index",
            &[(
                "\"markets\": [\"Spot\", \"Index\"],\n    \"cashAmount\"",
                "\"markets\": [\"Spot\"],\n    \"cashAmount\"",
            )],
        ),
        (
            "arbitrage of unequal shares",
            &[
                (
                    "\"Spot\": {",
                    "\"Bond\": {\"class\": \"Market\", \"tickSize\": 1, \"marketPrice\": 300, \"outstandingShares\": 7},\n  \"Spot\": {",
                ),
                ("[\"Spot\", \"Index\"]", "[\"Spot\", \"Bond\", \"Index\"]"),
                ("\"Spot-2\"]", "\"Bond\"]"),
                ("[\"Spot\", \"Index\"]", "[\"Spot\", \"Bond\", \"Index\"]"),
            ],
        ),
        (
            "maker's target not accessible",
            &[("\"targetMarket\": \"Spot-0\"", "\"targetMarket\": \"Index\"")],
        ),
        ("negative weight", &[("\"chartWeight\": 0.5", "\"chartWeight\": -0.5")]),
        (
            "weight that can be drawn negative",
            &[("\"chartWeight\": 0.5", "\"chartWeight\": [-10, 0.5]")],
        ),
        (
            "weights that are all 0",
            &[
                ("\"fundamentalWeight\": {\"expon\": [1.0]}", "\"fundamentalWeight\": 0"),
                ("\"chartWeight\": 0.5", "\"chartWeight\": 0"),
                ("{\"uniform\": [0.5, 1.0]}", "0"),
            ],
        ),
        ("margin above 1", &[("\"orderMargin\": [0.0, 0.1]", "\"orderMargin\": 1.5")]),
        ("margin drawn above 1", &[("\"orderMargin\": [0.0, 0.1]", "\"orderMargin\": [2, 3]")]),
        ("negative window", &[("[100, 200]", "[-200, -100]")]),
        (
            "window beyond the history",
            &[("\"simulation\": {", "\"simulation\": {\"historyWindow\": 10,")],
        ),
        (
            "quotes without time",
            &[(
                "\"netInterestSpread\": 0.02",
                "\"netInterestSpread\": 0.02, \"orderTimeLength\": 0",
            )],
        ),
        ("shock in days", &[("\"triggerTime\": 5", "\"triggerTime\": 5, \"triggerDays\": 1")]),
        ("shock below 0", &[("\"priceChangeRate\": -0.1", "\"priceChangeRate\": -1.5")]),
        ("price that overflows", &[("\"noiseScale\": 0.001", "\"noiseScale\": 100.0")]),
        (
            "fundamental that overflows",
            &[("\"fundamentalVolatility\": 0.001", "\"fundamentalVolatility\": 1e300")],
        ),
        (
            "old and new name of a key",
            &[(
                "\"maxHighFrequencyOrders\": 2",
                "\"maxHighFrequencyOrders\": 2, \"maxHifreqOrders\": 2",
            )],
        ),
        (
            "price limit that is no width",
            &[("\"triggerChangeRate\": 0.05", "\"triggerChangeRate\": -0.05")],
        ),
    ]);
    insta::assert_snapshot!(report);
}

//! Wrong usage: exit status 2, and a hint.

use super::{Pams, report};

#[test]
fn wrong_usage() {
    let pams = Pams::new();
    let cases: &[&[&str]] = &[
        &["run"],
        &["check"],
        &["rum", "base.json"],
        &["base.json"],
        &["run", "base.json", "other.json"],
        &["run", "base.json", "--seed"],
        &["run", "base.json", "--seed", "abc"],
        &["run", "base.json", "--seed", "-1"],
        &["run", "base.json", "--seed", "1.5"],
        &["run", "base.json", "--seed", "18446744073709551616"],
        &["run", "base.json", "--seed", "1", "--seed", "2"],
        &["run", "base.json", "--prng", "mersenne"],
        &["run", "base.json", "--runner", "fast"],
        &["run", "base.json", "--print", "orders"],
        &["run", "base.json", "--summary", "xml"],
        &["run", "base.json", "--logs", "run.jsonl"],
        &["run", "base.json", "--quiet", "--verbose"],
        &["run", "base.json", "--log", "-", "--print", "steps"],
        &["run", ""],
    ];
    insta::assert_snapshot!(report(cases.iter().map(|arguments| {
        let message = pams.run(arguments).failure(2);
        (arguments.join(" "), message.replace("pams-with-test-classes", "pams"))
    })));
}

#[test]
fn no_arguments_show_the_help() {
    let message = Pams::new().run(&[]).failure(2);
    assert!(message.contains("Usage: ") && message.contains("Examples:"), "{message}");
}

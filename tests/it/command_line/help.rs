//! Help texts, as they stand on a terminal of 100 columns.

use super::Pams;

fn help(arguments: &[&str]) -> String {
    let pams = Pams::new();
    let text = super::Outcome::of(pams.command(arguments).env("COLUMNS", "100")).success();
    text.replace("pams-with-test-classes", "pams")
}

#[test]
fn the_command() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn run() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}

#[test]
fn sweep() {
    insta::assert_snapshot!(help(&["sweep", "--help"]));
}

#[test]
fn check() {
    insta::assert_snapshot!(help(&["check", "--help"]));
}

#[test]
fn the_version_is_that_of_the_workspace() {
    assert_eq!(help(&["--version"]), format!("pams {}\n", env!("CARGO_PKG_VERSION")));
}

//! `pams run --runner …`: the choice never changes a result.

use serde_json::Value as Json;

use super::{Pams, shipped_config};

/// The hash and the number of workers of a run of the maker's sample, which has high-frequency
/// agents too.
fn run(arguments: &[&str]) -> (Json, Json) {
    let pams = Pams::new();
    pams.write("config.json", shipped_config("market_share-mm.json"));
    let mut all = vec!["run", "config.json", "--seed", "3", "--summary", "json", "--quiet"];
    all.extend_from_slice(arguments);
    let text = pams.run(&all).success();
    let summary: Json = serde_json::from_str(&text).expect("a summary");
    (summary["records_hash"].clone(), summary["workers"].clone())
}

#[test]
fn every_runner_and_start_method_gives_the_same_hash() {
    let (expected, workers) = run(&[]);
    assert_eq!(workers, 0);
    for arguments in [
        &["--runner", "threads", "--num-parallel", "2"][..],
        &["--runner", "processes", "--num-parallel", "2"],
        &["--runner", "processes", "--num-parallel", "2", "--start-method", "spawn"],
        &["--runner", "processes", "--num-parallel", "2", "--start-method", "forkserver"],
        &["--runner", "processes", "--num-parallel", "2", "--start-method", "fork"],
    ] {
        let (hash, workers) = run(arguments);
        assert_eq!(hash, expected, "{arguments:?}");
        assert_eq!(workers, 2, "{arguments:?}");
    }
}

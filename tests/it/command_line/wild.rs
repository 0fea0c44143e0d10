//! Random changes to the shipped configs: they run or are refused with a place, and nothing panics.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use pams_core::Record;
use pams_runner::{Error, ErrorKind, Logger, NameTable, RunControl, SequentialRunner};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value as Json, json};

use super::{shipped_config, shipped_configs};

/// Enough steps for every event and every kind of agent to act.
const STEPS: u64 = 30;

/// Enough agents for orders to trade.
const AGENTS: u64 = 5;

/// One change at some place of the config; the index chooses among all places that there are.
#[derive(Clone, Debug)]
enum Change {
    Delete(Index),
    Replace(Index, Json),
    Rename(Index, &'static str),
    Swap(Index, Index),
    Duplicate(Index),
}

fn value() -> impl Strategy<Value = Json> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(0.5),
        json!(-0.0),
        json!(1e-308),
        json!(1e300),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("Market"),
        json!("FCNAgents"),
        json!("IndexMarket"),
        json!([]),
        json!([1, -1]),
        json!([-1e300, 1e300]),
        json!(["Market", "Market"]),
        json!({}),
        json!({"expon": [-1]}),
        json!({"normal": [0, 1e10]}),
        json!({"const": [0]}),
    ])
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "extends",
        "class",
        "from",
        "to",
        "prefix",
        "numAgents",
        "numMarkets",
        "markets",
        "MEMO",
        "tickSize",
        "fundamentalVolatility",
        "historyWindow",
        "maxNormalOrders",
        "orderVolume",
    ])
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<Index>().prop_map(Change::Delete),
        (any::<Index>(), value()).prop_map(|(at, value)| Change::Replace(at, value)),
        (any::<Index>(), key()).prop_map(|(at, key)| Change::Rename(at, key)),
        (any::<Index>(), any::<Index>()).prop_map(|(at, other)| Change::Swap(at, other)),
        any::<Index>().prop_map(Change::Duplicate),
    ]
}

/// The pointers to all values of a config but the whole.
fn pointers(value: &Json, here: &str, all: &mut Vec<String>) {
    let mut visit = |key: &str, value: &Json| {
        let pointer = format!("{here}/{}", key.replace('~', "~0").replace('/', "~1"));
        all.push(pointer.clone());
        pointers(value, &pointer, all);
    };
    match value {
        Json::Object(members) => members.iter().for_each(|(key, value)| visit(key, value)),
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| visit(&index.to_string(), value));
        }
        _ => {}
    }
}

fn apply(change: &Change, config: &mut Json) {
    let mut all = Vec::new();
    pointers(config, "", &mut all);
    let (Change::Delete(at)
    | Change::Replace(at, _)
    | Change::Rename(at, _)
    | Change::Swap(at, _)
    | Change::Duplicate(at)) = change;
    if all.is_empty() {
        return;
    }
    let pointer = at.get(&all);
    let (parent, last) = pointer.rsplit_once('/').expect("invariant: pointers begin with a slash");
    let last = last.replace("~1", "/").replace("~0", "~");
    let old = config.pointer(pointer).cloned().unwrap_or_default();
    let container = config.pointer_mut(parent).expect("invariant: it was just found");
    match change {
        Change::Delete(_) => match container {
            Json::Object(members) => drop(members.remove(&last)),
            Json::Array(items) => drop(items.remove(last.parse().unwrap_or(0))),
            _ => {}
        },
        Change::Rename(_, key) => {
            if let Json::Object(members) = container {
                members.remove(&last);
                members.insert((*key).to_owned(), old);
            }
        }
        Change::Duplicate(_) => match container {
            Json::Array(items) => items.push(old),
            Json::Object(members) => drop(members.insert(format!("{last}2"), old)),
            _ => {}
        },
        Change::Replace(_, new) => {
            if let Some(value) = config.pointer_mut(pointer) {
                *value = new.clone();
            }
        }
        Change::Swap(_, other) => {
            let other = other.get(&all);
            let new = config.pointer(other).cloned().unwrap_or_default();
            if let Some(value) = config.pointer_mut(pointer) {
                *value = new;
            }
            if let Some(value) = config.pointer_mut(other) {
                *value = old;
            }
        }
    }
}

/// Makes a config small enough to be run a few hundred times.
fn shrink(config: &mut Json) {
    let limit = |members: &mut Map<String, Json>, key: &str, most: u64| {
        if let Some(count) = members.get_mut(key) {
            *count = count.as_u64().unwrap_or(most).min(most).into();
        }
    };
    if let Some(Json::Array(sessions)) = config.pointer_mut("/simulation/sessions") {
        for session in sessions.iter_mut().filter_map(Json::as_object_mut) {
            limit(session, "iterationSteps", STEPS);
        }
    }
    for block in config.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Json::Object(block) = block {
            limit(block, "numAgents", AGENTS);
            // A text has no folder from which a path could be meant.
            if let Some(Json::String(path)) = block.get_mut("weights") {
                *path = format!("{}/../examples/configs/{path}", env!("CARGO_MANIFEST_DIR"));
            }
        }
    }
}

/// Ends a run that would last for ever.
struct Watchman(Arc<RunControl>);

impl Logger for Watchman {
    fn record(&mut self, record: &Record, _: &NameTable) -> std::io::Result<()> {
        if let Record::Step(step) = record
            && step.time.since_start() > 3 * STEPS
        {
            self.0.stop();
        }
        Ok(())
    }
}

fn run(config: &Json) -> Result<(), Error> {
    let control = Arc::new(RunControl::default());
    let mut registry = pams_tests::registry();
    pams_candle::register(&mut registry);
    SequentialRunner::builder()
        .registry(registry)
        .config_text(config.to_string())
        .control(Arc::clone(&control))
        .build()?
        .logger(Watchman(control))
        .run()
        .map(drop)
}

/// Whether an error says where it was.
fn has_place(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Config(config) => {
            !config.problems().is_empty()
                && config
                    .problems()
                    .iter()
                    .all(|problem| problem.position.is_some() && !problem.path.is_empty())
        }
        ErrorKind::Setup(_) | ErrorKind::Run(_) => !error.context().is_empty(),
        ErrorKind::Interrupted(_) => true,
        _ => false,
    }
}

/// The shipped configs but the one whose networks take half a gigabyte.
fn small_configs() -> Vec<PathBuf> {
    let mut paths = shipped_configs();
    paths.retain(|path| !path.ends_with("candle_large.json"));
    paths
}

#[test]
fn shrunken_configs_still_run() {
    for path in small_configs() {
        let text = fs::read_to_string(&path).expect("the config is readable");
        let mut config: Json = serde_json::from_str(&text).expect("the config is JSON");
        shrink(&mut config);
        run(&config).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

#[test]
fn a_trigger_beyond_all_steps_never_comes_and_overflows_nothing() {
    for file in ["fat_finger.json", "shock_transfer.json"] {
        let mut config: Json = serde_json::from_str(&shipped_config(file)).expect("it is JSON");
        shrink(&mut config);
        let mut replaced = 0;
        for block in config.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if let Some(time) = block.get_mut("triggerTime") {
                *time = u64::MAX.into();
                replaced += 1;
            }
        }
        assert_eq!(replaced, 1, "{file}");
        run(&config).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_configs_run_or_are_refused_with_a_place(
        file in any::<Index>(),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let paths = small_configs();
        let text = fs::read_to_string(file.get(&paths)).expect("the config is readable");
        let mut config: Json = serde_json::from_str(&text).expect("the config is JSON");
        shrink(&mut config);
        for change in &changes {
            apply(change, &mut config);
        }
        if let Err(error) = run(&config) {
            prop_assert!(has_place(&error), "{error}");
        }
    }
}

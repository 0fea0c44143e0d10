//! `pams run --out`, `pams replay`, `pams diff`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::{BASE, Outcome, Pams, shipped_configs};

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("it can be listed").file_name().into_string().expect("names are UTF-8")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("it is JSON")
}

const TABLES: [&str; 8] =
    ["accounts", "cancels", "executions", "expirations", "holdings", "orders", "sessions", "steps"];

#[test]
fn a_run_is_kept_in_a_folder_of_its_own_and_changes_in_nothing() {
    let pams = Pams::new();
    let plain =
        json(&pams.run(&["run", "base.json", "--seed", "1", "--summary", "json"]).success());
    for format in ["parquet", "csv", "jsonl"] {
        let arguments =
            ["run", "base.json", "--seed", "1", "--out", format, "--out-format", format];
        let kept = pams.run(&[&arguments[..], &["--summary", "json"]].concat()).success();
        let kept = json(&kept);
        assert_eq!(kept["records_hash"], plain["records_hash"]);
        let folder = format!("{format}/base-1");
        assert_eq!(kept["run_folder"], *folder);
        let mut expected: Vec<String> =
            TABLES.iter().map(|table| format!("{table}.{format}")).collect();
        expected.extend(["config.json", "run.json"].map(str::to_owned));
        expected.sort();
        assert_eq!(entries(&pams.path(&folder)), expected);
        let run = json(&pams.read(&format!("{folder}/run.json")));
        assert_eq!(run["records_hash"], plain["records_hash"]);
        assert_eq!((&run["seed"], &run["generator"]), (&1.into(), &"xoshiro256++".into()));
        assert_eq!(run["summary"]["orders"], plain["orders"]);
        assert_eq!(run["tables"]["rows"]["orders"], plain["orders"]);
        assert_eq!(run["config"]["name"], "base.json");
    }
    let text = pams.run(&["run", "base.json", "--seed", "2", "--out", "text"]).success();
    assert!(text.ends_with("\n  kept in      text/base-2\n"), "{text}");
}

#[test]
fn equal_runs_have_equal_folders_but_for_their_timing() {
    let pams = Pams::new();
    for out in ["one", "two"] {
        pams.run(&["run", "base.json", "--seed", "1", "--out", out, "--depth", "2"]).success();
    }
    for name in entries(&pams.path("one/base-1")) {
        let read = |out: &str| fs::read(pams.path(&format!("{out}/base-1/{name}"))).unwrap();
        let (one, two) = (read("one"), read("two"));
        if name != "run.json" {
            assert_eq!(one, two, "{name}");
            continue;
        }
        let without_timing = |bytes: Vec<u8>| {
            let mut run: Json = serde_json::from_slice(&bytes).expect("it is JSON");
            let timing = run.as_object_mut().and_then(|run| run.remove("timing"));
            assert!(timing.is_some_and(|timing| timing["run_seconds"].is_f64()));
            run
        };
        assert_eq!(without_timing(one), without_timing(two));
    }
}

#[test]
fn every_shipped_config_can_be_kept_and_replayed() {
    let pams = Pams::new();
    for path in shipped_configs() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        // Names classes that only its example registers.
        if name == "user_class" || name == "candle_large" {
            continue;
        }
        let mut config = json(&text);
        for session in config["simulation"]["sessions"].as_array_mut().unwrap() {
            let steps = session["iterationSteps"].as_u64().unwrap().min(30);
            session["iterationSteps"] = steps.into();
        }
        // The copy lies elsewhere than the files that it names.
        let folder = path.parent().unwrap();
        for block in config.as_object_mut().unwrap().values_mut() {
            if let Some(weights) = block.get_mut("weights") {
                *weights = folder.join(weights.as_str().unwrap()).to_str().unwrap().into();
            }
        }
        pams.write(&format!("{name}.json"), config.to_string());
        let file = format!("{name}.json");
        let run = pams.run(&["run", &file, "--seed", "7", "--out", "out", "--summary", "json"]);
        let summary = json(&run.success());
        let folder = format!("out/{name}-7");
        let hash = summary["records_hash"].as_str().unwrap();
        let replayed = pams.run(&["replay", &folder]).success();
        assert_eq!(replayed, format!("{folder} is equal when it is run again: {hash}\n"));
    }
}

#[test]
fn a_folder_that_exists_is_kept_unless_it_should_be_replaced() {
    let pams = Pams::new();
    let run = ["run", "base.json", "--seed", "1", "--out", "out"];
    pams.run(&run).success();
    pams.write("out/base-1/notes.txt", "mine");
    let message = pams.run(&run).failure(1);
    assert_eq!(
        message,
        "error: out/base-1 exists already; `--overwrite` replaces it, or choose another `--out` or \
         `--seed`\n"
    );
    assert_eq!(pams.read("out/base-1/notes.txt"), "mine");
    pams.run(&[&run[..], &["--overwrite"]].concat()).success();
    assert!(!pams.path("out/base-1/notes.txt").exists());
    assert_eq!(entries(&pams.path("out")), ["base-1"]);

    fs::create_dir(pams.path("out/base-2")).unwrap();
    let other = ["run", "base.json", "--seed", "2", "--out", "out", "--overwrite"];
    let message = pams.run(&other).failure(1);
    assert_eq!(
        message,
        "error: out/base-2 is no run folder, so it is not overwritten; choose another folder\n"
    );
}

#[test]
fn a_replay_says_whether_it_is_equal() {
    let pams = Pams::new();
    pams.run(&["run", "base.json", "--seed", "1", "--prng", "mt19937", "--out", "out"]).success();
    for options in [&[][..], &["--runner", "threads", "--num-parallel", "2"]] {
        let text = pams.run(&[&["replay", "out/base-1"], options].concat()).success();
        assert!(text.starts_with("out/base-1 is equal when it is run again: blake3:"), "{text}");
    }

    // A run that was kept without its hash is compared by its tables.
    pams.run(&["run", "base.json", "--seed", "2", "--no-hash", "--out", "out"]).success();
    assert_eq!(json(&pams.read("out/base-2/run.json"))["records_hash"], Json::Null);
    pams.run(&["replay", "out/base-2"]).success();

    // As if another version had given other results.
    let run = pams.read("out/base-1/run.json");
    pams.write("out/base-1/run.json", run.replace("\"seed\": 1", "\"seed\": 3"));
    let outcome = pams.run(&["replay", "out/base-1"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0], "out/base-1 is different when it is run again");
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn what_is_no_run_or_damaged_is_said_to_be() {
    let pams = Pams::new();
    pams.run(&["run", "base.json", "--seed", "1", "--out", "out"]).success();
    fs::create_dir(pams.path("empty")).unwrap();
    let replay = |path: &str| pams.run(&["replay", path]).failure(2);
    assert_eq!(
        replay("empty"),
        "error: empty is no run folder: it has no run.json; `pams run --out` makes one\n"
    );
    assert_eq!(
        replay("missing"),
        "error: missing can't be read: there is no such file or directory\n"
    );
    let config = pams.read("out/base-1/config.json");
    pams.write("out/base-1/config.json", config.replace("300.0", "301.0"));
    let message = replay("out/base-1");
    assert!(message.starts_with("error: out/base-1/config.json is damaged: its hash is "));
    pams.write("out/base-1/config.json", config);

    let diff = |first: &str| pams.run(&["diff", first, "out/base-1"]).failure(2);
    assert_eq!(
        diff("base.json"),
        "error: base.json is damaged: line 1 is no JSON object, so this is no log\n"
    );
    let orders = fs::read(pams.path("out/base-1/orders.parquet")).unwrap();
    pams.write("out/base-1/orders.parquet", &orders[..orders.len() / 2]);
    let message = pams.run(&["diff", "out/base-1", "out/base-1"]).failure(2);
    assert!(message.starts_with("error: out/base-1/orders.parquet is damaged: "), "{message}");
}

#[test]
fn a_difference_is_shown_with_what_came_before() {
    let pams = Pams::new();
    pams.run(&["run", "base.json", "--seed", "1", "--out", "out", "--log", "1.jsonl"]).success();
    let equal = pams.run(&["diff", "out/base-1", "1.jsonl"]).success();
    assert!(equal.starts_with("out/base-1 and 1.jsonl are equal: "), "{equal}");

    let log = pams.read("1.jsonl");
    let lines: Vec<&str> = log.lines().collect();
    let number = lines.iter().rposition(|line| line.contains("\"type\":\"order\"")).unwrap();
    let mut changed = json(lines[number]);
    changed["volume"] = 77.into();
    changed["agent"] = "Nobody".into();
    let mut other = lines.clone();
    let changed = changed.to_string();
    other[number] = &changed;
    pams.write("2.jsonl", other.join("\n"));
    let outcome = pams.run(&["diff", "out/base-1", "2.jsonl", "--context", "2"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let agent = &json(lines[number])["agent"];
    let expected = [
        "A = out/base-1".to_owned(),
        "B = 2.jsonl".to_owned(),
        format!("the first difference is in record {number}"),
        format!("    {}", lines[number - 2]),
        format!("    {}", lines[number - 1]),
        format!("A   {}", lines[number]),
        format!("B   {changed}"),
        format!("    agent: {agent} in A, \"Nobody\" in B"),
        "    volume: 1 in A, 77 in B".to_owned(),
    ];
    assert_eq!(outcome.stdout.lines().collect::<Vec<_>>(), expected);

    pams.write("short.jsonl", lines[..number].join("\n"));
    let outcome = pams.run(&["diff", "short.jsonl", "1.jsonl"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("\nA   has ended\n"), "{}", outcome.stdout);
}

/// A run that is much longer than a test may be, kept in `out`.
fn start_long(pams: &Pams) -> Child {
    let long = BASE.replace("\"iterationSteps\": 30", "\"iterationSteps\": 1000000000");
    pams.write("long.json", long);
    let mut command = pams.command(&["run", "long.json", "--seed", "1", "--out", "out"]);
    command.args(["--out-format", "csv"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    // It is in the middle when some of a table is on disk.
    while partial(pams).is_none_or(|path| {
        fs::metadata(path.join("steps.csv")).map_or(0, |metadata| metadata.len()) == 0
    }) {
        let ended = child.try_wait().expect("the command can be asked");
        assert!(ended.is_none(), "the run ended by itself: {ended:?}");
        // The condition is the table; this only leaves the processor to the run.
        thread::sleep(Duration::from_millis(1));
    }
    child
}

fn partial(pams: &Pams) -> Option<std::path::PathBuf> {
    let out = pams.path("out");
    let names = if out.exists() { entries(&out) } else { Vec::new() };
    names.into_iter().find(|name| name.contains(".partial-")).map(|name| out.join(name))
}

#[test]
fn a_killed_run_leaves_nothing_under_its_name_and_the_next_one_cleans_up() {
    let pams = Pams::new();
    let next = |seed: &str| pams.run(&["run", "base.json", "--seed", seed, "--out", "out"]);
    let mut child = start_long(&pams);
    let hidden = partial(&pams).expect("it is being written");
    let hidden = hidden.file_name().unwrap().to_str().unwrap().to_owned();
    next("1").success();
    assert_eq!(entries(&pams.path("out")), [&hidden, "base-1"], "a living run is left alone");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(entries(&pams.path("out")), [&hidden, "base-1"], "there is no long-1");
    next("2").success();
    assert_eq!(entries(&pams.path("out")), ["base-1", "base-2"]);
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let pams = Pams::new();
    let child = start_long(&pams);
    let status = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(status.expect("there is a kill command").success());
    let outcome = Outcome::from(child.wait_with_output().expect("the command ends"));
    let message = outcome.failure(130);
    assert!(message.ends_with("\n  nothing of the run is kept in out\n"), "{message}");
    assert_eq!(entries(&pams.path("out")), [""; 0]);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_table() {
    let pams = Pams::new();
    let long = BASE.replace("\"iterationSteps\": 30", "\"iterationSteps\": 1000000000");
    pams.write("long.json", long);
    fs::create_dir(pams.path("out")).unwrap();
    let in_small_disk = |program: &Path, arguments: &[&str]| {
        let script = "mount -t tmpfs -o size=1m tmpfs out && \"$0\" \"$@\"; code=$?; \
                      ls -A out; exit $code";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(program).args(arguments);
        command.current_dir(pams.path(".")).output()
    };
    let tried = in_small_disk(Path::new("true"), &[]);
    if !tried.is_ok_and(|output| output.status.success()) {
        return skipped("no private mount namespace for a small disk");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_pams-with-test-classes"));
    for format in ["csv", "jsonl", "parquet"] {
        let arguments = ["run", "long.json", "--seed", "1", "--out", "out", "--out-format", format];
        let outcome = Outcome::from(in_small_disk(program, &arguments).expect("it was tried"));
        // What is left in the folder would be on standard output.
        let message = outcome.failure(1);
        let (first, rest) = message.split_once('\n').expect("there are two lines");
        let table = first.strip_prefix("error: out/long-1/").expect("it names the table");
        let (table, reason) = table.split_once(' ').expect("there is a reason");
        let (table, ending) = table.split_once('.').expect("it is a file");
        assert!(TABLES.contains(&table) && ending == format, "{first}");
        assert_eq!(
            reason,
            "can't be written: the disk is full; free some space, or choose a folder on another disk"
        );
        assert_eq!(rest, "  nothing of the run is kept in out\n");
    }
}

#[test]
fn a_folder_without_permission_is_an_error_before_the_run() {
    const NOBODY: &str = "65534";
    let pams = Pams::new();
    fs::create_dir(pams.path("out")).unwrap();
    let run = ["run", "base.json", "--seed", "1", "--out"];
    for mode in [("out", 0o555), (".", 0o755)] {
        fs::set_permissions(pams.path(mode.0), fs::Permissions::from_mode(mode.1)).unwrap();
    }
    let mut command = pams.command(&[&run[..], &["out"]].concat());
    if fs::write(pams.path("out/probe"), "").is_ok() {
        // The superuser may write everywhere: let an unprivileged user try.
        fs::remove_file(pams.path("out/probe")).unwrap();
        let program = pams.path("pams");
        fs::copy(env!("CARGO_BIN_EXE_pams-with-test-classes"), &program).unwrap();
        let as_nobody = |arguments: &[&str]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
            command.arg(&program).args(arguments).current_dir(pams.path("."));
            command
        };
        let tried = as_nobody(&["--version"]).output();
        if !tried.is_ok_and(|output| output.status.success()) {
            return skipped("no unprivileged user can run the command here");
        }
        command = as_nobody(&[&run[..], &["out"]].concat());
    }
    assert_eq!(
        Outcome::of(&mut command).failure(1),
        "error: out/base-1 can't be written: you have no permission; choose a folder that you may \
         write to\n"
    );
    let message = pams.run(&[&run[..], &["base.json"]].concat()).failure(1);
    assert_eq!(
        message,
        "error: base.json can't be written: a part of its path is no directory; choose a folder \
         that you may write to\n"
    );
}

#[test]
fn options_of_run_folders_need_a_run_folder() {
    let pams = Pams::new();
    for options in [
        &["--out-format", "csv"][..],
        &["--depth", "3"],
        &["--out", "out", "--depth-every", "3"],
        &["--out", "out", "--out-format", "xls"],
        &["--out", "out", "--depth", "0"],
    ] {
        pams.run(&[&["run", "base.json"], options].concat()).failure(2);
        assert!(!pams.path("out").exists(), "{options:?}");
    }
}

#[test]
fn every_column_is_in_the_guide() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/guide/results.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let pams = Pams::new();
    let run = ["run", "base.json", "--seed", "1", "--out", "out", "--out-format", "csv"];
    pams.run(&[&run[..], &["--depth", "1"]].concat()).success();
    for table in TABLES.iter().chain(&["depth"]) {
        let text = pams.read(&format!("out/base-1/{table}.csv"));
        let header = text.lines().next().expect("there is a header");
        // The rows of the guide's table of this name.
        let section = page.split(&format!("\n### {table}\n")).nth(1).expect("it has a section");
        let section = section.split("\n#").next().unwrap_or_default();
        let missing: Vec<&str> =
            header.split(',').filter(|column| !section.contains(&format!("`{column}`"))).collect();
        assert!(missing.is_empty(), "the guide's section {table} does not have {missing:?}");
    }
}

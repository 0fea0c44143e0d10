//! What run folders can hold, and what is said of folders that are damaged.

use std::fs;
use std::path::Path;

use pams_core::{
    Account, AgentId, ExecutionRecord, MarketId, OrderId, OrderRecord, Record, SessionId,
    SessionRecord, Side, Step, Volume,
};
use pams_results::{Error, ErrorKind, RunFacts, RunFolder, RunWriter, TableFormat, WriteOptions};
use pams_runner::{
    Logger, NameTable, RecordHash, RecordHasher, RunReport, Runner, SequentialRunner,
};
use serde_json::json;

/// A report, which only a run can make.
fn report() -> RunReport {
    let config = json!({"simulation": {"markets": [], "agents": [], "sessions": []}});
    let builder = SequentialRunner::builder().config_value(config);
    builder.build().and_then(Runner::run).expect("nothing runs well")
}

/// Names that are awkward in one format or another.
fn names() -> NameTable {
    let agents = ["NA", "ü, \"quoted\"", "two\nlines", ""].map(str::to_owned);
    NameTable::from_lists(vec!["a,b".to_owned(), "\\".to_owned()], agents, vec![String::new()])
}

fn order(number: i64, price: Option<f64>, volume: u64, time_to_live: Option<u64>) -> OrderRecord {
    OrderRecord {
        time: Step(number),
        market: MarketId(1),
        order_id: OrderId(number.unsigned_abs()),
        agent: AgentId(2),
        side: if number % 2 == 0 { Side::Buy } else { Side::Sell },
        price,
        volume: Volume(volume),
        time_to_live,
    }
}

fn execution(number: u32, price: f64) -> Record {
    Record::Execution(ExecutionRecord {
        time: Step(number.into()),
        market: MarketId(number % 2),
        buy_agent: AgentId(number % 4),
        sell_agent: AgentId(3),
        buy_order_id: OrderId(u64::from(number) << 20),
        sell_order_id: OrderId(0),
        price,
        volume: Volume(1 << 53),
    })
}

/// Writes records and accounts, and reads the folder's hash beside that of what was written.
fn keep(
    parent: &Path,
    format: TableFormat,
    records: &[Record],
    accounts: &[Account],
) -> (RunFolder, RecordHash) {
    let options = WriteOptions { format, ..WriteOptions::default() };
    let mut writer = RunWriter::create(parent, format.as_str(), options).expect("it is writable");
    let (names, mut hasher) = (names(), RecordHasher::new());
    for record in records {
        hasher.record(record);
        writer.record(record, &names).expect("it can be written");
    }
    for (index, account) in accounts.iter().enumerate() {
        let agent = AgentId::from_index(index);
        hasher.account(agent, account);
        writer.account(agent, account, &names).expect("it can be written");
    }
    writer.finish().expect("it can be written");
    let path = writer.publish(&report(), &json!({}), RunFacts::default()).expect("it is writable");
    (RunFolder::open(path).expect("it can be read"), hasher.finish())
}

fn extremes() -> Vec<Record> {
    let largest = i64::MAX.unsigned_abs();
    let session = SessionRecord { session: SessionId(0), time: Step(0) };
    vec![
        Record::SimulationBegin(Step::BEFORE_START),
        Record::SessionBegin(session),
        Record::Order(order(0, Some(0.1 + 0.2), 1, None)),
        Record::Order(order(1, None, 1 << 53, Some(0))),
        Record::Cancel(order(i64::MAX, Some(1e300), 0, Some(largest))),
        Record::Expiration(order(-1, Some(f64::MIN_POSITIVE), largest, Some(1))),
        Record::Order(order(2, Some(-5e-324), 1, None)),
        execution(0, f64::NAN),
        execution(u32::MAX, 123_456_789.123_456_79),
        Record::SessionEnd(session),
        Record::SimulationEnd(Step(i64::MAX)),
    ]
}

fn accounts() -> Vec<Account> {
    let all: std::sync::Arc<[MarketId]> = vec![MarketId(0), MarketId(1)].into();
    let mut accounts: Vec<Account> =
        [0.1, -1e300, 1e-300, 5.0].map(|cash| Account::new(cash, all.clone())).into();
    accounts[1].set_holding(MarketId(1), i64::MIN);
    accounts[2] = Account::new(0.0, Vec::new().into());
    accounts
}

#[test]
fn extreme_values_and_awkward_names_come_back_as_they_were() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    for format in TableFormat::ALL {
        let (folder, hash) = keep(parent.path(), format, &extremes(), &accounts());
        assert_eq!(folder.hash_tables().expect("it can be read"), hash, "{format}");
        let names: Result<Vec<String>, Error> = folder
            .accounts()
            .expect("it can be opened")
            .map(|row| row.map(|row| row.name.to_string()))
            .collect();
        let names = names.expect("they can be read");
        assert_eq!(names, ["NA", "ü, \"quoted\"", "two\nlines", ""], "{format}");
    }
}

#[test]
fn infinity_comes_back_where_the_format_has_it() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    let records = [execution(0, f64::INFINITY), execution(1, f64::NEG_INFINITY)];
    for format in TableFormat::ALL {
        let (folder, hash) = keep(parent.path(), format, &records, &[]);
        let is_same = folder.hash_tables().expect("it can be read") == hash;
        assert_eq!(is_same, format != TableFormat::JsonLines, "{format}");
    }
}

#[test]
fn a_time_to_live_beyond_63_bits_is_the_largest_one() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    let records = [Record::Order(order(0, None, 1, Some(u64::MAX)))];
    for format in TableFormat::ALL {
        let (folder, _) = keep(parent.path(), format, &records, &[]);
        let row = folder.orders().expect("it can be opened").next().expect("there is an order");
        let ttl = row.expect("it can be read").record.time_to_live;
        assert_eq!(ttl, Some(i64::MAX.unsigned_abs()), "{format}");
    }
}

#[test]
fn tables_of_many_batches_are_put_together() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    let records: Vec<Record> = (0..150_000_u32)
        .map(|number| match number % 3 {
            0 => execution(number, f64::from(number) / 7.0),
            _ => Record::Order(order(number.into(), Some(f64::from(number)), 1, None)),
        })
        .collect();
    let (folder, hash) = keep(parent.path(), TableFormat::Parquet, &records, &[]);
    assert_eq!(folder.info().tables.rows["orders"], 100_000);
    assert_eq!(folder.hash_tables().expect("it can be read"), hash);
    let read: Result<Vec<Record>, Error> = folder.records().expect("they can be opened").collect();
    assert_eq!(read.expect("they can be read"), records);
}

#[test]
fn a_run_without_records_has_empty_tables() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    for format in TableFormat::ALL {
        let begin = [Record::SimulationBegin(Step::BEFORE_START)];
        let (folder, hash) = keep(parent.path(), format, &begin, &[]);
        assert_eq!(folder.steps().expect("it can be opened").count(), 0);
        assert_eq!(folder.hash_tables().expect("it can be read"), hash, "{format}");
        assert!(folder.depth().expect("it can be asked for").is_none());
    }
}

/// Changes a table of a CSV folder and says what reading all records answers.
fn damaged(file: &str, change: impl Fn(&str) -> String) -> String {
    let parent = tempfile::tempdir().expect("a folder can be made");
    let (folder, _) = keep(parent.path(), TableFormat::Csv, &extremes(), &accounts());
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).expect("it can be read");
    let changed = change(&text);
    assert_ne!(changed, text);
    fs::write(&path, changed).expect("it can be written");
    let error = RunFolder::open(folder.path())
        .and_then(|folder| folder.hash_tables())
        .expect_err("it is damaged");
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
    error.to_string().replace(&format!("{}/", parent.path().display()), "")
}

#[test]
fn damage_is_named() {
    let without_record_3 = |text: &str| {
        let (before, rest) = text.split_once("\n3,").expect("it is there");
        let (_, after) = rest.split_once("\n6,").expect("it is the next one");
        format!("{before}\n6,{after}")
    };
    let cases = [
        damaged("orders.csv", without_record_3),
        damaged("orders.csv", |text| text.replace("order_id", "number")),
        damaged("orders.csv", |text| text.replace(",buy,", ",bought,")),
        damaged("executions.csv", |text| text.replace("NaN", "many")),
        damaged("orders.csv", |text| text.replacen("\n2,", "\n-2,", 1)),
        damaged("run.json", |text| text.replace("\"format\": 1", "\"format\": 9")),
        damaged("run.json", |text| text.replace("\"seed\"", "\"sead\"")),
        damaged("accounts.csv", |text| text.replace("\n0,NA", "\n7,NA")),
    ];
    let expected = [
        "csv is damaged: record 3 is in no table, but later ones are",
        "csv/orders.csv is damaged: there is no column `order_id`",
        "csv/orders.csv is damaged: the side `bought` is neither `buy` nor `sell`",
        "csv/executions.csv is damaged: line 2: `many` is no value of `price`",
        "csv/orders.csv is damaged: there is a -2 where nothing is negative",
        "csv/run.json is damaged: its format is 9, and this program reads 1",
        "csv/run.json is damaged: missing field `seed`",
        "csv/accounts.csv is damaged: agents or markets are not in their order",
    ];
    for (found, expected) in cases.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn what_is_sent_between_threads_is_send() {
    fn assert_send<T: Send>() {}
    assert_send::<RunWriter>();
    assert_send::<Error>();
    assert_send::<RunFolder>();
}

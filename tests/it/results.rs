//! Run folders hold every record of a run, in every format, and change nothing.

use std::io;
use std::path::Path;

use pams_core::{Account, AgentId, MarketView, Record, Side, Step, Volume};
use pams_results::{
    Comparison, Depth, DepthRow, RunFacts, RunFolder, RunWriter, TableFormat, WriteOptions,
    first_difference,
};
use pams_runner::{Logger, MemorySaver, NameTable, RunReport, Runner, SequentialRunner};
use pams_tests::{Reference, references};
use serde_json::Value as Json;

/// What the markets were at the end of each step, looked at by other means than the writer's.
#[derive(Default)]
struct Watcher {
    steps: Vec<MarketState>,
    depth: Vec<Level>,
}

type Prices = [Option<f64>; 4];
type MarketState = (Step, Prices, Volume, f64, [u64; 2]);
type Level = (Step, u32, Side, u32, f64, Volume, u64);

const DEPTH: Depth = Depth { levels: 2, every: 3 };

impl Logger for Watcher {
    fn record(&mut self, _record: &Record, _names: &NameTable) -> io::Result<()> {
        Ok(())
    }

    fn step_ended(&mut self, markets: &[MarketView], _names: &NameTable) -> io::Result<()> {
        for market in markets {
            let (time, values) = (market.time(), market.values());
            let prices = [
                market.best_bid(),
                market.best_ask(),
                values.mid_price,
                values.last_executed_price,
            ];
            let orders = [values.n_buy_orders, values.n_sell_orders];
            let (volume, value) = (values.executed_volume, values.executed_value);
            self.steps.push((time, prices, volume, value, orders));
            if time.0 % 3 == 0 {
                for side in [Side::Buy, Side::Sell] {
                    let levels =
                        (0..).zip(market.depth(side).take(2)).map(|(number, (price, level))| {
                            (time, market.id().0, side, number, price, level.volume, level.n_orders)
                        });
                    self.depth.extend(levels);
                }
            }
        }
        Ok(())
    }
}

/// A run with a folder, and what else was seen of it.
struct Kept {
    report: RunReport,
    saver: MemorySaver,
    watcher: Watcher,
    config: Json,
    folder: RunFolder,
}

fn builder<'l>(reference: &Reference) -> pams_runner::RunnerBuilder<'l> {
    SequentialRunner::builder()
        .registry(pams_tests::registry())
        .config_text(reference.config.as_bytes())
        .seed(reference.seed)
}

/// None for a config with mistakes, and for a run that fails, which leaves no folder.
fn keep(reference: &Reference, format: TableFormat, parent: &Path) -> Option<Kept> {
    let builder = builder(reference);
    let config = builder.check().ok()?.resolved;
    let (mut saver, mut watcher) = (MemorySaver::default(), Watcher::default());
    let options = WriteOptions { format, depth: Some(DEPTH), ..WriteOptions::default() };
    let name = format!("{}-{format}", reference.name);
    let mut writer = RunWriter::create(parent, &name, options).expect("it can be written");
    let outcome = builder
        .logger(&mut saver)
        .logger(&mut watcher)
        .logger(&mut writer)
        .build()
        .and_then(Runner::run);
    let Ok(report) = outcome else {
        drop(writer);
        let rest = std::fs::read_dir(parent).expect("it can be listed").count();
        assert_eq!(rest, 0, "a run that failed leaves nothing");
        return None;
    };
    let path = writer.publish(&report, &config, RunFacts::default()).expect("it can be written");
    let folder = RunFolder::open(path).expect("it can be read");
    Some(Kept { report, saver, watcher, config, folder })
}

/// Compares what the tables say with what was seen.
fn check(kept: &Kept) {
    let Kept { report, saver, watcher, folder, .. } = kept;
    let all = |records: pams_results::Records| {
        records.collect::<Result<Vec<Record>, _>>().expect("the tables can be read")
    };
    assert_eq!(all(folder.records().expect("they can be opened")), saver.records());
    assert_eq!(Some(folder.hash_tables().expect("they can be read")), report.records_hash);
    assert_eq!(folder.records_hash().expect("it is a hash"), report.records_hash);

    let names = saver.names().expect("there was a run");
    let read = folder.names().expect("they can be read");
    for agent in (0..names.n_agents()).map(AgentId::from_index) {
        assert_eq!(read.agent(agent), names.agent(agent));
    }
    check_accounts(folder, saver.accounts());

    let steps = folder.steps().expect("they can be opened").map(|row| {
        let row = row.expect("they can be read");
        let prices = [row.best_bid, row.best_ask, row.mid_price, row.last_executed_price];
        let orders = [row.n_buy_orders, row.n_sell_orders];
        (row.record.time, prices, row.executed_volume, row.executed_value, orders)
    });
    assert_eq!(steps.collect::<Vec<MarketState>>(), watcher.steps);

    let depth = folder.depth().expect("it can be opened").expect("it was asked for");
    let depth = depth.map(|row| {
        let row: DepthRow = row.expect("it can be read");
        (row.time, row.market.0, row.side, row.level, row.price, row.volume, row.n_orders)
    });
    assert_eq!(depth.collect::<Vec<Level>>(), watcher.depth);
}

fn check_accounts(folder: &RunFolder, expected: &[Account]) {
    let rows = folder.accounts().expect("they can be opened");
    let cash: Vec<f64> = rows.map(|row| row.expect("they can be read").cash).collect();
    assert_eq!(cash, expected.iter().map(Account::cash).collect::<Vec<f64>>());
    let rows = folder.holdings().expect("they can be opened");
    let held = rows.map(|row| row.expect("they can be read"));
    let held: Vec<_> = held.map(|row| (row.agent.index(), row.market, row.units)).collect();
    let expected = expected.iter().enumerate().flat_map(|(agent, account)| {
        account.holdings().map(move |(market, units)| (agent, market, units))
    });
    assert_eq!(held, expected.collect::<Vec<_>>());
}

#[test]
fn the_tables_hold_every_record_and_change_none() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    let mut n_runs = 0;
    for reference in references("random.jsonl.gz").expect("the data is readable").step_by(20) {
        let reference = reference.expect("the data is readable");
        let plain = builder(&reference).build().and_then(Runner::run).map_err(|e| e.to_string());
        for format in TableFormat::ALL {
            let Some(kept) = keep(&reference, format, parent.path()) else {
                assert!(plain.is_err(), "{} fails only when it is kept", reference.name);
                continue;
            };
            n_runs += 1;
            assert_eq!(plain.as_ref(), Ok(&kept.report), "{} as {format}", reference.name);
            check(&kept);
            // The config of the folder gives the same run by itself.
            kept.folder.check_config().expect("it is unchanged");
            let again = builder(&reference).config_path(kept.folder.config_path());
            assert_eq!(again.check().expect("it is a config").resolved, kept.config);
            let again = again.build().and_then(Runner::run).expect("it runs");
            assert_eq!(again, kept.report, "{}", reference.name);
            std::fs::remove_dir_all(kept.folder.path()).expect("it can be removed");
        }
    }
    assert!(n_runs >= 30, "{n_runs} runs were compared");
}

#[test]
fn formats_do_not_matter_to_a_comparison_and_seeds_do() {
    let parent = tempfile::tempdir().expect("a folder can be made");
    let mut all = references("random.jsonl.gz").expect("the data is readable");
    let mut reference = all.next().expect("there is one").expect("the data is readable");
    let mut kept = |seed, format| {
        reference.seed = seed;
        reference.name = format!("run-{seed}");
        keep(&reference, format, parent.path()).expect("it runs").folder
    };
    let first = kept(1, TableFormat::Parquet);
    let same = kept(1, TableFormat::JsonLines);
    let other = kept(2, TableFormat::Csv);
    let lines = |folder: &RunFolder| folder.log_lines().expect("they can be opened");
    let found = first_difference(lines(&first), lines(&same), 2).expect("they can be read");
    let Comparison::Equal { entries } = found else { panic!("{found:?}") };
    assert_eq!(entries, lines(&first).count() as u64);
    let found = first_difference(lines(&first), lines(&other), 2).expect("they can be read");
    let Comparison::Different(found) = found else { panic!("{found:?}") };
    let nth = |folder: &RunFolder, number: usize| {
        lines(folder).nth(number).map(|line| line.expect("they can be read"))
    };
    let number = usize::try_from(found.number).expect("it is small");
    assert_eq!((found.first, found.second), (nth(&first, number), nth(&other, number)));
    assert_ne!(nth(&first, number), nth(&other, number));
    assert!(!found.fields.is_empty());
    for (index, line) in found.before.iter().rev().enumerate() {
        assert_eq!(nth(&first, number - 1 - index).as_ref(), Some(line));
        assert_eq!(nth(&other, number - 1 - index).as_ref(), Some(line));
    }
}

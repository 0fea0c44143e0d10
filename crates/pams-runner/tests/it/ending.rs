//! Runs that end early: errors, a stop, a logger that can't write.

use std::io;
use std::sync::Arc;

use pams_core::{Account, AgentId, Record, StepRecord};
use pams_runner::{ErrorKind, Logger, MemorySaver, NameTable, RunControl};
use serde_json::{Value as Json, json};

use crate::bidder::{builder, config, run, session};

fn long() -> Json {
    config(&[session(20, &json!({"maxNormalOrders": 3}))], &json!({"numAgents": 5}), &json!({}))
}

/// Runs a config that fails: the text, and whether it was counted as an error of the run.
#[track_caller]
fn failure(config: &Json) -> (String, MemorySaver) {
    let mut saver = MemorySaver::default();
    let error = builder(config).logger(&mut saver).build().unwrap().run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Run(_)), "{error:?}");
    assert!(!error.is_interrupted() && error.config_error().is_none());
    (error.to_string(), saver)
}

#[test]
fn an_agents_error_names_step_and_agent_and_leaves_the_log() {
    let mut config = long();
    config["Slow"]["numAgents"] = json!(1);
    config["Slow"]["failAt"] = json!(3);
    let (text, saver) = failure(&config);
    assert_eq!(text, "step 3, agent Slow: no more ideas");
    let steps = saver.market_prices("M").count();
    assert_eq!(steps, 3, "everything before the failure was shown");
    assert!(saver.accounts().is_empty());
}

#[test]
fn a_high_frequency_agents_error_is_told_alike() {
    let mut config = long();
    config["Fast"]["numAgents"] = json!(2);
    config["Fast"]["failAt"] = json!(0);
    config["Fast"]["prefix"] = json!("Quick");
    let (text, _) = failure(&config);
    assert!(
        ["step 0, agent Quick0: no more ideas", "step 0, agent Quick1: no more ideas"]
            .contains(&text.as_str()),
        "{text}"
    );
}

#[test]
fn a_refused_order_names_step_agent_and_market() {
    let mut config = long();
    config["Slow"] = json!({"class": "Bidder", "markets": ["M"], "cashAmount": 0, "assetVolume": 0,
                            "volume": 0});
    let (text, _) = failure(&config);
    assert_eq!(text, "step 0, agent Slow: market M: the volume of an order must be at least 1");
}

#[test]
fn an_fcn_agent_that_can_not_expect_a_price_is_named() {
    let mut config = long();
    config["Slow"] = json!({
        "class": "FCNAgent", "markets": ["M"], "cashAmount": 0, "assetVolume": 0,
        "fundamentalWeight": 1, "chartWeight": 0, "noiseWeight": 0, "noiseScale": 0,
        "timeWindowSize": 1_000_000, "orderMargin": 0, "meanReversionTime": 1
    });
    config["M"]["fundamentalPrice"] = json!(301);
    let (text, _) = failure(&config);
    let expected = "step 0, agent Slow: the expected price in market M is inf: ";
    assert!(text.starts_with(expected), "{text}");
}

/// Stops the run when a step was recorded.
struct StopAt(i64, Arc<RunControl>);

impl Logger for StopAt {
    fn record(&mut self, record: &Record, _: &NameTable) -> io::Result<()> {
        if let Record::Step(StepRecord { time, .. }) = record
            && time.0 == self.0
        {
            self.1.stop();
        }
        Ok(())
    }
}

#[test]
fn a_stopped_run_ends_after_its_step_and_its_log_is_complete() {
    let (_, all) = run(&long());
    let control = Arc::new(RunControl::default());
    let mut saver = MemorySaver::default();
    let error = builder(&long())
        .control(Arc::clone(&control))
        .logger(StopAt(4, Arc::clone(&control)))
        .logger(&mut saver)
        .build()
        .unwrap()
        .run()
        .unwrap_err();
    assert!(error.is_interrupted());
    assert_eq!(error.to_string(), "interrupted at step 5");
    assert_eq!((control.steps_done(), control.steps_in_all()), (5, 20));
    let n_records = saver.records().len();
    assert_eq!(saver.records(), &all.records()[..n_records]);
    assert_eq!(saver.market_prices("M").count(), 5);
}

#[test]
fn a_control_that_is_not_used_changes_nothing() {
    let control = Arc::new(RunControl::default());
    let watched = builder(&long()).control(Arc::clone(&control)).build().unwrap().run().unwrap();
    assert_eq!(watched, run(&long()).0);
    assert_eq!((control.steps_done(), control.steps_in_all()), (20, 20));
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Record(usize),
    Account,
    Finish,
}

/// Can't write at one moment.
struct Full {
    moment: Moment,
    n_records: usize,
}

impl Full {
    fn at(&self, moment: Moment) -> io::Result<()> {
        if self.moment == moment { Err(io::Error::other("the disk is full")) } else { Ok(()) }
    }
}

impl Logger for Full {
    fn record(&mut self, _: &Record, _: &NameTable) -> io::Result<()> {
        self.n_records += 1;
        self.at(Moment::Record(self.n_records))
    }
    fn account(&mut self, _: AgentId, _: &Account, _: &NameTable) -> io::Result<()> {
        self.at(Moment::Account)
    }
    fn finish(&mut self) -> io::Result<()> {
        self.at(Moment::Finish)
    }
}

#[test]
fn a_logger_that_can_not_write_ends_the_run_with_an_error() {
    for moment in [Moment::Record(1), Moment::Record(9), Moment::Account, Moment::Finish] {
        let full = Full { moment, n_records: 0 };
        let mut other = MemorySaver::default();
        let error =
            builder(&long()).logger(full).logger(&mut other).build().unwrap().run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Log(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the records could not be written: the disk is full",
            "{moment:?}"
        );
        let steps = other.market_prices("M").count();
        match moment {
            Moment::Record(_) => assert!(steps < 20, "{moment:?}: {steps} steps"),
            Moment::Account | Moment::Finish => assert_eq!(steps, 20),
        }
    }
}

#[test]
fn an_error_of_the_run_comes_before_one_of_a_logger() {
    let mut config = long();
    config["Slow"]["failAt"] = json!(3);
    let full = Full { moment: Moment::Finish, n_records: 0 };
    let error = builder(&config).logger(full).build().unwrap().run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Run(_)), "{error:?}");
}

#[test]
fn without_a_config_there_is_nothing_to_build() {
    let error = pams_runner::SequentialRunner::builder().build().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoConfig));
    let error = pams_runner::SequentialRunner::builder()
        .config_path("/nowhere/at/all.json")
        .build()
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Read(_)));
    assert!(error.to_string().starts_with("/nowhere/at/all.json: "), "{error}");
}

#[test]
fn correlations_that_contradict_each_other_name_their_pairs() {
    let mut config = long();
    config["M"] = json!({"class": "Market", "tickSize": 1, "marketPrice": 300, "numMarkets": 3,
                         "fundamentalVolatility": 0.1});
    config["simulation"]["fundamentalCorrelations"] = json!({"pairwise": [
        ["M-0", "M-1", 0.9], ["M-0", "M-2", 0.9], ["M-1", "M-2", -0.9]]});
    let error = builder(&config).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "simulation.fundamentalCorrelations (M-0 and M-1 0.9, M-0 and M-2 0.9, M-1 and M-2 -0.9): \
         the correlations contradict each other: their matrix is not positive definite \
         (bring some of them nearer to 0)"
    );
}

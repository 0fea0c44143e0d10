//! What goes wrong says the same wherever it happens.

use std::time::Duration;

use pams_runner::{
    MultiThreadAgentParallelRunner, ProcessExecutor, Purity, RunnerBuilder, SequentialRunner,
};
use pams_tests::neural::Faulty;
use pams_torch::TorchAgentParallelRunner;

use crate::{HELPER, config, count, outcome};

/// Every runner, with 2 workers where it has workers.
fn runners() -> Vec<(&'static str, RunnerBuilder<'static>)> {
    let mut torch = TorchAgentParallelRunner::new();
    torch.executable = Some(HELPER.into());
    let processes = ProcessExecutor::new().executable(HELPER);
    [
        ("sequential", SequentialRunner::builder()),
        ("threads", MultiThreadAgentParallelRunner::builder()),
        ("processes", RunnerBuilder::default().executor(processes)),
        ("torch", torch.builder()),
    ]
    .map(|(name, builder)| (name, builder.num_parallel(count(2))))
    .into()
}

/// Troublemakers only.
fn trouble(kind: &str) -> String {
    only(&config("Troublemaker", &format!(r#", "trouble": "{kind}""#)))
}

/// A config without networks, whose other agents are all asked in every step.
fn only(config: &str) -> String {
    config
        .replace(r#"["Networks", "Twins", "Others"]"#, r#"["Others"]"#)
        .replace("\"maxNormalOrders\": 5", "\"maxNormalOrders\": 2")
}

/// What all runners say of a config, which must be the same.
fn said_by_all(config: &str, purity: Purity) -> String {
    let mut said = runners().into_iter().map(|(name, builder)| {
        let text = outcome(builder.purity(purity), config);
        (name, text)
    });
    let (_, expected) = said.next().expect("there are runners");
    for (name, text) in said {
        assert_eq!(text, expected, "{name}");
    }
    expected
}

#[test]
fn an_agent_that_fails_is_named_with_its_words() {
    for (kind, words) in
        [("error", ": no more money"), ("panic", ": the agent panicked: no more patience")]
    {
        let text = said_by_all(&trouble(kind), Purity::Trusted);
        assert!(text.starts_with("error: step 5, agent Others-"), "{text}");
        assert!(text.ends_with(words), "{text}");
    }
}

#[test]
fn an_agent_that_cancels_the_order_of_another_is_named() {
    let text = said_by_all(&trouble("cancel"), Purity::Trusted);
    assert!(text.starts_with("error: step 5, agent Others-"), "{text}");
    assert!(text.contains("order"), "{text}");
}

#[test]
fn an_agent_that_is_not_pure_is_found_when_it_is_looked_for() {
    for (kind, words) in [
        ("constant", "asking it changed the agent itself"),
        ("state", "asking it changed the agent's state"),
        ("answer", "it submitted other instructions"),
        ("generator", "it drew other numbers"),
    ] {
        let text = said_by_all(&trouble(kind), Purity::Checked);
        assert!(text.starts_with("error: step 5, agent Others-"), "{text}");
        assert!(text.contains("class Troublemaker is not pure: "), "{text}");
        assert!(text.contains(words), "{text}");
        let unseen = outcome(SequentialRunner::builder(), &trouble(kind));
        assert!(unseen.contains("records_hash: Some"), "{unseen}");
    }
}

#[test]
fn an_agent_that_trains_a_variable_when_it_is_asked_is_found() {
    let text = said_by_all(&only(&config("Trainer", "")), Purity::Checked);
    assert!(text.starts_with("error: step 0, agent Others-"), "{text}");
    assert!(text.contains("class Trainer is not pure: asked twice from the same state"), "{text}");
}

#[test]
fn looking_whether_agents_are_pure_changes_no_record() {
    for class in ["Historian", "Learner"] {
        let config = config(class, "");
        let expected = outcome(SequentialRunner::builder(), &config);
        assert!(expected.contains("records_hash: Some"), "{expected}");
        assert_eq!(said_by_all(&config, Purity::Checked), expected);
    }
}

#[test]
fn a_change_in_place_is_found_on_the_main_process_too() {
    let config = config("Scribbler", "");
    for builder in [SequentialRunner::builder(), MultiThreadAgentParallelRunner::builder()] {
        let text = outcome(builder.purity(Purity::Checked), &config);
        assert!(text.starts_with("error: an agent changed tensors in `submit_orders`"), "{text}");
    }
}

#[test]
fn an_initializer_that_goes_wrong_ends_the_run_with_what_it_did() {
    for (fault, words) in [
        ("panic", "the model is no model"),
        ("exit", "exited with status 7"),
        ("hang", "was not ready after 300ms"),
        ("error", "there is no model"),
    ] {
        let patience = if fault == "hang" { Duration::from_millis(300) } else { LONG };
        let plain = ProcessExecutor::<Faulty>::with_initializer(fault.to_owned())
            .executable(HELPER)
            .start_timeout(patience);
        let mut torch = TorchAgentParallelRunner::<Faulty>::with_initializer(fault.to_owned());
        torch.executable = Some(HELPER.into());
        torch.start_timeout = Some(patience);
        for builder in [RunnerBuilder::default().executor(plain), torch.builder()] {
            let text = outcome(builder.num_parallel(count(2)), &config("Historian", ""));
            assert!(text.starts_with("error: the workers failed: "), "{text}");
            assert!(text.contains(words), "{words} in {text}");
        }
    }
}

/// More than any start takes.
const LONG: Duration = Duration::from_secs(60);

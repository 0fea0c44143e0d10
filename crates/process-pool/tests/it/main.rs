//! Everything that needs a running pool. Workers are this binary, run again.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::print_stderr, reason = "a watchdog says what it ends")]

mod basics;
mod broadcast;
mod ends;
mod faults;
mod hostile;
mod inside;
mod lab;
mod limits;
mod rogue;

use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use process_pool::service;

type Test = (&'static str, fn());

fn main() {
    if lab::env("POOL_IT_FORGET").is_some() {
        return ends::forgotten();
    }
    if lab::env("POOL_IT_TWIN").is_some() {
        process_pool::init(&[service::<lab::Twin2>()]);
    }
    process_pool::init(&[
        service::<lab::Lab>(),
        service::<lab::Twin1>(),
        service::<rogue::Rogue>(),
        service::<rogue::Namesake<1>>(),
        service::<rogue::Namesake<2>>(),
    ]);
    if let Some(name) = lab::env("POOL_IT_SCENARIO") {
        return ends::scenario(&name);
    }
    let arguments = Arguments::from_args();
    let tests = [
        basics::TESTS,
        faults::TESTS,
        broadcast::TESTS,
        inside::TESTS,
        limits::TESTS,
        hostile::TESTS,
        ends::TESTS,
    ];
    let trials = tests
        .concat()
        .into_iter()
        .map(|(name, test)| Trial::test(name, move || watched(name, test)));
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// Runs a test; one that hangs ends the suite, with its name.
fn watched(name: &str, test: fn()) -> Result<(), Failed> {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let name = name.to_owned();
    std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(240))
            == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            eprintln!("watchdog: {name} hangs");
            std::process::abort();
        }
    });
    test();
    drop(done);
    Ok(())
}

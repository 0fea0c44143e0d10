//! Which types may go to other threads. This is part of the interface: it can't get lost unnoticed.

use pams_runner::{
    Error, ErrorKind, JsonLines, Logger, MarketReport, MemorySaver, NameTable, RecordHash,
    RecordHasher, RunControl, RunReport, StepPrint,
};

fn send_and_sync<T: Send + Sync>() {}
fn send<T: Send + ?Sized>() {}

#[test]
fn results_and_controls_may_be_sent_and_shared() {
    send_and_sync::<Error>();
    send_and_sync::<ErrorKind>();
    send_and_sync::<JsonLines<Vec<u8>>>();
    send_and_sync::<MarketReport>();
    send_and_sync::<MemorySaver>();
    send_and_sync::<NameTable>();
    send_and_sync::<RecordHash>();
    send_and_sync::<RecordHasher>();
    send_and_sync::<RunControl>();
    send_and_sync::<RunReport>();
    send_and_sync::<StepPrint<Vec<u8>>>();
}

#[test]
fn a_runner_may_move_to_another_thread() {
    send::<pams_runner::Runner<'static>>();
    send::<dyn Logger>();
}

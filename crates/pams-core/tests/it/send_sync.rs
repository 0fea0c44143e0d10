//! Which types may go to other threads. This is part of the interface: it can't get lost unnoticed.

use pams_core::random::{Generator, GeneratorKind, NormalStream, Permutation, RandomValue};
use pams_core::{
    Account, Book, BookOrder, Error, ErrorKind, Event, EventContext, FundamentalPriceShock,
    Fundamentals, Hook, IncomingOrder, Instruction, InstructionError, MarketChange, MarketSpec,
    MarketView, OrderMistakeShock, OrderRequest, PriceLimitRule, Record, SessionSpec, Simulator,
    SimulatorSpec, StepDelta, TickSize, TradingHaltRule,
};

fn send_and_sync<T: Send + Sync>() {}
fn send<T: Send + ?Sized>() {}

#[test]
fn what_is_shown_to_agents_may_be_sent_and_shared() {
    send_and_sync::<Account>();
    send_and_sync::<Book>();
    send_and_sync::<BookOrder>();
    send_and_sync::<MarketChange>();
    send_and_sync::<MarketSpec>();
    send_and_sync::<MarketView>();
    send_and_sync::<StepDelta>();
    send_and_sync::<TickSize>();
    send_and_sync::<Generator>();
    send_and_sync::<GeneratorKind>();
    send_and_sync::<NormalStream>();
    send_and_sync::<Permutation>();
    send_and_sync::<RandomValue>();
}

#[test]
fn what_is_written_and_asked_for_may_be_sent_and_shared() {
    send_and_sync::<Error>();
    send_and_sync::<ErrorKind>();
    send_and_sync::<Fundamentals>();
    send_and_sync::<FundamentalPriceShock>();
    send_and_sync::<Hook>();
    send_and_sync::<IncomingOrder>();
    send_and_sync::<Instruction>();
    send_and_sync::<InstructionError>();
    send_and_sync::<OrderMistakeShock>();
    send_and_sync::<OrderRequest>();
    send_and_sync::<PriceLimitRule>();
    send_and_sync::<Record>();
    send_and_sync::<SessionSpec>();
    send_and_sync::<SimulatorSpec>();
    send_and_sync::<TradingHaltRule>();
}

#[test]
fn a_simulator_may_move_to_another_thread() {
    send::<Simulator>();
    send::<dyn Event>();
    send::<EventContext<'_>>();
}

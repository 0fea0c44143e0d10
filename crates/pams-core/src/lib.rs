//! Markets with order books, events, accounts and random numbers: the exact core of an artificial-market simulation.
//!
//! A [`Simulator`] owns everything that has state but the agents. Whoever runs a simulation hands it
//! what agents want, as [`Instruction`]s; it changes the markets and tells a [`RecordSink`] what
//! happened and [`Traders`] what became of their orders.
//!
//! One market, two agents, two orders, one trade:
//!
//! ```
//! use std::sync::Arc;
//!
//! use pams_core::random::{Generator, GeneratorKind};
//! use pams_core::{
//!     Account, AgentId, MarketId, MarketSpec, OrderRequest, Record, SessionId, Side, Simulator,
//!     SimulatorSpec, Switch, TickSize,
//! };
//!
//! let spec = SimulatorSpec {
//!     markets: vec![MarketSpec::new("Market", TickSize::new(0.1)?, 300.0)],
//!     correlations: vec![],
//!     history_window: None,
//! };
//! let generator = Generator::new(GeneratorKind::default(), 42);
//! let mut simulator = Simulator::new(spec, generator)?;
//! let market = MarketId(0);
//! let (seller, buyer) = (AgentId(0), AgentId(1));
//! for _ in [seller, buyer] {
//!     simulator.add_account(Account::new(10_000.0, Arc::from([market])));
//! }
//!
//! let mut records: Vec<Record> = Vec::new();
//! simulator.begin(&mut records);
//! simulator.begin_session(SessionId(0), Switch::On, &mut records)?;
//! simulator.before_step()?;
//! let sell = OrderRequest::limit(market, Side::Sell, 299.5, 3);
//! simulator.process(seller, &[sell.into()], &mut (), &mut records)?;
//! let buy = OrderRequest::limit(market, Side::Buy, 301.0, 2).with_time_to_live(10);
//! simulator.process(buyer, &[buy.into()], &mut (), &mut records)?;
//! simulator.end_step(&mut records)?;
//! simulator.move_clock(&mut records);
//! simulator.end_session(&mut records)?;
//! simulator.end(&mut records);
//!
//! // The earlier order's price counts.
//! let fills: Vec<(f64, u64)> = records
//!     .iter()
//!     .filter_map(|record| match record {
//!         Record::Execution(fill) => Some((fill.price, fill.volume.0)),
//!         _ => None,
//!     })
//!     .collect();
//! assert_eq!(fills, [(299.5, 2)]);
//! assert_eq!(simulator.accounts()[1].cash(), 10_000.0 - 2.0 * 299.5);
//! assert_eq!(simulator.accounts()[1].holding(market), Some(2));
//! assert_eq!(simulator.markets()[0].best_ask(), Some(299.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Concepts
//!
//! - **Markets.** A [`MarketView`] is a market as everybody sees it: its [`Book`], its series, its
//!   flags. The simulator changes it through a few deterministic methods, and a copy that is told
//!   these changes ([`StepDelta`]) stays equal to it.
//! - **Prices.** An order's price is moved to the grid once ([`TickSize`]). All fills of a matching
//!   pass have one price, that of the last pair that has any.
//! - **Time.** Clocks count steps from 0 ([`Step`]). An order with a time to live leaves the book
//!   when the clock moves beyond it.
//! - **Events.** An [`Event`] is called at chosen points and may change orders, prices and flags
//!   through its [`EventContext`].
//! - **Random numbers.** Each decision maker owns a [`random::Generator`]. The same kind, seed and
//!   calls give the same bits.
//! - **Records.** Everything that happens is a [`Record`], in order.
//!
//! # Limits
//!
//! This crate reads and writes nothing, knows no clock but the simulated one, starts no threads and
//! does not know what an agent is. Volumes are at most 2⁵³ units an order, so that they are exact as
//! floats. Cash and holdings are bookkeeping: they are not checked and may go negative. How a market
//! trades is not pluggable.
#![forbid(unsafe_code)]

mod account;
mod book;
mod delta;
mod error;
mod event;
mod fundamentals;
mod ids;
mod market;
mod order;
mod quantity;
pub mod random;
mod record;
mod session;
mod simulator;
#[cfg(test)]
mod testing;
mod tick_size;
mod window;
mod world;

pub use account::Account;
pub use book::{Best, Book, BookOrder, Fill, Level, NewOrder, OrderState};
pub use delta::{MarketChange, StepDelta};
pub use error::{Error, ErrorKind, EventError, InstructionError};
pub use event::{
    Event, EventContext, EventResult, FundamentalPriceShock, Hook, HookPoint, HookTimes,
    OrderMistakeShock, PriceLimitRule, TradingHaltRule,
};
pub use fundamentals::{Correlation, FundamentalError, FundamentalSpec, Fundamentals};
pub use ids::{AgentId, MarketId, OrderId, SessionId};
pub use market::{Component, FieldValue, HistoryError, MarketSpec, MarketView, StepValues};
pub use order::{CancelRequest, IncomingOrder, Instruction, OrderKind, OrderRequest, Side};
pub use quantity::{Step, Tick, Volume};
pub use record::{ExecutionRecord, OrderRecord, Record, RecordSink, SessionRecord, StepRecord};
pub use session::{CurrentSession, SessionSpec, Switch};
pub use simulator::{Simulator, SimulatorSpec, Traders};
pub use tick_size::{Placement, PriceError, TickSize};

//! Worker processes that cannot hang: tasks, broadcasts and descriptors over shared memory, with
//! every death noticed.
//!
//! A pool runs one [`Service`]: state that is made once in each worker process, and requests that
//! are answered from it. Whatever a worker does (panic, exit, be killed, run out of memory, take
//! for ever), every task ends with an answer or an error that says what happened, and however the
//! program ends, no process, descriptor, file or shared memory of the pool remains.
//!
//! # Example
//!
//! ```standalone_crate
//! use process_pool::{BoxError, Context, ProcessPool, Service};
//!
//! struct Squares;
//!
//! impl Service for Squares {
//!     const NAME: &'static str = "squares";
//!     type Args = ();
//!     type Request = u64;
//!     type Answer = u64;
//!     type Update = ();
//!
//!     fn start((): (), _: &Context) -> Result<Self, BoxError> {
//!         Ok(Self)
//!     }
//!
//!     fn call(&mut self, n: u64, _: &Context) -> Result<u64, BoxError> {
//!         n.checked_mul(n).ok_or_else(|| format!("{n} squared is too large").into())
//!     }
//! }
//!
//! fn main() -> Result<(), process_pool::Error> {
//!     // A worker is this executable, run again; in a worker this line never returns.
//!     process_pool::init(&[process_pool::service::<Squares>()]);
//!
//!     let pool = ProcessPool::<Squares>::builder(&()).workers(2).build()?;
//!     assert_eq!(pool.map(&[1, 2, 3])?, [1, 4, 9]);
//!     assert!(pool.submit(&u64::MAX)?.wait().is_err());
//!     pool.shutdown()
//! }
//! ```
//!
//! # Concepts
//!
//! **The line at the top of `main`.** [`init`] turns a process that a pool has started into a
//! worker. A program that forgets it gets an error from [`Builder::build`], before any process is
//! started. A library or a test harness without a `main` of its own names a helper with
//! [`Builder::executable`] (see `examples/helper.rs`); pool and worker compare a build id, made of
//! the versions, names and types on both sides.
//!
//! **Start methods.** [`StartMethod::Spawn`] runs the executable again. [`StartMethod::ForkServer`]
//! runs it again once, as a server with one thread that forks all workers. [`StartMethod::Fork`]
//! forks them from a copy of this process, made while it had one thread ([`prepare_fork`]); once
//! other threads live it is refused, because a copy would wait for their locks for ever. Workers
//! are children of this process in all three.
//!
//! **Tasks.** [`ProcessPool::submit`] gives a [`Task`], to be waited for, polled, cancelled or
//! awaited; [`ProcessPool::batch`] and [`ProcessPool::map`] keep the order. Short tasks are sent to
//! workers several at a time, and taken back for an idle worker when one of them turns out long.
//!
//! **Faults.** A service's error or panic is the task's error, with message, backtrace and the
//! worker's number, and the worker lives on. A worker that dies is replaced, and the task that it
//! ran is repeated elsewhere, unless [`Service::REPEATABLE`] forbids it; after
//! [`Builder::max_deaths`] deaths it is the task's error, with the signal's name. A task beyond its
//! time-out is ended with its worker. An initializer that fails, exits or hangs is the pool's error
//! after [`Builder::max_failed_starts`] tries.
//!
//! **Broadcasts.** [`ProcessPool::broadcast`] sends an update, encoded once, that every living
//! worker takes in before any task submitted afterwards. Nothing is kept for workers to come: one
//! that starts later gets a [`Snapshot`], made by the owner, and so does one that is busy for so
//! long that too many updates wait for it ([`Builder::update_backlog`]).
//!
//! **Attachments.** A message may carry descriptors under 128-bit keys ([`Attachment`]); each is
//! sent to a worker once, when a message first needs it there.
//!
//! **Ends.** [`ProcessPool::shutdown`] finishes the work, [`ProcessPool::shutdown_timeout`] what
//! can be finished by then; a drop abandons it. Workers ignore
//! Ctrl-C, which ends the parent, and follow the parent's death whatever its cause: by a signal
//! that the kernel sends (`PR_SET_PDEATHSIG`), a look at the parent after asking for it, and the
//! end of a socket.
//!
//! **Seeing inside.** [`ProcessPool::counters`] counts tasks, deaths and bytes; deaths and failed
//! starts are `tracing` warnings under the target `process_pool`. Events of workers arrive at this
//! process's subscriber under `process_pool::worker`, with the worker's number and the spans that
//! they were in. What workers print is passed through whole lines at a time ([`Builder::output`]).
//!
//! # How a task travels
//!
//! Each worker shares an anonymous, sealed memory segment with the pool: a ring of bytes for each
//! direction, and a table by which both agree who may start or take back a task. Sleepers are
//! woken by a futex or an event descriptor, and only when they sleep. A caller that waits for a
//! worker's only task listens to that worker itself, so that one thread is woken instead of two,
//! and looks for the answer for some microseconds before it sleeps while that proves worth it.
//! Control messages (start, ready, failure) go through ipc-channel; descriptors go
//! through a socket. A pool has three threads: one reads all answers and never waits for a worker,
//! so that two full channels never wait for each other; one starts processes and asks for
//! snapshots; one passes on what workers print.
//!
//! # Limits
//!
//! - Linux 5.4 or later. Other systems would need: a process handle that can be polled
//!   (`kqueue` with `NOTE_EXIT`, a job object), a futex or a semaphore in shared memory, and an
//!   answer to the parent's death (`kqueue` in the child, a job object that kills on close).
//! - One message holds at most 1 GiB. serde sends a `Vec<u8>` element by element; [`Bytes`] goes
//!   as a block.
//! - Tasks that are submitted before a broadcast may see it, and a repeated task sees the state of
//!   its new worker.
//! - Wakers and `tracing` subscribers run on a thread of the pool, and the closure for snapshots on
//!   another. A panic in them is caught. They may submit, but not wait: a wait there is
//!   [`ErrorKind::WouldHang`], and a full queue refuses instead of blocking. A subscriber that is
//!   slow slows the pool down.
//! - Spans of workers do not travel themselves: an event says in which it was, as text.
//! - Code of a service that closes descriptors which it does not own has its worker killed a second
//!   later. A child that it forks is not the pool's, and may outlive it.
//! - Programs that a worker starts inherit from it that Ctrl-C is ignored.
//! - A pool must not be forked along: in a forked copy of the process its handles do nothing.
//! - Under `fork`, workers inherit what the process had open when the zygote was made.
//!
//! # Beside others
//!
//! rayon and other thread pools share memory and start tasks in well under a microsecond; a crash
//! of one task is the end of all. procspawn sends functions with their arguments to processes, and
//! has no state per worker, no broadcasts and no descriptors. Python's `multiprocessing.Pool` waits
//! for ever when a worker is killed; `ProcessPoolExecutor` gives up the whole pool
//! (`BrokenProcessPool`). `cargo bench -p process-pool` prints what a task costs here and there.
#![expect(
    unsafe_code,
    reason = "shared-memory rings, fork, signal dispositions and the environment of a new process"
)]
#[cfg(not(target_os = "linux"))]
compile_error!("process-pool needs Linux; its documentation says what other systems would need");

mod backlog;
mod builder;
mod codec;
mod control;
mod error;
mod events;
mod foreign;
mod frame;
mod init;
mod link;
mod listen;
mod output;
mod pool;
mod reactor;
mod ring;
mod segment;
mod server;
mod service;
mod sleep;
mod spans;
mod spin;
mod starter;
mod state;
mod sys;
mod task;
mod worker;

pub use builder::{Builder, Output, Snapshot, StartMethod, WhenFull, available_start_methods};
pub use codec::Bytes;
pub use error::{Error, ErrorKind};
pub use init::init;
pub use pool::ProcessPool;
pub use server::prepare_fork;
pub use service::{Attachment, BoxError, Entry, Key, Service, WorkerId, service};
pub use state::Counters;
pub use task::{Batch, Task, TaskOptions};
pub use worker::Context;

//! Worker processes that cannot hang.
#![expect(
    unsafe_code,
    reason = "shared-memory rings, fork, signal dispositions and the environment of a new process"
)]
#![cfg_attr(not(target_os = "linux"), allow(unused))]

mod builder;
mod codec;
mod control;
mod error;
mod frame;
mod init;
mod link;
mod listen;
mod pool;
mod reactor;
mod ring;
mod server;
mod service;
mod spin;
mod starter;
mod state;
mod sys;
mod task;
mod worker;

pub use builder::{Builder, Snapshot, StartMethod, WhenFull, available_start_methods};
pub use codec::Bytes;
pub use error::{Error, ErrorKind};
pub use init::init;
pub use pool::ProcessPool;
pub use server::prepare_fork;
pub use service::{Attachment, BoxError, Entry, Key, Service, WorkerId, service};
pub use state::Counters;
pub use task::{Batch, Task, TaskOptions};
pub use worker::Context;

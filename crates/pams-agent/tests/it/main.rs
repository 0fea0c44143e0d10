//! Tests of `pams-agent` through its public interface.
#![expect(clippy::unwrap_used, reason = "a helper that can't go on fails its test")]

mod arbitrage;
mod fcn;
mod floor;
mod market_maker;
mod market_share_fcn;
mod registry;
mod send_sync;
mod test_agent;

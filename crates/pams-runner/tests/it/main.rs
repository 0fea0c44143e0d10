//! Tests of `pams-runner` through its public interface.
#![expect(clippy::unwrap_used, reason = "a helper that can't go on fails its test")]

mod asking;
mod bidder;
mod ending;
mod records;
mod send_sync;
mod sessions;
mod window;

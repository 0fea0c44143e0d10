//! Tests of `pams-core` through its public interface.

mod random;
mod send_sync;

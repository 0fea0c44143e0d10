//! What the benchmarks have in common.

use process_pool::{BoxError, Bytes, Context, Service};

/// Gives back what it gets.
pub(crate) struct Echo;

impl Service for Echo {
    const NAME: &'static str = "echo";
    type Args = ();
    type Request = Bytes;
    type Answer = Bytes;
    type Update = ();

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn call(&mut self, bytes: Bytes, _: &Context) -> Result<Bytes, BoxError> {
        Ok(bytes)
    }
}

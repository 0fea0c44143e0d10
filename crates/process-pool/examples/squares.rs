//! Squares numbers in worker processes: the smallest use of a pool.

use process_pool::{BoxError, Context, ProcessPool, Service};

struct Squares;

impl Service for Squares {
    const NAME: &'static str = "squares";
    type Args = ();
    type Request = u64;
    type Answer = u64;
    type Update = ();

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn call(&mut self, n: u64, _: &Context) -> Result<u64, BoxError> {
        n.checked_mul(n).ok_or_else(|| format!("{n} squared is too large").into())
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), process_pool::Error> {
    // In a worker this line never returns.
    process_pool::init(&[process_pool::service::<Squares>()]);

    let pool = ProcessPool::<Squares>::builder(&()).workers(2).build()?;
    println!("{:?}", pool.map(&[1, 2, 3, 4, 5])?);
    println!("{}", pool.submit(&u64::MAX)?.wait().expect_err("too large"));
    pool.shutdown()
}

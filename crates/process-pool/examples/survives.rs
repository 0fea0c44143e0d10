//! A worker is killed in the middle of its work, and nobody notices but the log.

use process_pool::{BoxError, Context, ErrorKind, ProcessPool, Service};

/// Counts primes below a number, and kills its own process for some of them.
struct Primes;

impl Service for Primes {
    const NAME: &'static str = "primes";
    type Args = ();
    type Request = (u64, Option<Mishap>);
    type Answer = usize;
    type Update = ();

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn call(
        &mut self,
        (below, mishap): (u64, Option<Mishap>),
        context: &Context,
    ) -> Result<usize, BoxError> {
        match mishap {
            // Numbers of workers are not used again, so this happens to the first two only.
            Some(Mishap::Abort) if context.worker().number() < 2 => std::process::abort(),
            Some(Mishap::AlwaysAbort) => std::process::abort(),
            Some(Mishap::Panic) => panic!("{below} is an unlucky number"),
            Some(Mishap::Abort) | None => {}
        }
        Ok((2..below).filter(|n| (2..*n).all(|d| n % d != 0)).count())
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
enum Mishap {
    Abort,
    AlwaysAbort,
    Panic,
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), process_pool::Error> {
    process_pool::init(&[process_pool::service::<Primes>()]);
    let pool = ProcessPool::<Primes>::builder(&()).workers(2).build()?;

    let requests: Vec<_> =
        (0..20).map(|n| (n * 50, (n % 5 == 3).then_some(Mishap::Abort))).collect();
    let primes = pool.map(&requests)?;
    let counters = pool.counters();
    println!("{primes:?}");
    println!("{} workers died, {} tasks were repeated", counters.deaths, counters.repeats);

    let error = pool.submit(&(10, Some(Mishap::Panic)))?.wait().expect_err("it panics");
    assert_eq!(error.kind(), ErrorKind::Panic);
    println!("{error}");

    let error = pool.submit(&(10, Some(Mishap::AlwaysAbort)))?.wait().expect_err("it dies");
    assert_eq!(error.signal_name(), Some("SIGABRT"));
    println!("{error}");
    pool.shutdown()
}

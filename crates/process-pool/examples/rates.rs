//! State per worker, kept up to date by broadcasts; a worker that starts late gets a snapshot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use process_pool::{BoxError, Context, ProcessPool, Service, Snapshot};

/// Converts amounts at the rates that the main process announces.
struct Exchange {
    rates: BTreeMap<String, f64>,
}

impl Service for Exchange {
    const NAME: &'static str = "exchange";
    type Args = BTreeMap<String, f64>;
    type Request = (f64, String);
    type Answer = f64;
    type Update = BTreeMap<String, f64>;

    fn start(rates: Self::Args, _: &Context) -> Result<Self, BoxError> {
        Ok(Self { rates })
    }

    fn call(&mut self, (amount, to): (f64, String), _: &Context) -> Result<f64, BoxError> {
        let rate = self.rates.get(&to).ok_or_else(|| format!("no rate for {to}"))?;
        Ok(amount * rate)
    }

    fn update(&mut self, changed: Self::Update, _: &Context) -> Result<(), BoxError> {
        self.rates.extend(changed);
        Ok(())
    }
}

/// What the main process knows: all rates, and the number of the last broadcast.
#[derive(Default)]
struct Known {
    rates: BTreeMap<String, f64>,
    last: u64,
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), process_pool::Error> {
    process_pool::init(&[process_pool::service::<Exchange>()]);

    let known = Arc::new(Mutex::new(Known::default()));
    let for_late_ones = known.clone();
    let pool = ProcessPool::<Exchange>::builder(&BTreeMap::new())
        .workers(2)
        .recycle_after(5)
        .snapshots(move || {
            let known = for_late_ones.lock().expect("not poisoned");
            Snapshot { after: known.last, update: known.rates.clone(), attachments: vec![] }
        })
        .build()?;

    for day in 1..=5 {
        {
            // The state changes, and is announced, under one lock.
            let mut known = known.lock().expect("not poisoned");
            let changed = BTreeMap::from([("EUR".to_owned(), 1.0 / f64::from(day))]);
            known.rates.extend(changed.clone());
            known.last = pool.broadcast(&changed)?;
        }
        let amounts: Vec<_> = (1..=4).map(|n| (f64::from(n * 60), "EUR".to_owned())).collect();
        println!("day {day}: {:?}", pool.map(&amounts)?);
    }
    println!("{} workers were replaced meanwhile", pool.counters().recycled);
    pool.shutdown()
}

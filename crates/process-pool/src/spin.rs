//! Looking for a while before sleeping.

use std::time::Duration;

/// How long to look before sleeping: longer while that pays, not at all while it does not.
///
/// To look costs nothing when a CPU would idle instead, and saves the many microseconds that it
/// takes to wake one. When the CPUs have other work, what is waited for does not come while the
/// waiter occupies one of them; then each vain look halves the next, down to none.
#[derive(Debug)]
pub(crate) struct Spin {
    budget: Duration,
    skipped: u32,
    useful: bool,
}

impl Spin {
    const MOST: Duration = Duration::from_micros(40);
    const LEAST: Duration = Duration::from_micros(5);
    /// After so many sleeps without a look, one is tried again.
    const TRY_AGAIN: u32 = 64;

    /// `useful` says whether there is more than one CPU.
    pub(crate) const fn new(useful: bool) -> Self {
        Self { budget: Self::MOST, skipped: 0, useful }
    }

    /// Looks whether something is so; `false` when it was not in the time that looking is worth.
    pub(crate) fn until(&mut self, so: impl Fn() -> bool) -> bool {
        if !self.useful {
            return false;
        }
        if self.budget < Self::LEAST {
            self.skipped += 1;
            if self.skipped < Self::TRY_AGAIN {
                return false;
            }
            self.skipped = 0;
            self.budget = Self::LEAST;
        }
        let since = crate::sys::now();
        loop {
            for _ in 0..8 {
                if so() {
                    self.budget = (self.budget * 2).min(Self::MOST);
                    return true;
                }
                std::hint::spin_loop();
            }
            if since.elapsed() > self.budget {
                self.budget /= 2;
                return false;
            }
        }
    }
}

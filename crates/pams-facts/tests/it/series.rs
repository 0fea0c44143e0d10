//! The series of `tools/reference.py`, made again.

use pams_facts::MarketSeries;

/// Numbers from [0, 1) by a linear congruence.
pub(crate) struct Source(u64);

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 2_f64.powi(53)
    }

    /// Nearly normal: twelve uniform numbers.
    pub(crate) fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).fold(0.0, |sum, value| sum + value) - 6.0
    }
}

pub(crate) fn series(seed: u64) -> MarketSeries {
    let mut source = Source::new(seed);
    let (mut price, mut mid, mut fundamental) = (300.0, 300.0, 300.0);
    let (mut variance, mut value) = (1e-4, 0.0_f64);
    let mut series = MarketSeries { name: "made".to_owned(), ..MarketSeries::default() };
    for step in 0..600 {
        variance = 1e-6 + 0.15 * (value * value) + 0.8 * variance;
        value = variance.sqrt() * source.bell();
        price *= 1.0 + value;
        fundamental *= 1.0 + 0.0005 * source.bell();
        let volume = (10.0 * source.uniform() + 3000.0 * value.abs()).floor();
        let signed = (20.0 * source.uniform()).floor() - 10.0;
        mid = mid + 0.02 * signed + 0.05 * source.bell();
        let bid = mid - 0.1 - 0.2 * source.uniform();
        let ask = mid + 0.1 + 0.2 * source.uniform();
        series.step.push(step);
        series.price.push(price);
        series.mid.push(mid);
        series.fundamental.push(fundamental);
        series.volume.push(volume);
        series.signed_volume.push(signed);
        series.best_bid.push(if step % 17 == 5 { f64::NAN } else { bid });
        series.best_ask.push(ask);
        series.bid_volume.push((1.0 + 50.0 * source.uniform()).floor());
        series.ask_volume.push((50.0 * source.uniform()).floor());
    }
    series
}

//! Standard normals by the ziggurat method of Marsaglia and Tsang (2000), in two variants that draw differently.
//!
//! The area under exp(−x²/2) is covered by 256 layers of equal area, the widest of which has the tail beyond
//! [`TAIL_START`] in it. One word chooses a layer and a place in it, and in 99 of 100 cases the place is under the
//! curve for certain. Else it lies in the wedge where the curve cuts the layer, and one more number decides; or in the
//! base layer, beyond its rectangle, and the value comes from the tail (Marsaglia, 1964).
//!
//! `rand_distr` itself is not used for [`zignor`]: whose `exp` and `ln` it calls depends on features that any other
//! crate of a build may switch on, so the same seed could give other results in another program.

use super::Arithmetic;
use super::generator::unit_interval;
use super::ziggurat_tables::{
    NUMPY_DENSITY, NUMPY_LIMIT, NUMPY_SCALE, TAIL_START, ZIGNOR_DENSITY, ZIGNOR_EDGE,
};

/// The value that NumPy's `standard_normal` computes from these words, with the platform's `exp` and `log1p`.
#[inline]
pub(super) fn numpy(mut next_word: impl FnMut() -> u64) -> f64 {
    loop {
        let word = next_word();
        let layer = layer(word);
        let place = (word >> 9) & ((1 << 52) - 1);
        let x = with_sign(to_float(place) * NUMPY_SCALE[layer], word >> 8);
        if place < NUMPY_LIMIT[layer] {
            return x;
        }
        if layer == 0 {
            return with_sign(TAIL_START + numpy_beyond_tail_start(&mut next_word), place >> 8);
        }
        let (outer, inner) = (NUMPY_DENSITY[layer], NUMPY_DENSITY[layer - 1]);
        if (inner - outer) * unit_interval(next_word()) + outer
            < Arithmetic::Platform.exp(-0.5 * x * x)
        {
            return x;
        }
    }
}

/// The value that `rand_distr` 0.6 computes for `StandardNormal` from these words, with portable `exp` and `ln`: the
/// variant ZIGNOR of Doornik (2005).
#[inline]
pub(super) fn zignor(mut next_word: impl FnMut() -> u64) -> f64 {
    loop {
        let word = next_word();
        let layer = layer(word);
        let place = (to_float(word >> 12) - HALF_WAY) * (1.0 / HALF_WAY);
        let x = place * ZIGNOR_EDGE[layer];
        if x.abs() < ZIGNOR_EDGE[layer + 1] {
            return x;
        }
        if layer == 0 {
            let beyond = zignor_beyond_tail_start(&mut next_word);
            return if place < 0.0 { beyond - TAIL_START } else { TAIL_START - beyond };
        }
        let (outer, inner) = (ZIGNOR_DENSITY[layer], ZIGNOR_DENSITY[layer + 1]);
        if inner + (outer - inner) * unit_interval(next_word())
            < Arithmetic::Portable.exp(-x * x / 2.0)
        {
            return x;
        }
    }
}

/// 2⁵¹, the middle of 52 bits.
const HALF_WAY: f64 = 2_251_799_813_685_248.0;

/// How far beyond the start of the tail, at least 0.
#[cold]
fn numpy_beyond_tail_start(next_word: &mut impl FnMut() -> u64) -> f64 {
    loop {
        let x = -(1.0 / TAIL_START) * (-unit_interval(next_word())).ln_1p();
        let y = -(-unit_interval(next_word())).ln_1p();
        if y + y > x * x {
            return x;
        }
    }
}

/// How far beyond the start of the tail, at most 0.
#[cold]
fn zignor_beyond_tail_start(next_word: &mut impl FnMut() -> u64) -> f64 {
    loop {
        let x = Arithmetic::Portable.ln(open_interval(next_word())) / TAIL_START;
        let y = Arithmetic::Portable.ln(open_interval(next_word()));
        if -2.0 * y >= x * x {
            return x;
        }
    }
}

/// The upper 52 bits of `word` as the middle of one of 2⁵² parts of (0, 1), so never 0.
fn open_interval(word: u64) -> f64 {
    (to_float(word >> 12) + 0.5) * (0.5 / HALF_WAY)
}

/// `value`, negated if the lowest bit says so.
#[inline]
fn with_sign(value: f64, sign: u64) -> f64 {
    f64::from_bits(value.to_bits() ^ (sign << 63))
}

#[inline]
fn layer(word: u64) -> usize {
    (word & 0xff) as usize
}

#[inline]
#[expect(clippy::cast_precision_loss, reason = "52 bits fit a float")]
fn to_float(place: u64) -> f64 {
    place as f64
}

//! The draws of a shuffle as CPython makes them: below n, below n − 1, …, below 1, each with as many bits as its bound has,
//! again and again until the number is below the bound.
//!
//! How many numbers are rejected is no pattern that a processor could foresee, and a wrong guess costs more than ten
//! draws. So no branch depends on a single number, and few depend on how many were rejected.

/// Draws from `words` below `bound` and each lower bound with as many bits, until that is done or the words are used up.
/// Returns the next bound, and how many words were used.
///
/// A shift by a number that is not known beforehand has to wait for the comparison before it, as both change the
/// processor's flags. So there is a loop for each shift of the last 127 draws.
#[inline]
pub(super) fn draw_with_bits_of(bound: u32, words: &[u32], draws: &mut [u32]) -> (u32, usize) {
    match bound.leading_zeros() {
        25 => many(bound, |word| word >> 25, words, draws),
        26 => many(bound, |word| word >> 26, words, draws),
        27 => many(bound, |word| word >> 27, words, draws),
        28 => few(bound, |word| word >> 28, words, draws),
        29 => few(bound, |word| word >> 29, words, draws),
        30 => few(bound, |word| word >> 30, words, draws),
        31 => few(bound, |word| word >> 31, words, draws),
        shift => many(bound, |word| word >> shift, words, draws),
    }
}

/// Begins with so many words as can't change the number of bits.
#[inline(always)]
fn many(
    mut bound: u32,
    shifted: impl Fn(u32) -> u32,
    words: &[u32],
    draws: &mut [u32],
) -> (u32, usize) {
    let sure = ((bound - least_with_bits_of(bound)) as usize).min(words.len());
    let (quads, _) = words[..sure].as_chunks::<4>();
    for quad in quads {
        for &word in quad {
            bound = draw(bound, shifted(word), draws);
        }
    }
    let used = quads.len() * 4;
    let (bound, more) = few(bound, shifted, &words[used..], draws);
    (bound, used + more)
}

#[inline(always)]
fn few(
    mut bound: u32,
    shifted: impl Fn(u32) -> u32,
    words: &[u32],
    draws: &mut [u32],
) -> (u32, usize) {
    let least = least_with_bits_of(bound);
    let mut used = 0;
    for &word in words {
        used += 1;
        bound = draw(bound, shifted(word), draws);
        if bound < least {
            break;
        }
    }
    (bound, used)
}

/// Takes a number as the draw below `bound` if it is below, and returns the next bound. It is stored in any case, and
/// counted only if it was good.
#[inline(always)]
fn draw(bound: u32, number: u32, draws: &mut [u32]) -> u32 {
    draws[bound as usize - 1] = number;
    bound - u32::from(number < bound)
}

#[inline(always)]
fn least_with_bits_of(bound: u32) -> u32 {
    1 << 31 >> bound.leading_zeros()
}

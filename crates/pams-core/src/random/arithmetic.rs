//! The two sources of `exp`, `ln`, `sin`, `cos` and `tanh`.

/// Whose `exp`, `ln`, `sin`, `cos` and `tanh` a computation uses.
///
/// These five are not fixed to the last bit by IEEE 754, so two C libraries may disagree; square roots and the four
/// basic operations are, and need no choice. A [`Generator`](super::Generator) names the one that fits it.
///
/// ```
/// use pams_core::random::Arithmetic;
///
/// // One unit in the last place above the nearest float to e, but so on every machine.
/// assert_eq!(Arithmetic::Portable.exp(1.0).to_bits(), 0x4005_bf0a_8b14_576a);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Pure Rust (the `libm` crate): the same bits on every machine.
    Portable,
    /// The C library of the platform, as CPython uses it.
    Platform,
}

impl Arithmetic {
    /// e to the power of `x`.
    #[inline]
    #[must_use]
    pub fn exp(self, x: f64) -> f64 {
        match self {
            Self::Portable => libm::exp(x),
            Self::Platform => x.exp(),
        }
    }

    /// The natural logarithm of `x`: −∞ for 0, NaN below.
    #[inline]
    #[must_use]
    pub fn ln(self, x: f64) -> f64 {
        match self {
            Self::Portable => libm::log(x),
            Self::Platform => x.ln(),
        }
    }

    /// The sine of `x` radians.
    #[inline]
    #[must_use]
    pub fn sin(self, x: f64) -> f64 {
        match self {
            Self::Portable => libm::sin(x),
            Self::Platform => x.sin(),
        }
    }

    /// The cosine of `x` radians.
    #[inline]
    #[must_use]
    pub fn cos(self, x: f64) -> f64 {
        match self {
            Self::Portable => libm::cos(x),
            Self::Platform => x.cos(),
        }
    }

    /// The hyperbolic tangent of `x`.
    #[inline]
    #[must_use]
    pub fn tanh(self, x: f64) -> f64 {
        match self {
            Self::Portable => libm::tanh(x),
            Self::Platform => x.tanh(),
        }
    }
}

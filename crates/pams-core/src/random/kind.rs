//! The names of the generators.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Arithmetic;

/// Which random generator a run uses, spelled `xoshiro256++` or `mt19937` everywhere.
///
/// ```
/// use pams_core::random::GeneratorKind;
///
/// assert_eq!("mt19937".parse(), Ok(GeneratorKind::Mt19937));
/// assert_eq!(GeneratorKind::default().to_string(), "xoshiro256++");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GeneratorKind {
    /// xoshiro256++ of Blackman and Vigna (2019), seeded through `SplitMix64`. The default: fast, and a run is the
    /// same on every machine.
    #[default]
    #[serde(rename = "xoshiro256++")]
    Xoshiro256PlusPlus,
    /// MT19937 of Matsumoto and Nishimura (1998), seeded and used as CPython's `random.Random` does: a run equals
    /// PAMS 0.3.0.
    #[serde(rename = "mt19937")]
    Mt19937,
}

impl GeneratorKind {
    /// The functions that a run with this generator computes with.
    #[must_use]
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            Self::Xoshiro256PlusPlus => Arithmetic::Portable,
            Self::Mt19937 => Arithmetic::Platform,
        }
    }

    const ALL: [Self; 2] = [Self::Xoshiro256PlusPlus, Self::Mt19937];

    fn name(self) -> &'static str {
        match self {
            Self::Xoshiro256PlusPlus => "xoshiro256++",
            Self::Mt19937 => "mt19937",
        }
    }
}

impl fmt::Display for GeneratorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for GeneratorKind {
    type Err = ParseGeneratorKindError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| ParseGeneratorKindError { name: name.to_owned() })
    }
}

/// A name that is no [`GeneratorKind`]; the message lists those that are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown generator `{name}`, expected `xoshiro256++` or `mt19937`")]
pub struct ParseGeneratorKindError {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_spelling() {
        for kind in GeneratorKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
    }

    #[test]
    fn a_wrong_name_is_told_the_right_ones() {
        let error = "MT19937".parse::<GeneratorKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown generator `MT19937`, expected `xoshiro256++` or `mt19937`"
        );
    }
}

//! What the tests that cross crates share: the classes that the reference runs use beside those of
//! PAMS, and a reader of the reference records.
#![forbid(unsafe_code)]

mod cancel_agent;
mod fragile_agent;
pub mod neural;
mod reference;
mod simple;
pub mod tcp;
mod troublemaker;

use pams_agent::{FcnAgent, Registry};

pub use cancel_agent::CancelAgent;
pub use fragile_agent::{FragileAgent, FragileSettings};
pub use reference::{Reference, references};
pub use simple::{Deed, Simple};
pub use troublemaker::{TroubleSettings, Troublemaker};

/// The built-in classes and those of the tests.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry
        .agent::<CancelAgent>("CancelAgent")
        .agent::<FragileAgent>("FragileAgent")
        .agent::<Troublemaker>("Troublemaker")
        .agent::<FcnAgent>("UserDefinedFCNAgent");
    registry
}

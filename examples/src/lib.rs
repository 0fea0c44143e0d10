//! What the programs in `src/bin` share with their tests: where the configs are, and the classes of
//! one's own that several of them register.
#![forbid(unsafe_code)]

mod deliberator;
mod fee_change;
mod fee_market;
mod inventory_keeper;

use pams_agent::{FcnAgent, Registry};

pub use deliberator::Deliberator;
pub use fee_change::FeeChange;
pub use fee_market::{FeeMarket, fee};
pub use inventory_keeper::InventoryKeeper;

/// The path of a config in `examples`, from wherever the program is started.
#[must_use]
pub fn config_path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The built-in classes and our own, one line each.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry.agent::<FcnAgent>("UserDefinedFCNAgent");
    registry.agent::<Deliberator>("Deliberator");
    registry.high_frequency_agent::<InventoryKeeper>("InventoryKeeper");
    registry.market::<FeeMarket>("FeeMarket");
    registry.event::<FeeChange>("FeeChange");
    registry
}

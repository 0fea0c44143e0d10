//! An agent with a neural network of one's own, which is no multi-layer perceptron.
//!
//! The model is in `convolution.rs` and knows no market. The agent is in `agent.rs`. [`registry`]
//! puts it beside the built-in classes, `config.json` names it, and `main.rs` runs it on every
//! runner. Copy the folder to begin with an agent of your own.
#![forbid(unsafe_code)]

mod agent;
mod convolution;

use pams_agent::Registry;

pub use agent::{ConvolutionAgent, ConvolutionSettings};
pub use convolution::{Convolution, Sizes};

/// The built-in classes, `CandleAgent` and our own: one line.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    // This one also lets agents share tensors with worker processes.
    pams_candle::register(&mut registry);
    registry.agent::<ConvolutionAgent>("ConvolutionAgent");
    registry
}

/// The path of the config.
#[must_use]
pub fn config_path() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/config.json")
}

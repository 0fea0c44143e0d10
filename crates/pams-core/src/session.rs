//! Sessions: stretches of time with rules of their own.

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

/// The rules of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSpec {
    /// Its unique name.
    pub name: String,
    /// How many steps it lasts.
    pub iteration_steps: u64,
    /// Whether agents are asked at all.
    pub order_placement: Switch,
    /// Whether orders trade.
    pub order_execution: Switch,
    /// How many normal agents may submit in one step; nobody when not positive.
    pub max_normal_orders: i64,
    /// How many high-frequency agents may submit after each normal agent; nobody when not positive.
    pub max_high_frequency_orders: i64,
    /// Probability that the high-frequency agents are asked after a normal agent.
    pub high_frequency_submit_rate: f64,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Switch {
    /// It happens.
    On,
    /// It does not happen.
    Off,
}

impl Switch {
    /// Whether it is on.
    #[must_use]
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

/// The session that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentSession {
    /// Which one.
    pub id: SessionId,
    /// Whether orders trade in it.
    pub order_execution: Switch,
}

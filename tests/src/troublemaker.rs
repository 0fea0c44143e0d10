//! Agents that do what they must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Turn};
use pams_config::config_block;
use pams_core::{CancelRequest, OrderId, OrderRecord, OrderRequest, Side};
use serde::{Deserialize, Serialize};

config_block! {
    /// Keys of a troublemaker.
    pub struct TroubleSettings {
        /// What goes wrong; see `Troublemaker`.
        pub trouble: String = "trouble",
    }
}

/// Buys one unit for a low price at every turn. From step 5 on there is trouble:
///
/// - `cancel`: it cancels an order of another agent;
/// - `error`: it fails;
/// - `panic`: it panics;
/// - `constant`: it counts its turns in itself;
/// - `state`: it counts its turns in its state, when it is asked;
/// - `answer`: it buys as many units as all its like have had turns in this process;
/// - `generator`: it draws as many numbers as they have had turns.
#[derive(Debug, Serialize, Deserialize)]
pub struct Troublemaker {
    trouble: String,
    turns: AtomicU64,
}

/// What a troublemaker remembers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    first_order: Option<OrderId>,
    turns: Arc<AtomicU64>,
}

/// What no agent may have: something that all agents of a process share and change.
static TURNS: AtomicU64 = AtomicU64::new(1);

impl Agent for Troublemaker {
    type Settings = TroubleSettings;
    type State = Memory;

    fn create(settings: &TroubleSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self { trouble: settings.trouble.clone(), turns: AtomicU64::new(0) })
    }

    fn submit_orders(
        &self,
        memory: &Memory,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        let Some(market) = markets.iter().next() else { return Ok(()) };
        let id = turn.markets()[0];
        let late = market.time().since_start() >= 5;
        let mut volume = 1;
        match (late, self.trouble.as_str()) {
            (true, "cancel") => {
                // Everybody places one order in the first step, so its neighbour is another's.
                let own = memory.first_order.ok_or("there was no first order")?;
                turn.submit(CancelRequest { market: id, order_id: OrderId(own.0 ^ 1) });
            }
            (true, "error") => return Err("no more money".into()),
            (true, "panic") => panic!("no more patience"),
            (true, "constant") => _ = self.turns.fetch_add(1, Ordering::Relaxed),
            (true, "state") => _ = memory.turns.fetch_add(1, Ordering::Relaxed),
            (true, "answer") => volume = TURNS.fetch_add(1, Ordering::Relaxed),
            (true, "generator") => {
                for _ in 0..TURNS.fetch_add(1, Ordering::Relaxed) {
                    turn.generator().random();
                }
            }
            _ => {}
        }
        turn.submit(OrderRequest::limit(id, Side::Buy, 100.0, volume));
        Ok(())
    }

    fn accepted(&self, memory: &mut Memory, order: &OrderRecord) {
        memory.first_order.get_or_insert(order.order_id);
    }
}

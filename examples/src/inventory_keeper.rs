//! An agent of one's own, with state: it quotes both sides and leans against its inventory.

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Turn};
use pams_config::{RandomValue, config_block};
use pams_core::{AgentId, ExecutionRecord, OrderRequest, Side};
use serde::{Deserialize, Serialize};

use crate::fee_market::fee;

config_block! {
    /// Keys of an inventory keeper.
    pub struct InventoryKeeperSettings {
        /// What it wants to earn on each side beyond the fee, in price units.
        pub half_spread: RandomValue = "halfSpread",
        /// How far it moves its quotes for each unit that it holds, in price units.
        pub lean: f64 = "lean" default 0.1,
    }
}

/// What is fixed when the agent is made.
#[derive(Debug, Serialize, Deserialize)]
pub struct InventoryKeeper {
    id: AgentId,
    half_spread: f64,
    lean: f64,
}

/// What the agent learns: the units that it bought less those that it sold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inventory(i32);

impl Agent for InventoryKeeper {
    type Settings = InventoryKeeperSettings;
    type State = Inventory;

    fn create(
        settings: &InventoryKeeperSettings,
        setup: &mut AgentSetup<'_>,
    ) -> Result<Self, AgentError> {
        let half_spread = settings.half_spread.draw(setup.generator());
        Ok(Self { id: setup.id(), half_spread, lean: settings.lean })
    }

    fn submit_orders(
        &self,
        inventory: &Inventory,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &market in turn.markets() {
            let center = markets[market].market_price() - self.lean * f64::from(inventory.0);
            let distance = self.half_spread + fee(&markets[market]);
            for (side, price) in [(Side::Buy, center - distance), (Side::Sell, center + distance)] {
                turn.submit(OrderRequest::limit(market, side, price, 1).with_time_to_live(1));
            }
        }
        Ok(())
    }

    fn executed(&self, inventory: &mut Inventory, fill: &ExecutionRecord) {
        // Every quote is for one unit. A trade with itself, which is told twice, changes nothing.
        inventory.0 += i32::from(fill.buy_agent == self.id) - i32::from(fill.sell_agent == self.id);
    }
}

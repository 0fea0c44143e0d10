//! An agent that places, cancels, and cancels again.

use std::collections::BTreeMap;

use pams_agent::{Agent, AgentError, AgentSetup, Markets, NoSettings, Turn};
use pams_core::random::Generator;
use pams_core::{
    CancelRequest, MarketId, OrderId, OrderKind, OrderRecord, OrderRequest, Side, Volume,
};
use serde::{Deserialize, Serialize};

/// The twin of `CancelAgent` in `tests/oracle/reference.py`, where its draws are documented.
#[derive(Debug, Serialize, Deserialize)]
pub struct CancelAgent {}

/// What the agent remembers: its accepted orders, less those with an even id that it canceled.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    orders: BTreeMap<MarketId, Vec<OrderId>>,
}

impl Agent for CancelAgent {
    type Settings = NoSettings;
    type State = Memory;

    fn create(_: &NoSettings, _: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        Ok(Self {})
    }

    fn submit_orders(
        &self,
        memory: &Memory,
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &market in turn.markets() {
            let remembered = memory.orders.get(&market).map_or(&[][..], Vec::as_slice);
            let price = markets[market].market_price();
            let generator = turn.generator();
            let choice = generator.random();
            if choice < 0.3 && !remembered.is_empty() {
                let order_id = remembered[index(generator.random(), remembered.len())];
                turn.submit(CancelRequest { market, order_id });
            } else if choice < 0.8 {
                let order = limit_order(market, price, generator);
                turn.submit(order);
            } else if choice < 0.9 {
                let side = side(generator);
                let volume = generator.integer(1, 5).unsigned_abs();
                let steps = generator.integer(1, 10).unsigned_abs();
                turn.submit(OrderRequest::market(market, side, volume).with_time_to_live(steps));
            }
        }
        Ok(())
    }

    fn accepted(&self, memory: &mut Memory, order: &OrderRecord) {
        memory.orders.entry(order.market).or_default().push(order.order_id);
    }

    fn canceled(&self, memory: &mut Memory, cancel: &OrderRecord) {
        if cancel.order_id.0.is_multiple_of(2) {
            let remembered = memory.orders.entry(cancel.market).or_default();
            remembered.retain(|&order_id| order_id != cancel.order_id);
        }
    }
}

fn limit_order(market: MarketId, market_price: f64, generator: &mut Generator) -> OrderRequest {
    let side = side(generator);
    let price = market_price + (generator.random() * 10.0 - 5.0);
    let volume = Volume(generator.integer(1, 10).unsigned_abs());
    let time_to_live =
        if generator.random() < 0.2 { None } else { Some(generator.integer(1, 30).unsigned_abs()) };
    OrderRequest { market, side, kind: OrderKind::Limit { price }, volume, time_to_live }
}

fn side(generator: &mut Generator) -> Side {
    if generator.random() < 0.5 { Side::Buy } else { Side::Sell }
}

/// The index at a fraction of a list's length.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction below 1 of a short length"
)]
fn index(fraction: f64, length: usize) -> usize {
    (fraction * length as f64) as usize
}

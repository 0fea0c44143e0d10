//! Which types may go to other threads. This is part of the interface: it can't get lost unnoticed.

use pams_agent::{
    AgentSetup, ArbitrageAgent, BoxedAgent, EventSetup, ExtendedMarket, FcnAgent, FcnSettings,
    Frequency, IndexMarket, MarginType, MarketMakerAgent, MarketSetup, MarketShareFcnAgent,
    Markets, NoSettings, Registry, SpotMarket, TestAgent, Turn,
};

fn send_and_sync<T: Send + Sync>() {}

#[test]
fn everything_may_be_sent_and_shared() {
    send_and_sync::<AgentSetup<'_>>();
    send_and_sync::<ArbitrageAgent>();
    send_and_sync::<BoxedAgent>();
    send_and_sync::<EventSetup<'_>>();
    send_and_sync::<ExtendedMarket>();
    send_and_sync::<FcnAgent>();
    send_and_sync::<FcnSettings>();
    send_and_sync::<Frequency>();
    send_and_sync::<IndexMarket>();
    send_and_sync::<MarginType>();
    send_and_sync::<MarketMakerAgent>();
    send_and_sync::<MarketSetup<'_>>();
    send_and_sync::<MarketShareFcnAgent>();
    send_and_sync::<Markets<'_>>();
    send_and_sync::<NoSettings>();
    send_and_sync::<Registry>();
    send_and_sync::<SpotMarket>();
    send_and_sync::<TestAgent>();
    send_and_sync::<Turn<'_>>();
}

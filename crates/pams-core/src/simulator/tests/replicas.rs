//! Copies of the markets that are fed changes only stay equal to them.

use crate::delta::StepDelta;
use crate::event::{
    Event, EventContext, EventResult, FundamentalPriceShock, Hook, HookPoint, TradingHaltRule,
};
use crate::ids::{AgentId, MarketId, OrderId};
use crate::market::{Component, FieldValue, MarketSpec, MarketView};
use crate::order::{CancelRequest, Instruction, OrderRequest, Side};
use crate::quantity::Step;
use crate::random::{Generator, GeneratorKind};
use crate::session::Switch;
use crate::testing::{N_AGENTS, Scene, market};

/// What a worker would have: a value that went through the wire's codec.
fn through_the_wire<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let codec = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(value, codec).unwrap();
    let (read, length) = bincode::serde::decode_from_slice(&bytes, codec).unwrap();
    assert_eq!(length, bytes.len(), "everything was read");
    read
}

/// Changes everything that an event can change, at random.
#[derive(Debug)]
struct Meddler;

impl Meddler {
    fn meddle(context: &mut EventContext<'_>, market: MarketId) {
        let choice = context.generator().below(12);
        let number = context.generator().random();
        match choice {
            0 => context.set_running(market, number < 0.7),
            1 => context.set_market_price(market, 290.0 + 20.0 * number),
            2 => context.set_fundamental_price(market, 290.0 + 20.0 * number),
            3 => context.set_field(market, "float", FieldValue::Float(number)),
            4 => context.set_field(market, "int", FieldValue::Int(number.to_bits() as i64)),
            5 => context.set_field(market, format!("text {choice}"), FieldValue::Text("é".into())),
            6 => context.set_field(market, "bool", FieldValue::Bool(number < 0.5)),
            _ => {}
        }
    }
}

impl Event for Meddler {
    fn hooks(&self) -> Vec<Hook> {
        let points = [
            HookPoint::BeforeSession,
            HookPoint::AfterSession,
            HookPoint::BeforeStep,
            HookPoint::AfterStep,
            HookPoint::AfterOrder,
            HookPoint::AfterExecution,
        ];
        points.map(Hook::always).to_vec()
    }
    fn before_session(
        &mut self,
        context: &mut EventContext<'_>,
        _: crate::SessionId,
    ) -> EventResult {
        Self::meddle(context, MarketId(1));
        Ok(())
    }
    fn after_session(
        &mut self,
        context: &mut EventContext<'_>,
        _: crate::SessionId,
    ) -> EventResult {
        Self::meddle(context, MarketId(2));
        Ok(())
    }
    fn before_step(&mut self, context: &mut EventContext<'_>, market: MarketId) -> EventResult {
        Self::meddle(context, market);
        Ok(())
    }
    fn after_step(&mut self, context: &mut EventContext<'_>, market: MarketId) -> EventResult {
        Self::meddle(context, market);
        Ok(())
    }
    fn after_order(
        &mut self,
        context: &mut EventContext<'_>,
        order: &crate::OrderRecord,
    ) -> EventResult {
        Self::meddle(context, order.market);
        Ok(())
    }
    fn after_execution(
        &mut self,
        context: &mut EventContext<'_>,
        fill: &crate::ExecutionRecord,
    ) -> EventResult {
        Self::meddle(context, fill.market);
        Ok(())
    }
}

fn scene(history_window: Option<u64>) -> Scene {
    let spot = |number| MarketSpec {
        fundamental_volatility: 0.01,
        outstanding_shares: Some(3),
        ..market(number, 0.1, 300.0)
    };
    let mut index = market(2, 1.0, 300.0);
    index.components = [0, 1].map(|id| Component { market: MarketId(id), shares: 3 }).into();
    index.fields.insert("text".into(), FieldValue::Text("from the start".into()));
    Scene::with_window(vec![spot(0), spot(1), index], history_window)
        .event(TradingHaltRule::new(vec![MarketId(0), MarketId(2)], 0.01, 2))
        .event(FundamentalPriceShock::new(MarketId(1), Step(50)..Step(53), 0.01))
        .event(Meddler)
}

fn below(generator: &mut Generator, bound: u32) -> u32 {
    u32::try_from(generator.below(bound.into())).unwrap()
}

/// A random instruction; some cancels are refused, which is fine.
fn random_instruction(generator: &mut Generator) -> Instruction {
    let market = MarketId(below(generator, 3));
    let side = if generator.below(2) == 0 { Side::Buy } else { Side::Sell };
    let volume = generator.below(4) + 1;
    let order = match generator.below(8) {
        0 | 1 => {
            return CancelRequest { market, order_id: OrderId(generator.below(300)) }.into();
        }
        2 => OrderRequest::market(market, side, volume),
        _ => OrderRequest::limit(market, side, generator.uniform(295.0, 305.0), volume),
    };
    match generator.below(3) {
        0 => order.into(),
        _ => order.with_time_to_live(generator.below(9) + 1).into(),
    }
}

/// Copies that follow the markets in different ways.
struct Replicas {
    fed: Vec<MarketView>,
    over_the_wire: Vec<MarketView>,
    n_deltas: usize,
}

impl Replicas {
    fn new(scene: &mut Scene) -> Self {
        scene.simulator.enable_deltas();
        let fed = scene.simulator.markets().to_vec();
        let over_the_wire = through_the_wire(&fed);
        Self { fed, over_the_wire, n_deltas: 0 }
    }

    #[track_caller]
    fn follow(&mut self, scene: &mut Scene) {
        let delta = scene.simulator.take_delta();
        self.n_deltas += delta.len();
        delta.apply(&mut self.fed);
        let sent: StepDelta = through_the_wire(&delta);
        assert_eq!(sent, delta);
        sent.apply(&mut self.over_the_wire);
        assert_eq!(self.fed, scene.simulator.markets());
        assert_eq!(self.over_the_wire, scene.simulator.markets());
    }
}

fn drive(history_window: Option<u64>, seed: u64) {
    let mut scene = scene(history_window);
    let mut replicas = Replicas::new(&mut scene);
    let mut scene = scene.started(Switch::On);
    replicas.follow(&mut scene);
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, seed);
    let (mut refused, mut fills) = (0, 0);
    for step in 0..200 {
        for _ in 0..generator.below(8) {
            let agent = AgentId(below(&mut generator, N_AGENTS));
            let instruction = random_instruction(&mut generator);
            refused += usize::from(scene.try_submit(agent, instruction).is_err());
        }
        fills += scene.fills().len();
        match step % 40 {
            20 => scene.next_session(Switch::Off),
            30 => scene.next_session(Switch::On),
            _ => scene.next_step(),
        }
        replicas.follow(&mut scene);
    }
    assert!(refused > 10 && fills > 50, "{refused} refused, {fills} fills");
    assert!(replicas.n_deltas > 1_000);
    let markets = scene.simulator.markets();
    assert_eq!(through_the_wire(&markets.to_vec()), markets);
}

#[test]
fn a_replica_that_is_fed_changes_only_is_the_market() {
    for seed in 1..4 {
        drive(None, seed);
    }
}

#[test]
fn a_replica_with_a_history_window_is_the_market() {
    for seed in 1..4 {
        drive(Some(1), seed);
        drive(Some(7), seed);
    }
}

#[test]
fn a_late_copy_catches_up_from_a_snapshot() {
    let mut scene = scene(Some(5)).started(Switch::On);
    scene.simulator.enable_deltas();
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 9);
    let mut late = None;
    for step in 0..120 {
        for _ in 0..5 {
            let agent = AgentId(below(&mut generator, N_AGENTS));
            // A refused cancel changes nothing.
            let _ = scene.try_submit(agent, random_instruction(&mut generator));
        }
        scene.next_step();
        let delta = scene.simulator.take_delta();
        match &mut late {
            None if step == 60 => {
                late = Some(through_the_wire(&scene.simulator.markets().to_vec()));
            }
            None => {}
            Some(late) => {
                delta.apply(late);
                assert_eq!(late, scene.simulator.markets());
            }
        }
    }
    assert!(late.is_some());
}

#[test]
fn nothing_is_kept_of_changes_that_nobody_asked_for() {
    let mut scene = Scene::trading();
    scene.send(["B 300x1", "S 300x1"]);
    assert!(scene.simulator.take_delta().is_empty());
    scene.simulator.enable_deltas();
    scene.send(["B 300x1"]);
    assert_eq!(scene.simulator.take_delta().len(), 1);
    assert!(scene.simulator.take_delta().is_empty());
}

#[test]
fn everything_that_travels_survives_the_wire() {
    let records = {
        let mut records = Vec::new();
        let mut scene = scene(None);
        scene.simulator.begin(&mut records);
        records
    };
    assert_eq!(through_the_wire(&records), records);
    let accounts = Scene::trading().simulator.accounts().to_vec();
    assert_eq!(through_the_wire(&accounts), accounts);
    let extreme = [f64::MIN_POSITIVE, -0.0, f64::MAX, 0.1 + 0.2, f64::INFINITY];
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&through_the_wire(&extreme.to_vec())), bits(&extreme));
}

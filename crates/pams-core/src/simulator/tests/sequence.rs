//! The order of records, events and callbacks.

use crate::account::Account;
use crate::event::{Event, EventContext, EventResult, Hook, HookPoint};
use crate::ids::{AgentId, MarketId, SessionId};
use crate::order::{CancelRequest, IncomingOrder, OrderKind, Side};
use crate::quantity::{Step, Volume};
use crate::record::{ExecutionRecord, OrderRecord};
use crate::session::Switch;
use crate::testing::{Journal, Scene, market};

const EVERYWHERE: [HookPoint; 9] = [
    HookPoint::BeforeSession,
    HookPoint::AfterSession,
    HookPoint::BeforeStep,
    HookPoint::AfterStep,
    HookPoint::BeforeOrder,
    HookPoint::AfterOrder,
    HookPoint::BeforeCancel,
    HookPoint::AfterCancel,
    HookPoint::AfterExecution,
];

/// Writes what it sees into the journal.
#[derive(Debug)]
struct Probe {
    name: &'static str,
    hooks: Vec<Hook>,
    journal: Journal,
}

impl Probe {
    fn note(&self, context: &EventContext<'_>, what: &str) -> EventResult {
        let running: String = context
            .markets()
            .iter()
            .map(|market| if market.is_running() { '1' } else { '0' })
            .collect();
        let price = context.market(MarketId(0)).market_price();
        let time = context.time();
        self.journal.write(format!("{} {what} at {time}: running {running}, {price}", self.name));
        Ok(())
    }
}

impl Event for Probe {
    fn hooks(&self) -> Vec<Hook> {
        self.hooks.clone()
    }
    fn before_session(&mut self, context: &mut EventContext<'_>, id: SessionId) -> EventResult {
        self.note(context, &format!("before session {id}"))
    }
    fn after_session(&mut self, context: &mut EventContext<'_>, id: SessionId) -> EventResult {
        self.note(context, &format!("after session {id}"))
    }
    fn before_step(&mut self, context: &mut EventContext<'_>, market: MarketId) -> EventResult {
        self.note(context, &format!("before step of M{market}"))
    }
    fn after_step(&mut self, context: &mut EventContext<'_>, market: MarketId) -> EventResult {
        self.note(context, &format!("after step of M{market}"))
    }
    fn before_order(
        &mut self,
        context: &mut EventContext<'_>,
        order: &mut IncomingOrder,
    ) -> EventResult {
        self.note(context, &format!("before order by {}", order.agent()))
    }
    fn after_order(&mut self, context: &mut EventContext<'_>, order: &OrderRecord) -> EventResult {
        self.note(context, &format!("after order #{}", order.order_id))
    }
    fn before_cancel(
        &mut self,
        context: &mut EventContext<'_>,
        agent: AgentId,
        cancel: CancelRequest,
    ) -> EventResult {
        self.note(context, &format!("before cancel #{} by {agent}", cancel.order_id))
    }
    fn after_cancel(&mut self, context: &mut EventContext<'_>, order: &OrderRecord) -> EventResult {
        self.note(context, &format!("after cancel #{}", order.order_id))
    }
    fn after_execution(
        &mut self,
        context: &mut EventContext<'_>,
        fill: &ExecutionRecord,
    ) -> EventResult {
        self.note(context, &format!("after fill #{} #{}", fill.buy_order_id, fill.sell_order_id))
    }
}

fn probe(scene: Scene, name: &'static str, hooks: Vec<Hook>) -> Scene {
    let journal = scene.journal.clone();
    scene.event(Probe { name, hooks, journal })
}

fn two_markets() -> Scene {
    Scene::new(vec![market(0, 1.0, 300.0), market(1, 1.0, 300.0)])
}

#[test]
fn a_step_goes_as_it_is_written() {
    let hooks = EVERYWHERE.map(Hook::always).to_vec();
    let mut scene = probe(two_markets(), "P", hooks).started(Switch::On);
    assert_eq!(
        scene.journal.take(),
        [
            "t-1 simulation begins",
            "P before session 0 at 0: running 00, 300",
            "t0 session 0 begins",
            "P before step of M0 at 0: running 11, 300",
            "P before step of M1 at 0: running 11, 300",
        ]
    );
    scene.send(["S 300x1 ttl1 by1", "S 301x1 by1", "S 310x1 ttl1 by1", "B 290x1"]);
    assert_eq!(
        scene.journal.take()[..4],
        [
            "P before order by 1 at 0: running 11, 300",
            "t0 order #0 S 300x1 ttl1 by1",
            "agent 1 accepted #0",
            "P after order #0 at 0: running 11, 300",
        ]
    );
    scene.send(["B 301x2 by2"]);
    assert_eq!(
        scene.journal.take(),
        [
            "P before order by 2 at 0: running 11, 295",
            "t0 order #4 B 301x2 by2",
            "agent 2 accepted #4",
            "P after order #4 at 0: running 11, 300.5",
            "t0 fill #4 #0 1 at 301",
            "t0 fill #4 #1 1 at 301",
            "agent 2 executed #4 #0",
            "agent 1 executed #4 #0",
            "P after fill #4 #0 at 0: running 11, 301",
            "agent 2 executed #4 #1",
            "agent 1 executed #4 #1",
            "P after fill #4 #1 at 0: running 11, 301",
        ]
    );
    scene.send(["C 3"]);
    assert_eq!(
        scene.journal.take(),
        [
            "P before cancel #3 by 0 at 0: running 11, 301",
            "t0 cancel #3 B 290x1",
            "agent 0 canceled #3",
            "P after cancel #3 at 0: running 11, 301",
        ]
    );
    scene.end_step();
    assert_eq!(
        scene.journal.take(),
        [
            "t0 step 301/300",
            "P after step of M0 at 0: running 11, 301",
            "t0 step 300/300 @1",
            "P after step of M1 at 0: running 11, 301",
        ]
    );
    scene.next_session(Switch::Off);
    assert_eq!(
        scene.journal.take(),
        [
            "t1 step 301/300",
            "P after step of M0 at 1: running 11, 301",
            "t1 step 300/300 @1",
            "P after step of M1 at 1: running 11, 301",
            "t2 expiration #2 S 310x1 ttl1 by1",
            "P after session 0 at 2: running 11, 301",
            "t2 session 0 ends",
            "P before session 1 at 2: running 11, 301",
            "t2 session 1 begins",
            "P before step of M0 at 2: running 00, 301",
            "P before step of M1 at 2: running 00, 301",
        ]
    );
}

#[test]
fn hooks_without_a_time_run_before_hooks_with_one_each_in_order_of_registration() {
    let at = |steps| vec![Hook::during(HookPoint::BeforeStep, steps)];
    let always = || vec![Hook::always(HookPoint::BeforeStep)];
    let mut scene = Scene::new(vec![market(0, 1.0, 300.0)]);
    scene = probe(scene, "A", at(Step(1)..Step(3)));
    scene = probe(scene, "B", always());
    scene = probe(scene, "C", at(Step(2)..Step(3)));
    scene = probe(scene, "D", always());
    scene = probe(scene, "E", at(Step(2)..Step(2)));
    let mut scene = scene.started(Switch::On);
    let mut names = Vec::new();
    for _ in 0..4 {
        let lines = scene.journal.take();
        let probes = lines.iter().filter(|line| line.contains("before step"));
        names.push(probes.map(|line| &line[..1]).collect::<String>());
        scene.next_step();
    }
    assert_eq!(names, ["BD", "BDA", "BDAC", "BD"]);
}

#[test]
fn times_of_hooks_are_absolute_across_sessions() {
    let hooks = vec![Hook::during(HookPoint::BeforeStep, Step(3)..Step(4))];
    let mut scene = probe(Scene::new(vec![market(0, 1.0, 300.0)]), "P", hooks).started(Switch::On);
    for _ in 0..4 {
        scene.next_session(Switch::On);
    }
    let lines = scene.journal.take();
    let probes: Vec<_> = lines.iter().filter(|line| line.starts_with("P ")).collect();
    assert_eq!(probes, ["P before step of M0 at 3: running 1, 300"]);
}

#[test]
fn an_event_that_fails_is_named() {
    #[derive(Debug)]
    struct Failing;
    impl Event for Failing {
        fn hooks(&self) -> Vec<Hook> {
            vec![Hook::always(HookPoint::AfterExecution)]
        }
        fn after_execution(
            &mut self,
            _: &mut EventContext<'_>,
            _: &ExecutionRecord,
        ) -> EventResult {
            Err("no more".into())
        }
    }
    let mut scene = Scene::new(vec![market(0, 1.0, 300.0)]).event(Failing).started(Switch::On);
    scene.send(["S 300x1 by1", "S 300x1 by1"]);
    let error = scene.try_send("B 300x2 by2").unwrap_err();
    assert_eq!(error.to_string(), "event E0: no more");
    // All fills of the pass had changed cash and holdings before the first callback.
    let accounts: Vec<_> = scene.simulator.accounts().iter().map(Account::cash).collect();
    assert_eq!(accounts, [1000.0, 1600.0, 400.0]);
}

/// Changes orders as a test says.
#[derive(Debug)]
struct Changing(fn(&mut IncomingOrder));

impl Event for Changing {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::always(HookPoint::BeforeOrder)]
    }
    fn before_order(&mut self, _: &mut EventContext<'_>, order: &mut IncomingOrder) -> EventResult {
        (self.0)(order);
        Ok(())
    }
}

fn changing(change: fn(&mut IncomingOrder)) -> Scene {
    two_markets().event(Changing(change)).started(Switch::On)
}

#[test]
fn an_event_may_change_an_order_before_the_book_sees_it() {
    let mut scene = changing(|order| {
        order.request.side = Side::Sell;
        order.request.kind = OrderKind::Limit { price: 310.2 };
        order.request.volume = Volume(7);
        order.request.time_to_live = Some(0);
    });
    scene.send(["BM x1 by1"]);
    assert_eq!(scene.records("order"), ["#0 S 311x7 ttl0 by1"]);
    scene.next_step();
    assert_eq!(scene.records("expiration"), ["#0 S 311x7 ttl0 by1"]);
}

#[test]
fn an_order_that_an_event_sent_elsewhere_trades_there() {
    let mut scene = changing(|order| order.request.market = MarketId(1));
    scene.send(["S 300x1 by1", "B 300x1 by2"]);
    assert_eq!(scene.fills(), ["#1 #0 1 at 300 @1"]);
}

#[test]
fn an_event_can_not_send_an_order_where_its_agent_may_not_trade() {
    let mut scene = changing(|order| order.request.market = MarketId(1));
    scene.simulator.add_account(Account::new(0.0, [MarketId(0)].into()));
    assert_eq!(scene.refusal("B 300x1 by3"), "market M1: it is not one of the agent's markets");
    let mut scene = changing(|order| order.request.market = MarketId(9));
    assert_eq!(scene.refusal("B 300x1"), "market number 9: it is not one of the agent's markets");
}

#[test]
fn an_event_can_not_make_an_order_for_nothing() {
    let mut scene = changing(|order| order.request.volume = Volume::ZERO);
    assert_eq!(scene.refusal("B 300x1"), "market M0: the volume of an order must be at least 1");
}

//! Markets that a test moves by hand and shows to one agent.

use std::sync::Arc;

use pams_agent::{Agent, AgentError, AgentSetup, Markets, Turn};
use pams_core::random::{Generator, GeneratorKind};
use pams_core::{
    Account, AgentId, Event, EventContext, EventResult, Hook, HookPoint, Instruction, MarketId,
    MarketSpec, MarketView, OrderKind, OrderRequest, SessionId, Side, Simulator, SimulatorSpec,
    Step, Switch, TickSize,
};

/// A generator as `random.Random(seed)` of Python.
pub(crate) fn python(seed: u64) -> Generator {
    Generator::new(GeneratorKind::Mt19937, seed)
}

/// A market with tick size 0.5 and one price for everything.
pub(crate) fn market(number: u32, price: f64) -> MarketSpec {
    MarketSpec::new(format!("M{number}"), TickSize::new(0.5).unwrap(), price)
}

/// Stops a market before the step that comes next.
#[derive(Debug)]
struct Stop(MarketId);

impl Event for Stop {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::always(HookPoint::BeforeStep)]
    }
    fn before_step(&mut self, context: &mut EventContext<'_>, _: MarketId) -> EventResult {
        context.set_running(self.0, false);
        Ok(())
    }
}

/// Running markets in which one agent has traded by itself.
pub(crate) struct Floor {
    simulator: Simulator,
    n_sessions: u32,
}

impl Floor {
    pub(crate) fn new(markets: Vec<MarketSpec>) -> Self {
        let ids: Arc<[MarketId]> = (0..markets.len()).map(MarketId::from_index).collect();
        let spec = SimulatorSpec { markets, correlations: Vec::new(), history_window: None };
        let mut simulator = Simulator::new(spec, python(0)).unwrap();
        simulator.add_account(Account::new(0.0, ids));
        simulator.begin(&mut ());
        simulator.begin_session(SessionId(0), Switch::On, &mut ()).unwrap();
        Self { simulator, n_sessions: 1 }
    }

    pub(crate) fn market(&self, number: u32) -> &MarketView {
        &self.simulator.markets()[number as usize]
    }

    pub(crate) fn send(&mut self, order: OrderRequest) {
        self.simulator.process(AgentId(0), &[order.into()], &mut (), &mut ()).unwrap();
    }

    pub(crate) fn limit(&mut self, number: u32, side: Side, price: f64) {
        self.send(OrderRequest::limit(MarketId(number), side, price, 1));
    }

    /// Lets some units trade at a price.
    pub(crate) fn trade(&mut self, number: u32, price: f64, volume: u64) {
        for side in [Side::Buy, Side::Sell] {
            self.send(OrderRequest::limit(MarketId(number), side, price, volume));
        }
        assert_eq!(self.market(number).last_executed_price(), Some(price));
    }

    pub(crate) fn next_step(&mut self) {
        self.simulator.end_step(&mut ()).unwrap();
        self.simulator.move_clock(&mut ());
        self.simulator.before_step().unwrap();
    }

    pub(crate) fn next_session(&mut self, execution: Switch) {
        self.next_step();
        let id = SessionId(self.n_sessions);
        self.n_sessions += 1;
        self.simulator.begin_session(id, execution, &mut ()).unwrap();
    }

    /// Stops one market for good.
    pub(crate) fn stop(&mut self, number: u32) {
        self.simulator.add_event("stop", Box::new(Stop(MarketId(number))), python(0));
        self.next_step();
        assert!(!self.market(number).is_running());
    }

    /// What an agent answers that may trade in all markets.
    pub(crate) fn try_ask<A: Agent>(
        &self,
        agent: &A,
        generator: &mut Generator,
    ) -> Result<Vec<Instruction>, AgentError> {
        self.try_ask_in(agent, generator, self.simulator.accounts()[0].markets())
    }

    /// What an agent answers that may trade in some markets.
    pub(crate) fn try_ask_in<A: Agent>(
        &self,
        agent: &A,
        generator: &mut Generator,
        markets: &[MarketId],
    ) -> Result<Vec<Instruction>, AgentError> {
        let account = Account::new(0.0, markets.into());
        let mut instructions = Vec::new();
        let mut turn = Turn::new(AgentId(0), &account, generator, &mut instructions);
        let markets = Markets::new(self.simulator.markets());
        agent.submit_orders(&A::State::default(), &markets, &mut turn)?;
        Ok(instructions)
    }

    /// The orders of an agent, each as a line like `M0 buy 300.0 x1 ttl2`.
    #[track_caller]
    pub(crate) fn ask<A: Agent>(&self, agent: &A, generator: &mut Generator) -> Vec<String> {
        self.try_ask(agent, generator).unwrap().iter().map(describe).collect()
    }

    pub(crate) fn now(&self) -> Step {
        self.simulator.time()
    }
}

/// An order as a line; the price has all its digits.
pub(crate) fn describe(instruction: &Instruction) -> String {
    let Instruction::Order(order) = instruction else { panic!("{instruction:?} is no order") };
    let OrderRequest { market, side, kind, volume, time_to_live } = *order;
    let OrderKind::Limit { price } = kind else { panic!("{order:?} has no price") };
    let steps = time_to_live.expect("every order of these agents ends");
    format!("M{market} {} {price:?} x{volume} ttl{steps}", side.as_str())
}

/// Makes an agent with a generator of its own.
pub(crate) fn try_make<A: Agent>(settings: &A::Settings, seed: u64) -> Result<A, AgentError> {
    let mut generator = python(seed);
    A::create(settings, &mut AgentSetup::new(AgentId(0), &mut generator, &[MarketId(0)]))
}

#[track_caller]
pub(crate) fn make<A: Agent>(settings: &A::Settings) -> A {
    try_make(settings, 0).unwrap_or_else(|error| panic!("{error}"))
}

/// Why an agent can't be made.
#[track_caller]
pub(crate) fn refusal<A: Agent>(settings: &A::Settings) -> String {
    try_make::<A>(settings, 0).expect_err("no agent can be made of this").to_string()
}

//! The simulator: it owns the markets, the accounts, the fundamentals and the events, and knows
//! what has to happen in which order. Agents live outside; whoever runs a simulation asks them and
//! hands their instructions in.

use crate::account::Account;
use crate::book::{Fill, NewOrder};
use crate::delta::{Change, StepDelta};
use crate::error::{Error, InstructionError};
use crate::event::{Event, EventContext, EventResult, HookPoint, Schedule};
use crate::fundamentals::Correlation;
use crate::ids::{AgentId, MarketId, OrderId, SessionId};
use crate::market::{MarketSpec, MarketView};
use crate::order::{CancelRequest, IncomingOrder, Instruction, OrderKind, OrderRequest};
use crate::quantity::{Step, Volume};
use crate::random::Generator;
use crate::record::{ExecutionRecord, OrderRecord, Record, RecordSink, SessionRecord, StepRecord};
use crate::session::{CurrentSession, Switch};
use crate::tick_size::PriceError;
use crate::world::World;

/// What a simulation is made from.
#[derive(Clone, Debug)]
pub struct SimulatorSpec {
    /// All markets, in the order of their ids; an index comes after its components.
    pub markets: Vec<MarketSpec>,
    /// Correlations of the fundamental prices.
    pub correlations: Vec<Correlation>,
    /// How many steps before the current one are kept; all when none.
    pub history_window: Option<u64>,
}

/// Is told what became of an agent's instructions.
pub trait Traders {
    /// An order of `agent` was accepted.
    fn accepted(&mut self, agent: AgentId, order: &OrderRecord);
    /// A cancel of `agent` was accepted; the volume is what was left of the order.
    fn canceled(&mut self, agent: AgentId, cancel: &OrderRecord);
    /// An order of `agent` traded. Called for the buyer, then for the seller.
    fn executed(&mut self, agent: AgentId, fill: &ExecutionRecord);
}

/// Nobody listens.
impl Traders for () {
    fn accepted(&mut self, _agent: AgentId, _order: &OrderRecord) {}
    fn canceled(&mut self, _agent: AgentId, _cancel: &OrderRecord) {}
    fn executed(&mut self, _agent: AgentId, _fill: &ExecutionRecord) {}
}

/// Owns everything that has state but the agents, and knows what happens in which order.
///
/// The calls of a run, in order: [`begin`](Self::begin); for each session
/// [`begin_session`](Self::begin_session), for each of its steps [`before_step`](Self::before_step),
/// [`process`](Self::process) for each agent that submitted something, [`end_step`](Self::end_step)
/// and [`move_clock`](Self::move_clock), then [`end_session`](Self::end_session); at last
/// [`end`](Self::end).
#[derive(Debug)]
pub struct Simulator {
    world: World,
    events: Schedule,
    fills: Vec<Fill>,
    executions: Vec<ExecutionRecord>,
    warned: Warned,
}

/// Which kinds of oddities have been reported; each is told once.
#[derive(Debug, Default)]
struct Warned {
    off_grid: bool,
    not_positive: bool,
}

impl Simulator {
    /// Makes the markets. `generator` is the simulator's own; the fundamentals' is its child.
    ///
    /// # Errors
    ///
    /// When the correlations can't be.
    pub fn new(spec: SimulatorSpec, generator: Generator) -> Result<Self, Error> {
        Ok(Self {
            world: World::new(spec, generator)?,
            events: Schedule::default(),
            fills: Vec::new(),
            executions: Vec::new(),
            warned: Warned::default(),
        })
    }

    /// Adds an event; its hooks come after those of all events added before. `name` appears in
    /// errors, `generator` is the event's own.
    pub fn add_event(
        &mut self,
        name: impl Into<String>,
        event: Box<dyn Event>,
        generator: Generator,
    ) {
        self.events.add(name.into(), event, generator);
    }

    /// Keeps what changes in the markets from now on for [`take_delta`](Self::take_delta).
    pub fn enable_deltas(&mut self) {
        self.world.deltas.enable();
    }

    /// What changed in the markets since the last call, empty unless enabled.
    pub fn take_delta(&mut self) -> StepDelta {
        self.world.deltas.take()
    }

    /// All markets, ordered by id.
    #[must_use]
    pub fn markets(&self) -> &[MarketView] {
        &self.world.markets
    }

    /// All accounts, ordered by agent id.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.world.accounts
    }

    /// Adds the account of the next agent, before the simulation begins.
    pub fn add_account(&mut self, account: Account) {
        self.world.accounts.push(account);
    }

    /// The current step.
    #[must_use]
    pub fn time(&self) -> Step {
        self.world.time
    }

    /// Moves the clock to time 0.
    pub fn begin(&mut self, sink: &mut (impl RecordSink + ?Sized)) {
        sink.record(Record::SimulationBegin(self.world.time));
        self.world.move_clock(sink);
    }

    /// Begins a session: before-session events, its record, then every market's running flag.
    ///
    /// # Errors
    ///
    /// When an event fails.
    pub fn begin_session(
        &mut self,
        id: SessionId,
        order_execution: Switch,
        sink: &mut (impl RecordSink + ?Sized),
    ) -> Result<(), Error> {
        self.world.session = Some(CurrentSession { id, order_execution });
        self.call(HookPoint::BeforeSession, |event, context| event.before_session(context, id))?;
        sink.record(Record::SessionBegin(SessionRecord { session: id, time: self.world.time }));
        for index in 0..self.world.markets.len() {
            self.world.set_running(MarketId::from_index(index), order_execution.is_on());
        }
        Ok(())
    }

    /// Ends the running session: after-session events, then its record.
    ///
    /// # Errors
    ///
    /// When an event fails.
    ///
    /// # Panics
    ///
    /// When no session is running.
    pub fn end_session(&mut self, sink: &mut (impl RecordSink + ?Sized)) -> Result<(), Error> {
        let session = self.current_session().id;
        self.call(HookPoint::AfterSession, |event, context| event.after_session(context, session))?;
        sink.record(Record::SessionEnd(SessionRecord { session, time: self.world.time }));
        self.world.session = None;
        Ok(())
    }

    /// Ends the simulation.
    pub fn end(&mut self, sink: &mut (impl RecordSink + ?Sized)) {
        sink.record(Record::SimulationEnd(self.world.time));
    }

    /// Runs the before-step events of each market.
    ///
    /// # Errors
    ///
    /// When an event fails.
    pub fn before_step(&mut self) -> Result<(), Error> {
        if self.events.has(HookPoint::BeforeStep) {
            for index in 0..self.world.markets.len() {
                let market = MarketId::from_index(index);
                self.call(HookPoint::BeforeStep, |event, context| {
                    event.before_step(context, market)
                })?;
            }
        }
        Ok(())
    }

    /// Writes the step record of each market, each followed by its after-step events.
    ///
    /// # Errors
    ///
    /// When an event fails.
    ///
    /// # Panics
    ///
    /// When no session is running.
    pub fn end_step(&mut self, sink: &mut (impl RecordSink + ?Sized)) -> Result<(), Error> {
        let session = self.current_session().id;
        let has_events = self.events.has(HookPoint::AfterStep);
        for index in 0..self.world.markets.len() {
            let market = &self.world.markets[index];
            let id = market.id();
            sink.record(Record::Step(StepRecord {
                session,
                time: self.world.time,
                market: id,
                market_price: market.market_price(),
                fundamental_price: market.fundamental_price(),
            }));
            if has_events {
                self.call(HookPoint::AfterStep, |event, context| event.after_step(context, id))?;
            }
        }
        Ok(())
    }

    /// Moves the clock by one step.
    pub fn move_clock(&mut self, sink: &mut (impl RecordSink + ?Sized)) {
        self.world.move_clock(sink);
    }

    /// Processes what an agent submitted, one instruction after the other.
    ///
    /// # Errors
    ///
    /// When an instruction is refused or an event fails; instructions before it have happened.
    ///
    /// # Panics
    ///
    /// When no session is running.
    pub fn process(
        &mut self,
        agent: AgentId,
        instructions: &[Instruction],
        traders: &mut impl Traders,
        sink: &mut (impl RecordSink + ?Sized),
    ) -> Result<(), Error> {
        for instruction in instructions {
            self.world.check_access(agent, instruction.market())?;
            let market = match *instruction {
                Instruction::Order(order) => self.accept_order(agent, order, traders, sink)?,
                Instruction::Cancel(cancel) => {
                    self.accept_cancel(agent, cancel, traders, sink)?;
                    cancel.market
                }
            };
            self.match_orders(market, traders, sink)?;
        }
        Ok(())
    }

    /// Puts an order into the book of its market, which events may have changed, and returns that.
    fn accept_order(
        &mut self,
        agent: AgentId,
        request: OrderRequest,
        traders: &mut impl Traders,
        sink: &mut (impl RecordSink + ?Sized),
    ) -> Result<MarketId, Error> {
        check_request(&request).map_err(|error| self.world.refuse(request.market, error))?;
        let request = if self.events.has(HookPoint::BeforeOrder) {
            self.changed_by_events(agent, request)?
        } else {
            request
        };
        let market = request.market;
        let order =
            self.place(agent, &request).map_err(|error| self.world.refuse(market, error))?;
        let view = &mut self.world.markets[market.index()];
        let order_id = view.place(order);
        let record = OrderRecord {
            time: order.placed_at,
            market,
            order_id,
            agent,
            side: order.side,
            price: order.tick.map(|tick| view.tick_size().price(tick)),
            volume: order.volume,
            time_to_live: order.time_to_live,
        };
        self.world.deltas.push(market, || Change::Placed(order));
        sink.record(Record::Order(record));
        traders.accepted(agent, &record);
        if self.events.has(HookPoint::AfterOrder) {
            self.call(HookPoint::AfterOrder, |event, context| event.after_order(context, &record))?;
        }
        Ok(market)
    }

    /// What the events before an order make of it.
    fn changed_by_events(
        &mut self,
        agent: AgentId,
        request: OrderRequest,
    ) -> Result<OrderRequest, Error> {
        let mut incoming = IncomingOrder::new(agent, request);
        self.call(HookPoint::BeforeOrder, |event, context| {
            event.before_order(context, &mut incoming)
        })?;
        let changed = incoming.request;
        if changed.market != request.market {
            self.world.check_access(agent, changed.market)?;
        }
        Ok(changed)
    }

    /// The order as its market's book takes it.
    fn place(
        &mut self,
        agent: AgentId,
        request: &OrderRequest,
    ) -> Result<NewOrder, InstructionError> {
        let market = &self.world.markets[request.market.index()];
        let volume = request.volume;
        if volume.is_zero() {
            return Err(InstructionError::NoVolume);
        }
        if volume > Volume::MAX_ORDER
            || market.accepted_volume().0 > i64::MAX.unsigned_abs() / 2 - volume.0
        {
            return Err(InstructionError::TooMuchVolume { volume: volume.0 });
        }
        let tick = match request.kind {
            OrderKind::Market => None,
            OrderKind::Limit { price } => {
                let placement = market.tick_size().place(price, request.side)?;
                self.warned.check(placement.moved, price, market);
                Some(placement.tick)
            }
        };
        Ok(NewOrder {
            agent,
            side: request.side,
            tick,
            volume,
            placed_at: self.world.time,
            time_to_live: request.time_to_live,
        })
    }

    fn accept_cancel(
        &mut self,
        agent: AgentId,
        request: CancelRequest,
        traders: &mut impl Traders,
        sink: &mut (impl RecordSink + ?Sized),
    ) -> Result<(), Error> {
        let CancelRequest { market, order_id } = request;
        self.check_owner(agent, market, order_id)
            .map_err(|error| self.world.refuse(market, error))?;
        if self.events.has(HookPoint::BeforeCancel) {
            self.call(HookPoint::BeforeCancel, |event, context| {
                event.before_cancel(context, agent, request)
            })?;
        }
        let record = self.order_record(market, order_id);
        self.world.markets[market.index()].cancel(order_id);
        self.world.deltas.push(market, || Change::Canceled(order_id));
        sink.record(Record::Cancel(record));
        traders.canceled(agent, &record);
        if self.events.has(HookPoint::AfterCancel) {
            self.call(HookPoint::AfterCancel, |event, context| {
                event.after_cancel(context, &record)
            })?;
        }
        Ok(())
    }

    fn check_owner(
        &self,
        agent: AgentId,
        market: MarketId,
        order_id: OrderId,
    ) -> Result<(), InstructionError> {
        let view = &self.world.markets[market.index()];
        match view.owner(order_id) {
            Some(owner) if owner == agent => Ok(()),
            Some(owner) => Err(InstructionError::NotOwner { order_id, owner }),
            None if order_id < view.book().next_order_id() => {
                Err(InstructionError::ForgottenOrder(order_id))
            }
            None => Err(InstructionError::UnknownOrder(order_id)),
        }
    }

    /// An accepted order as it is now.
    fn order_record(&self, market: MarketId, order_id: OrderId) -> OrderRecord {
        let view = &self.world.markets[market.index()];
        let order = view.book().order(order_id).expect("invariant: its owner was just found");
        OrderRecord {
            time: self.world.time,
            market,
            order_id,
            agent: order.agent,
            side: order.side,
            price: view.order_price(&order),
            volume: order.volume,
            time_to_live: order.time_to_live,
        }
    }

    fn match_orders(
        &mut self,
        market: MarketId,
        traders: &mut impl Traders,
        sink: &mut (impl RecordSink + ?Sized),
    ) -> Result<(), Error> {
        let view = &mut self.world.markets[market.index()];
        if !self.world.session.is_some_and(|session| session.order_execution.is_on())
            || !view.is_running()
            || !view.is_executable()
        {
            return Ok(());
        }
        let price = view.run_pass(&mut self.fills);
        self.world.deltas.push(market, || Change::PassRan);
        self.record_fills(market, price, sink);
        for index in 0..self.executions.len() {
            let fill = self.executions[index];
            traders.executed(fill.buy_agent, &fill);
            traders.executed(fill.sell_agent, &fill);
            if self.events.has(HookPoint::AfterExecution) {
                self.call(HookPoint::AfterExecution, |event, context| {
                    event.after_execution(context, &fill)
                })?;
            }
        }
        Ok(())
    }

    /// Records all fills of the pass, then settles them all.
    fn record_fills(
        &mut self,
        market: MarketId,
        price: f64,
        sink: &mut (impl RecordSink + ?Sized),
    ) {
        self.executions.clear();
        for fill in &self.fills {
            let execution = ExecutionRecord {
                time: self.world.time,
                market,
                buy_agent: fill.buy_agent,
                sell_agent: fill.sell_agent,
                buy_order_id: fill.buy,
                sell_order_id: fill.sell,
                price,
                volume: fill.volume,
            };
            sink.record(Record::Execution(execution));
            self.executions.push(execution);
        }
        for fill in &self.executions {
            self.world.accounts[fill.buy_agent.index()].buy(market, price, fill.volume);
            self.world.accounts[fill.sell_agent.index()].sell(market, price, fill.volume);
        }
    }

    fn call(
        &mut self,
        point: HookPoint,
        call: impl FnMut(&mut dyn Event, &mut EventContext<'_>) -> EventResult,
    ) -> Result<(), Error> {
        self.events.call(point, &mut self.world, call)
    }

    fn current_session(&self) -> CurrentSession {
        self.world.session.expect("a session must have begun")
    }
}

fn check_request(request: &OrderRequest) -> Result<(), InstructionError> {
    if request.volume.is_zero() {
        return Err(InstructionError::NoVolume);
    }
    if request.time_to_live == Some(0) {
        return Err(InstructionError::NoTimeToLive);
    }
    // A price limit would make an infinite price a finite one.
    if let Some(price) = request.price()
        && !price.is_finite()
    {
        return Err(PriceError::NotFinite(price).into());
    }
    Ok(())
}

impl Warned {
    fn check(&mut self, moved: bool, price: f64, market: &MarketView) {
        if moved && !self.off_grid {
            self.off_grid = true;
            tracing::info!(
                market = market.name(),
                price,
                tick_size = market.tick_size().get(),
                "a limit price lies between two ticks and is moved to the grid; more such prices are \
                 not reported"
            );
        }
        if price <= 0.0 && !self.not_positive {
            self.not_positive = true;
            tracing::warn!(
                market = market.name(),
                price,
                "a limit price is not positive; more such prices are not reported"
            );
        }
    }
}

#[cfg(test)]
mod tests;

//! Scripted situations for the unit tests: instructions in, a journal of what happened out.
//!
//! Both are written alike. `B 300x2 ttl3` is a buy limit at 300 of 2 units that lives 3 steps,
//! `S 301x1` a sell, `BM x2` and `SM x2` are market orders, `C 0` cancels order 0. `@1` behind it
//! stands for market 1 instead of 0, `by1` for agent 1 instead of 0.

use std::sync::{Arc, Mutex};

use crate::account::Account;
use crate::error::Error;
use crate::event::Event;
use crate::ids::{AgentId, MarketId, OrderId, SessionId};
use crate::market::{MarketSpec, MarketView};
use crate::order::{CancelRequest, Instruction, OrderRequest, Side};
use crate::random::{Generator, GeneratorKind};
use crate::record::{ExecutionRecord, OrderRecord, Record, RecordSink};
use crate::session::Switch;
use crate::simulator::{Simulator, SimulatorSpec, Traders};
use crate::tick_size::TickSize;

/// How many agents a scene has; all of them may trade everywhere.
pub(crate) const N_AGENTS: u32 = 3;

/// What each agent of a scene has at the start.
pub(crate) const CASH: f64 = 1000.0;

/// A market named `M` and its number.
pub(crate) fn market(number: u32, tick_size: f64, price: f64) -> MarketSpec {
    MarketSpec::new(format!("M{number}"), TickSize::new(tick_size).unwrap(), price)
}

/// What happened, in order, one line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    /// What was written since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl RecordSink for Journal {
    fn record(&mut self, record: Record) {
        self.write(match record {
            Record::Order(order) => format!("t{} order {}", order.time, describe(&order)),
            Record::Cancel(order) => format!("t{} cancel {}", order.time, describe(&order)),
            Record::Expiration(order) => format!("t{} expiration {}", order.time, describe(&order)),
            Record::Execution(fill) => format!("t{} fill {}", fill.time, describe_fill(&fill)),
            Record::Step(step) => format!(
                "t{} step {}/{}{}",
                step.time,
                step.market_price,
                step.fundamental_price,
                at(step.market)
            ),
            Record::SessionBegin(session) => {
                format!("t{} session {} begins", session.time, session.session)
            }
            Record::SessionEnd(session) => {
                format!("t{} session {} ends", session.time, session.session)
            }
            Record::SimulationBegin(time) => format!("t{time} simulation begins"),
            Record::SimulationEnd(time) => format!("t{time} simulation ends"),
        });
    }
}

impl Traders for Journal {
    fn accepted(&mut self, agent: AgentId, order: &OrderRecord) {
        self.write(format!("agent {agent} accepted #{}", order.order_id));
    }

    fn canceled(&mut self, agent: AgentId, cancel: &OrderRecord) {
        self.write(format!("agent {agent} canceled #{}", cancel.order_id));
    }

    fn executed(&mut self, agent: AgentId, fill: &ExecutionRecord) {
        self.write(format!(
            "agent {agent} executed #{} #{}",
            fill.buy_order_id, fill.sell_order_id
        ));
    }
}

/// An order as it is written in the journal.
pub(crate) fn describe(order: &OrderRecord) -> String {
    let side = match order.side {
        Side::Buy => "B",
        Side::Sell => "S",
    };
    let price = order.price.map_or_else(|| "M ".to_owned(), |price| format!(" {price}"));
    let steps = order.time_to_live.map_or_else(String::new, |steps| format!(" ttl{steps}"));
    let agent =
        if order.agent == AgentId(0) { String::new() } else { format!(" by{}", order.agent) };
    let market = at(order.market);
    format!("#{} {side}{price}x{}{steps}{market}{agent}", order.order_id, order.volume)
}

fn describe_fill(fill: &ExecutionRecord) -> String {
    let (buy, sell) = (fill.buy_order_id, fill.sell_order_id);
    format!("#{buy} #{sell} {} at {}{}", fill.volume, fill.price, at(fill.market))
}

fn at(market: MarketId) -> String {
    if market == MarketId(0) { String::new() } else { format!(" @{market}") }
}

/// Reads an instruction and whose it is.
pub(crate) fn instruction(text: &str) -> (AgentId, Instruction) {
    let mut words = text.split_whitespace();
    let (kind, what) = (words.next().unwrap(), words.next().unwrap());
    let (mut agent, mut market, mut time_to_live) = (AgentId(0), MarketId(0), None);
    for word in words {
        if let Some(steps) = word.strip_prefix("ttl") {
            time_to_live = Some(steps.parse().unwrap());
        } else if let Some(number) = word.strip_prefix('@') {
            market = MarketId(number.parse().unwrap());
        } else if let Some(number) = word.strip_prefix("by") {
            agent = AgentId(number.parse().unwrap());
        } else {
            panic!("what does `{word}` mean in `{text}`?");
        }
    }
    if kind == "C" {
        let order_id = OrderId(what.parse().unwrap());
        return (agent, CancelRequest { market, order_id }.into());
    }
    let side = match kind.as_bytes()[0] {
        b'B' => Side::Buy,
        b'S' => Side::Sell,
        _ => panic!("no side in `{text}`"),
    };
    let (price, volume) = what.split_once('x').unwrap();
    let volume: u64 = volume.parse().unwrap();
    let order = if kind.ends_with('M') {
        OrderRequest::market(market, side, volume)
    } else {
        OrderRequest::limit(market, side, price.parse().unwrap(), volume)
    };
    (agent, OrderRequest { time_to_live, ..order }.into())
}

/// A simulation that a test drives by hand.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) simulator: Simulator,
    pub(crate) journal: Journal,
    n_sessions: u32,
    n_events: u32,
}

impl Scene {
    pub(crate) fn new(markets: Vec<MarketSpec>) -> Self {
        Self::with_window(markets, None)
    }

    pub(crate) fn with_window(markets: Vec<MarketSpec>, history_window: Option<u64>) -> Self {
        let ids: Arc<[MarketId]> = (0..markets.len()).map(MarketId::from_index).collect();
        let spec = SimulatorSpec { markets, correlations: Vec::new(), history_window };
        let generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
        let mut simulator = Simulator::new(spec, generator).unwrap();
        for _ in 0..N_AGENTS {
            simulator.add_account(Account::new(CASH, Arc::clone(&ids)));
        }
        Self { simulator, journal: Journal::default(), n_sessions: 0, n_events: 0 }
    }

    /// One market with tick size 1 and price 300, trading.
    pub(crate) fn trading() -> Self {
        Self::new(vec![market(0, 1.0, 300.0)]).started(Switch::On)
    }

    /// Adds an event named `E` and its number.
    pub(crate) fn event(mut self, event: impl Event + 'static) -> Self {
        let name = format!("E{}", self.n_events);
        self.n_events += 1;
        let generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, self.n_events.into());
        self.simulator.add_event(name, Box::new(event), generator);
        self
    }

    /// Time 0 of a first session, after the before-step events.
    pub(crate) fn started(mut self, execution: Switch) -> Self {
        self.simulator.begin(&mut self.journal);
        self.begin_session(execution);
        self.simulator.before_step().unwrap();
        self
    }

    pub(crate) fn begin_session(&mut self, execution: Switch) {
        let id = SessionId(self.n_sessions);
        self.n_sessions += 1;
        self.simulator.begin_session(id, execution, &mut self.journal).unwrap();
    }

    /// Ends the step and begins the next one.
    pub(crate) fn next_step(&mut self) {
        self.end_step();
        self.simulator.before_step().unwrap();
    }

    pub(crate) fn end_step(&mut self) {
        self.simulator.end_step(&mut self.journal).unwrap();
        self.simulator.move_clock(&mut self.journal);
    }

    /// Ends the step and the session and begins the next ones.
    pub(crate) fn next_session(&mut self, execution: Switch) {
        self.end_step();
        self.simulator.end_session(&mut self.journal).unwrap();
        self.begin_session(execution);
        self.simulator.before_step().unwrap();
    }

    pub(crate) fn try_send(&mut self, text: &str) -> Result<(), Error> {
        let (agent, instruction) = instruction(text);
        self.try_submit(agent, instruction)
    }

    pub(crate) fn try_submit(
        &mut self,
        agent: AgentId,
        instruction: Instruction,
    ) -> Result<(), Error> {
        let mut traders = self.journal.clone();
        self.simulator.process(agent, &[instruction], &mut traders, &mut self.journal)
    }

    /// Sends instructions, one after the other.
    #[track_caller]
    pub(crate) fn send<const N: usize>(&mut self, texts: [&str; N]) {
        for text in texts {
            self.try_send(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    /// What a refused instruction is answered.
    #[track_caller]
    pub(crate) fn refusal(&mut self, text: &str) -> String {
        self.try_send(text).expect_err(text).to_string()
    }

    /// What was recorded since the last call that begins with the time and a word.
    pub(crate) fn records(&self, word: &str) -> Vec<String> {
        let wanted = format!(" {word} ");
        self.journal
            .take()
            .into_iter()
            .filter(|line| line.starts_with('t') && line.contains(&wanted))
            .map(|line| line.split_once(&wanted).unwrap().1.to_owned())
            .collect()
    }

    /// The fills since the last call, as `#buy #sell volume at price`.
    pub(crate) fn fills(&self) -> Vec<String> {
        self.records("fill")
    }

    pub(crate) fn market(&self) -> &MarketView {
        &self.simulator.markets()[0]
    }

    /// Market price, mid price, last executed price.
    pub(crate) fn prices(&self) -> (f64, Option<f64>, Option<f64>) {
        let market = self.market();
        (market.market_price(), market.mid_price(), market.last_executed_price())
    }
}

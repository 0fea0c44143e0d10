//! Everything that has state in a simulation but the agents: markets, accounts, fundamentals.

use crate::account::Account;
use crate::delta::{Change, DeltaLog};
use crate::error::{Error, InstructionError};
use crate::fundamentals::{FundamentalSpec, Fundamentals};
use crate::ids::{AgentId, MarketId};
use crate::market::{FieldValue, MarketSpec, MarketView};
use crate::quantity::Step;
use crate::random::Generator;
use crate::record::{OrderRecord, Record, RecordSink};
use crate::session::CurrentSession;
use crate::simulator::SimulatorSpec;

/// See the module.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) markets: Vec<MarketView>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) fundamentals: Fundamentals,
    pub(crate) time: Step,
    pub(crate) session: Option<CurrentSession>,
    pub(crate) deltas: DeltaLog,
}

impl World {
    pub(crate) fn new(spec: SimulatorSpec, mut generator: Generator) -> Result<Self, Error> {
        let kind = generator.kind();
        let mut fundamentals_generator = generator.child();
        let seed = fundamentals_generator.integer(0, 1 << 31).unsigned_abs();
        let processes: Vec<FundamentalSpec> = spec
            .markets
            .iter()
            .enumerate()
            .filter(|(_, market)| market.components.is_empty())
            .map(|(index, market)| FundamentalSpec {
                market: MarketId::from_index(index),
                price: market.fundamental_price,
                drift: market.fundamental_drift,
                volatility: market.fundamental_volatility,
            })
            .collect();
        let fundamentals = Fundamentals::new(&processes, &spec.correlations, kind, seed)?;
        let view = |(index, market): (usize, MarketSpec)| {
            MarketView::new(MarketId::from_index(index), market, spec.history_window)
        };
        Ok(Self {
            markets: spec.markets.into_iter().enumerate().map(view).collect(),
            accounts: Vec::new(),
            fundamentals,
            time: Step::BEFORE_START,
            session: None,
            deltas: DeltaLog::default(),
        })
    }

    /// Moves all clocks by one step: spot markets before index markets.
    pub(crate) fn move_clock(&mut self, sink: &mut (impl RecordSink + ?Sized)) {
        self.time = self.time.next();
        self.fundamentals.advance(self.time);
        for index in 0..self.markets.len() {
            if let Some(price) = self.fundamentals.price(MarketId::from_index(index)) {
                self.move_market(index, price, sink);
            }
        }
        for index in 0..self.markets.len() {
            if self.markets[index].is_index() {
                let price = self.index_fundamental(&self.markets[index]);
                self.move_market(index, price, sink);
            }
        }
    }

    fn move_market(
        &mut self,
        index: usize,
        fundamental_price: f64,
        sink: &mut (impl RecordSink + ?Sized),
    ) {
        let market = &mut self.markets[index];
        let (time, id, tick_size) = (self.time, market.id(), market.tick_size());
        market.move_clock(fundamental_price, |order_id, order| {
            sink.record(Record::Expiration(OrderRecord {
                time,
                market: id,
                order_id,
                agent: order.agent,
                side: order.side,
                price: order.tick.map(|tick| tick_size.price(tick)),
                volume: order.volume,
                time_to_live: order.time_to_live,
            }));
        });
        self.deltas.push(id, || Change::ClockMoved { fundamental_price });
    }

    /// The share-weighted mean of the components' fundamental prices now.
    #[expect(clippy::cast_precision_loss, reason = "as Python divides a float by a whole number")]
    fn index_fundamental(&self, index: &MarketView) -> f64 {
        let mut value = 0.0;
        let mut shares = 0_u128;
        for component in index.components() {
            let price = self.markets[component.market.index()].fundamental_price();
            value += price * component.shares as f64;
            shares += u128::from(component.shares);
        }
        value / shares as f64
    }

    pub(crate) fn set_running(&mut self, market: MarketId, running: bool) {
        if self.markets[market.index()].is_running() != running {
            self.markets[market.index()].set_running(running);
            self.deltas.push(market, || Change::Running(running));
        }
    }

    pub(crate) fn set_market_price(&mut self, market: MarketId, price: f64) {
        self.markets[market.index()].set_market_price(price);
        self.deltas.push(market, || Change::MarketPrice(price));
    }

    pub(crate) fn set_fundamental_price(&mut self, market: MarketId, price: f64) {
        self.fundamentals.set_price(market, price);
        self.markets[market.index()].set_fundamental_price(price);
        self.deltas.push(market, || Change::FundamentalPrice(price));
    }

    pub(crate) fn set_field(&mut self, market: MarketId, name: String, value: FieldValue) {
        self.deltas.push(market, || Change::Field(name.clone(), value.clone()));
        self.markets[market.index()].set_field(name, value);
    }

    /// An error about an instruction, naming its market.
    pub(crate) fn refuse(&self, market: MarketId, error: impl Into<InstructionError>) -> Error {
        let name = self.markets.get(market.index()).map_or_else(
            || format!("market number {market}"),
            |market| format!("market {}", market.name()),
        );
        Error::new(error.into(), name)
    }

    /// Checks that an agent may send instructions to a market.
    pub(crate) fn check_access(&self, agent: AgentId, market: MarketId) -> Result<(), Error> {
        if self.accounts[agent.index()].can_trade(market) {
            Ok(())
        } else {
            Err(self.refuse(market, InstructionError::NotAccessible))
        }
    }
}

//! One JSON object a record.

use std::io::{self, Write};

use pams_core::{
    Account, AgentId, ExecutionRecord, OrderRecord, Record, SessionRecord, StepRecord,
};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::logger::Logger;
use crate::names::NameTable;

/// Writes every record as a JSON object on a line of its own, then every account. Prices are the
/// shortest decimals that read back as the same number.
///
/// ```text
/// {"type":"order","time":0,"market":"Market","order_id":0,"agent":"FCNAgents-42","side":"buy","kind":"limit","price":299.5,"volume":1,"ttl":100}
/// {"type":"execution","time":101,"market":"Market","buy_agent":"FCNAgents-7","sell_agent":"FCNAgents-42","buy_order_id":90,"sell_order_id":17,"price":300.2,"volume":1}
/// {"type":"step","session":0,"time":0,"market":"Market","market_price":300.0,"fundamental_price":300.0}
/// {"type":"account","agent":"FCNAgents-0","cash":10000.0,"assets":{"Market":50}}
/// ```
///
/// `cancel` and `expiration` look like `order`, `session_begin`, `session_end`, `simulation_begin`
/// and `simulation_end` have a time, sessions also their id and name.
#[derive(Debug)]
pub struct JsonLines<W>(W);

impl<W: Write> JsonLines<W> {
    /// A logger that writes to `output`, which should be buffered.
    pub fn new(output: W) -> Self {
        Self(output)
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, line)?;
        self.0.write_all(b"\n")
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Order(OrderLine<'a>),
    Cancel(OrderLine<'a>),
    Expiration(OrderLine<'a>),
    Execution {
        time: i64,
        market: &'a str,
        buy_agent: String,
        sell_agent: String,
        buy_order_id: u64,
        sell_order_id: u64,
        price: f64,
        volume: u64,
    },
    Step {
        session: u32,
        time: i64,
        market: &'a str,
        market_price: f64,
        fundamental_price: f64,
    },
    SessionBegin(SessionLine<'a>),
    SessionEnd(SessionLine<'a>),
    SimulationBegin {
        time: i64,
    },
    SimulationEnd {
        time: i64,
    },
    Account {
        agent: String,
        cash: f64,
        assets: Map<String, Json>,
    },
}

#[derive(Serialize)]
struct OrderLine<'a> {
    time: i64,
    market: &'a str,
    order_id: u64,
    agent: String,
    side: &'static str,
    kind: &'static str,
    price: Option<f64>,
    volume: u64,
    ttl: Option<u64>,
}

#[derive(Serialize)]
struct SessionLine<'a> {
    session: u32,
    name: &'a str,
    time: i64,
}

fn order_line<'a>(order: &OrderRecord, names: &'a NameTable) -> OrderLine<'a> {
    OrderLine {
        time: order.time.0,
        market: names.market(order.market),
        order_id: order.order_id.0,
        agent: names.agent(order.agent),
        side: order.side.as_str(),
        kind: if order.price.is_some() { "limit" } else { "market" },
        price: order.price,
        volume: order.volume.0,
        ttl: order.time_to_live,
    }
}

fn execution_line<'a>(execution: &ExecutionRecord, names: &'a NameTable) -> Line<'a> {
    Line::Execution {
        time: execution.time.0,
        market: names.market(execution.market),
        buy_agent: names.agent(execution.buy_agent),
        sell_agent: names.agent(execution.sell_agent),
        buy_order_id: execution.buy_order_id.0,
        sell_order_id: execution.sell_order_id.0,
        price: execution.price,
        volume: execution.volume.0,
    }
}

fn session_line<'a>(session: &SessionRecord, names: &'a NameTable) -> SessionLine<'a> {
    SessionLine {
        session: session.session.0,
        name: names.session(session.session),
        time: session.time.0,
    }
}

impl<W: Write + Send> Logger for JsonLines<W> {
    fn record(&mut self, record: &Record, names: &NameTable) -> io::Result<()> {
        self.write(&match record {
            Record::Order(order) => Line::Order(order_line(order, names)),
            Record::Cancel(order) => Line::Cancel(order_line(order, names)),
            Record::Expiration(order) => Line::Expiration(order_line(order, names)),
            Record::Execution(execution) => execution_line(execution, names),
            Record::Step(StepRecord { session, time, market, market_price, fundamental_price }) => {
                Line::Step {
                    session: session.0,
                    time: time.0,
                    market: names.market(*market),
                    market_price: *market_price,
                    fundamental_price: *fundamental_price,
                }
            }
            Record::SessionBegin(session) => Line::SessionBegin(session_line(session, names)),
            Record::SessionEnd(session) => Line::SessionEnd(session_line(session, names)),
            Record::SimulationBegin(time) => Line::SimulationBegin { time: time.0 },
            Record::SimulationEnd(time) => Line::SimulationEnd { time: time.0 },
        })
    }

    fn account(&mut self, agent: AgentId, account: &Account, names: &NameTable) -> io::Result<()> {
        let assets = account
            .holdings()
            .map(|(market, units)| (names.market(market).to_owned(), units.into()))
            .collect();
        self.write(&Line::Account { agent: names.agent(agent), cash: account.cash(), assets })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

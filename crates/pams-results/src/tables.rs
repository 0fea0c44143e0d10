//! The tables of a run folder, and what a row of each looks like.

use std::sync::Arc;

use pams_core::{
    AgentId, ExecutionRecord, MarketId, OrderId, OrderRecord, SessionId, Side, Step, StepRecord,
    Volume,
};
use pams_runner::NameTable;

use crate::rows::{AccountRow, DepthRow, HoldingRow, Numbered, SessionEvent, SessionRow, StepRow};
use crate::table::{ColumnSpec, Kind, RowReader, RowWriter, TableSpec};

const fn column(name: &'static str, kind: Kind) -> ColumnSpec {
    ColumnSpec { name, kind }
}

pub(crate) const STEPS: TableSpec = TableSpec {
    name: "steps",
    columns: &[
        column("record", Kind::Whole),
        column("time", Kind::Whole),
        column("session_id", Kind::Small),
        column("session", Kind::Name),
        column("market_id", Kind::Small),
        column("market", Kind::Name),
        column("market_price", Kind::Float),
        column("fundamental_price", Kind::Float),
        column("best_bid", Kind::MaybeFloat),
        column("best_ask", Kind::MaybeFloat),
        column("mid_price", Kind::MaybeFloat),
        column("last_executed_price", Kind::MaybeFloat),
        column("executed_volume", Kind::Whole),
        column("executed_value", Kind::Float),
        column("buy_orders", Kind::Whole),
        column("sell_orders", Kind::Whole),
    ],
};

const ORDER_COLUMNS: &[ColumnSpec] = &[
    column("record", Kind::Whole),
    column("time", Kind::Whole),
    column("market_id", Kind::Small),
    column("market", Kind::Name),
    column("order_id", Kind::Whole),
    column("agent_id", Kind::Small),
    column("agent", Kind::Name),
    column("side", Kind::Text),
    column("kind", Kind::Name),
    column("price", Kind::MaybeFloat),
    column("volume", Kind::Whole),
    column("ttl", Kind::MaybeWhole),
];

pub(crate) const ORDERS: TableSpec = TableSpec { name: "orders", columns: ORDER_COLUMNS };
pub(crate) const CANCELS: TableSpec = TableSpec { name: "cancels", columns: ORDER_COLUMNS };
pub(crate) const EXPIRATIONS: TableSpec = TableSpec { name: "expirations", columns: ORDER_COLUMNS };

pub(crate) const EXECUTIONS: TableSpec = TableSpec {
    name: "executions",
    columns: &[
        column("record", Kind::Whole),
        column("time", Kind::Whole),
        column("market_id", Kind::Small),
        column("market", Kind::Name),
        column("buy_agent_id", Kind::Small),
        column("buy_agent", Kind::Name),
        column("sell_agent_id", Kind::Small),
        column("sell_agent", Kind::Name),
        column("buy_order_id", Kind::Whole),
        column("sell_order_id", Kind::Whole),
        column("price", Kind::Float),
        column("volume", Kind::Whole),
    ],
};

pub(crate) const SESSIONS: TableSpec = TableSpec {
    name: "sessions",
    columns: &[
        column("record", Kind::Whole),
        column("time", Kind::Whole),
        column("event", Kind::Text),
        column("session_id", Kind::MaybeWhole),
        column("session", Kind::Name),
    ],
};

pub(crate) const ACCOUNTS: TableSpec = TableSpec {
    name: "accounts",
    columns: &[
        column("agent_id", Kind::Small),
        column("agent", Kind::Text),
        column("cash", Kind::Float),
    ],
};

pub(crate) const HOLDINGS: TableSpec = TableSpec {
    name: "holdings",
    columns: &[
        column("agent_id", Kind::Small),
        column("agent", Kind::Name),
        column("market_id", Kind::Small),
        column("market", Kind::Name),
        column("units", Kind::Whole),
    ],
};

pub(crate) const DEPTH: TableSpec = TableSpec {
    name: "depth",
    columns: &[
        column("time", Kind::Whole),
        column("market_id", Kind::Small),
        column("market", Kind::Name),
        column("side", Kind::Text),
        column("level", Kind::Small),
        column("price", Kind::Float),
        column("volume", Kind::Whole),
        column("orders", Kind::Whole),
    ],
};

fn market<'r>(row: RowWriter<'r>, market: MarketId, names: &NameTable) -> RowWriter<'r> {
    row.small(market.0).text(market.0, || names.market(market).into())
}

fn agent<'r>(row: RowWriter<'r>, agent: AgentId, names: &NameTable) -> RowWriter<'r> {
    row.small(agent.0).text(agent.0, || names.agent(agent).into())
}

fn side(row: RowWriter<'_>, side: Side) -> RowWriter<'_> {
    row.text(u32::from(side == Side::Sell), || side.as_str().into())
}

fn parse_side(text: &Arc<str>) -> Result<Side, String> {
    match &**text {
        "buy" => Ok(Side::Buy),
        "sell" => Ok(Side::Sell),
        other => Err(format!("the side `{other}` is neither `buy` nor `sell`")),
    }
}

/// A row that its table can take and give back.
pub(crate) trait Row: Sized {
    fn write(&self, row: RowWriter<'_>, names: &NameTable);

    fn read(row: &mut RowReader<'_>) -> Result<Self, String>;
}

impl Row for StepRow {
    fn write(&self, row: RowWriter<'_>, names: &NameTable) {
        let step = &self.record;
        let session = step.session;
        let row = row.whole(self.number).whole(step.time.0).small(session.0);
        let row = row.text(session.0, || names.session(session).into());
        market(row, step.market, names)
            .float(step.market_price)
            .float(step.fundamental_price)
            .maybe_float(self.best_bid)
            .maybe_float(self.best_ask)
            .maybe_float(self.mid_price)
            .maybe_float(self.last_executed_price)
            .whole(self.executed_volume.0)
            .float(self.executed_value)
            .whole(self.n_buy_orders)
            .whole(self.n_sell_orders);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        let number = row.whole()?;
        let time = Step(row.signed());
        let session = SessionId(row.small());
        row.skip();
        let market = MarketId(row.small());
        row.skip();
        let (market_price, fundamental_price) = (row.float(), row.float());
        Ok(Self {
            number,
            record: StepRecord { session, time, market, market_price, fundamental_price },
            best_bid: row.maybe_float(),
            best_ask: row.maybe_float(),
            mid_price: row.maybe_float(),
            last_executed_price: row.maybe_float(),
            executed_volume: Volume(row.whole()?),
            executed_value: row.float(),
            n_buy_orders: row.whole()?,
            n_sell_orders: row.whole()?,
        })
    }
}

impl Row for Numbered<OrderRecord> {
    fn write(&self, row: RowWriter<'_>, names: &NameTable) {
        let order = &self.record;
        let row = market(row.whole(self.number).whole(order.time.0), order.market, names);
        let row = side(agent(row.whole(order.order_id.0), order.agent, names), order.side);
        let kind = if order.price.is_some() { "limit" } else { "market" };
        row.text(u32::from(order.price.is_none()), || kind.into())
            .maybe_float(order.price)
            .whole(order.volume.0)
            .maybe_whole(order.time_to_live);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        let number = row.whole()?;
        let time = Step(row.signed());
        let market = MarketId(row.small());
        row.skip();
        let order_id = OrderId(row.whole()?);
        let agent = AgentId(row.small());
        row.skip();
        let side = parse_side(row.text())?;
        row.skip();
        let price = row.maybe_float();
        let volume = Volume(row.whole()?);
        let time_to_live = row.maybe_whole()?;
        let record =
            OrderRecord { time, market, order_id, agent, side, price, volume, time_to_live };
        Ok(Self { number, record })
    }
}

impl Row for Numbered<ExecutionRecord> {
    fn write(&self, row: RowWriter<'_>, names: &NameTable) {
        let execution = &self.record;
        let row = market(row.whole(self.number).whole(execution.time.0), execution.market, names);
        let row = agent(row, execution.buy_agent, names);
        agent(row, execution.sell_agent, names)
            .whole(execution.buy_order_id.0)
            .whole(execution.sell_order_id.0)
            .float(execution.price)
            .whole(execution.volume.0);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        let number = row.whole()?;
        let time = Step(row.signed());
        let market = MarketId(row.small());
        row.skip();
        let buy_agent = AgentId(row.small());
        row.skip();
        let sell_agent = AgentId(row.small());
        row.skip();
        let record = ExecutionRecord {
            time,
            market,
            buy_agent,
            sell_agent,
            buy_order_id: OrderId(row.whole()?),
            sell_order_id: OrderId(row.whole()?),
            price: row.float(),
            volume: Volume(row.whole()?),
        };
        Ok(Self { number, record })
    }
}

impl Row for SessionRow {
    fn write(&self, row: RowWriter<'_>, names: &NameTable) {
        let event = self.event;
        let row = row.whole(self.number).whole(self.time.0);
        let row = row.text(event.code(), || event.as_str().into());
        let row = row.maybe_whole(self.session.map(|session| session.0));
        match self.session {
            Some(session) => row.text(session.0 + 1, || names.session(session).into()),
            // The simulation is no session.
            None => row.text(0, || "".into()),
        };
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        let number = row.whole()?;
        let time = Step(row.signed());
        let event = SessionEvent::parse(row.text())?;
        let session = row.maybe_whole()?.map(u32::try_from).transpose();
        let session = session.map_err(|_| "a session's number has more than 32 bits")?;
        Ok(Self { number, time, event, session: session.map(SessionId) })
    }
}

impl Row for AccountRow {
    fn write(&self, row: RowWriter<'_>, _names: &NameTable) {
        row.small(self.agent.0).text(self.agent.0, || self.name.clone()).float(self.cash);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        Ok(Self { agent: AgentId(row.small()), name: Arc::clone(row.text()), cash: row.float() })
    }
}

impl Row for HoldingRow {
    fn write(&self, row: RowWriter<'_>, names: &NameTable) {
        market(agent(row, self.agent, names), self.market, names).whole(self.units);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        let agent = AgentId(row.small());
        row.skip();
        let market = MarketId(row.small());
        row.skip();
        Ok(Self { agent, market, units: row.signed() })
    }
}

impl Row for DepthRow {
    fn write(&self, row: RowWriter<'_>, names: &NameTable) {
        side(market(row.whole(self.time.0), self.market, names), self.side)
            .small(self.level)
            .float(self.price)
            .whole(self.volume.0)
            .whole(self.n_orders);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, String> {
        let time = Step(row.signed());
        let market = MarketId(row.small());
        row.skip();
        Ok(Self {
            time,
            market,
            side: parse_side(row.text())?,
            level: row.small(),
            price: row.float(),
            volume: Volume(row.whole()?),
            n_orders: row.whole()?,
        })
    }
}

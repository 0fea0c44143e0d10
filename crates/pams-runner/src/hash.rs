//! The hash of a run's records, by which runs are compared.
//!
//! BLAKE3 over a little-endian encoding of the records in order, then the accounts in the order of
//! agent ids. Each entry is a tag byte and its fields:
//!
//! | tag | entry | fields |
//! |---|---|---|
//! | 1, 2, 3 | order, cancel, expiration | time i64, market u32, order id u64, agent u32, side u8 (0 buy, 1 sell), kind u8 (0 limit, 1 market), price option, volume u64, time to live option |
//! | 4 | execution | time i64, market u32, buyer u32, seller u32, buy order id u64, sell order id u64, price f64, volume u64 |
//! | 5 | step | session u32, time i64, market u32, market price f64, fundamental price f64 |
//! | 6, 7 | session begin, end | session u32, time i64 |
//! | 8, 9 | simulation begin, end | time i64 |
//! | 10 | account | agent u32, cash f64, number of markets u32, then for each, ascending, market u32 and units i64 |
//!
//! Floats are their bits, with one NaN and no −0; an option is a byte 0, or a byte 1 and the value.
//! The text [`RecordHasher::VERSION`] comes before all entries.

use std::fmt;
use std::str::FromStr;

use pams_core::{
    Account, AgentId, ExecutionRecord, OrderRecord, Record, SessionRecord, Side, Step, StepRecord,
};

/// The hash of all records and accounts of a run.
///
/// ```
/// use pams_runner::{RecordHash, RecordHasher};
///
/// let hash = RecordHasher::new().finish();
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordHash([u8; 32]);

impl RecordHash {
    /// The 32 bytes of the hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for RecordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "blake3:{}", blake3::Hash::from_bytes(self.0).to_hex())
    }
}

/// A text that is no record hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `blake3:` and 64 hexadecimal digits, found `{0}`")]
pub struct ParseRecordHashError(String);

impl FromStr for RecordHash {
    type Err = ParseRecordHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("blake3:")
            .and_then(|digits| blake3::Hash::from_hex(digits).ok())
            .map(|hash| Self(*hash.as_bytes()))
            .ok_or_else(|| ParseRecordHashError(text.to_owned()))
    }
}

/// Bytes gathered before they are hashed: BLAKE3 works on 16 chunks of 1,024 at once, if they begin
/// at a multiple of 16 chunks.
const BLOCK: usize = 1 << 14;

/// More than any entry takes, an account's beginning among them.
const ENTRY: usize = 64;

/// Makes a [`RecordHash`] record by record.
#[derive(Debug)]
pub struct RecordHasher {
    hasher: blake3::Hasher,
    /// A block and room for an entry that begins in it.
    pending: Box<[u8; BLOCK + ENTRY]>,
    n_pending: usize,
}

impl Default for RecordHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordHasher {
    /// What every hash begins with; another encoding gets another number.
    pub const VERSION: &'static str = "pams records 1\n";

    /// A hash of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let mut pending = Box::new([0; BLOCK + ENTRY]);
        let n_pending = Self::VERSION.len();
        pending[..n_pending].copy_from_slice(Self::VERSION.as_bytes());
        Self { hasher: blake3::Hasher::new(), pending, n_pending }
    }

    /// Adds a record.
    #[inline(always)]
    pub fn record(&mut self, record: &Record) {
        match record {
            Record::Order(order) => self.order(1, order),
            Record::Cancel(order) => self.order(2, order),
            Record::Expiration(order) => self.order(3, order),
            Record::Execution(execution) => self.execution(execution),
            Record::Step(step) => self.step(step),
            Record::SessionBegin(session) => self.session(6, session),
            Record::SessionEnd(session) => self.session(7, session),
            Record::SimulationBegin(time) => self.moment(8, *time),
            Record::SimulationEnd(time) => self.moment(9, *time),
        }
    }

    /// Adds an account. Accounts come after all records.
    ///
    /// # Panics
    ///
    /// Never: an account has no more markets than there are market ids.
    pub fn account(&mut self, agent: AgentId, account: &Account) {
        let n_markets =
            u32::try_from(account.markets().len()).expect("invariant: market ids are 32 bits");
        let entry = self.entry();
        put(entry, 0, [10]);
        put(entry, 1, agent.0.to_le_bytes());
        put(entry, 5, float(account.cash()).to_le_bytes());
        put(entry, 13, n_markets.to_le_bytes());
        self.close(17);
        for (market, units) in account.holdings() {
            let entry = self.entry();
            put(entry, 0, market.0.to_le_bytes());
            put(entry, 4, units.to_le_bytes());
            self.close(12);
        }
    }

    /// The hash of everything that was added.
    #[must_use]
    pub fn finish(mut self) -> RecordHash {
        self.hasher.update(&self.pending[..self.n_pending]);
        RecordHash(*self.hasher.finalize().as_bytes())
    }

    fn order(&mut self, tag: u8, order: &OrderRecord) {
        let side = match order.side {
            Side::Buy => 0,
            Side::Sell => 1,
        };
        let kind = u8::from(order.price.is_none());
        let entry = self.entry();
        put(entry, 0, [tag]);
        put(entry, 1, order.time.0.to_le_bytes());
        put(entry, 9, order.market.0.to_le_bytes());
        put(entry, 13, order.order_id.0.to_le_bytes());
        put(entry, 21, order.agent.0.to_le_bytes());
        put(entry, 25, [side, kind]);
        let at = put_option(entry, 27, order.price.map(float));
        put(entry, at, order.volume.0.to_le_bytes());
        let end = put_option(entry, at + 8, order.time_to_live);
        self.close(end);
    }

    fn execution(&mut self, execution: &ExecutionRecord) {
        let entry = self.entry();
        put(entry, 0, [4]);
        put(entry, 1, execution.time.0.to_le_bytes());
        put(entry, 9, execution.market.0.to_le_bytes());
        put(entry, 13, execution.buy_agent.0.to_le_bytes());
        put(entry, 17, execution.sell_agent.0.to_le_bytes());
        put(entry, 21, execution.buy_order_id.0.to_le_bytes());
        put(entry, 29, execution.sell_order_id.0.to_le_bytes());
        put(entry, 37, float(execution.price).to_le_bytes());
        put(entry, 45, execution.volume.0.to_le_bytes());
        self.close(53);
    }

    fn step(&mut self, step: &StepRecord) {
        let entry = self.entry();
        put(entry, 0, [5]);
        put(entry, 1, step.session.0.to_le_bytes());
        put(entry, 5, step.time.0.to_le_bytes());
        put(entry, 13, step.market.0.to_le_bytes());
        put(entry, 17, float(step.market_price).to_le_bytes());
        put(entry, 25, float(step.fundamental_price).to_le_bytes());
        self.close(33);
    }

    fn session(&mut self, tag: u8, session: &SessionRecord) {
        let entry = self.entry();
        put(entry, 0, [tag]);
        put(entry, 1, session.session.0.to_le_bytes());
        put(entry, 5, session.time.0.to_le_bytes());
        self.close(13);
    }

    fn moment(&mut self, tag: u8, time: Step) {
        let entry = self.entry();
        put(entry, 0, [tag]);
        put(entry, 1, time.0.to_le_bytes());
        self.close(9);
    }

    /// Where the next entry goes.
    #[inline]
    fn entry(&mut self) -> &mut [u8; ENTRY] {
        self.pending[self.n_pending..].first_chunk_mut().expect("invariant: a block is not full")
    }

    /// Ends an entry of so many bytes.
    #[inline]
    fn close(&mut self, length: usize) {
        self.n_pending += length;
        if self.n_pending >= BLOCK {
            self.hash_block();
        }
    }

    #[cold]
    fn hash_block(&mut self) {
        self.hasher.update(&self.pending[..BLOCK]);
        self.pending.copy_within(BLOCK..self.n_pending, 0);
        self.n_pending -= BLOCK;
    }
}

#[inline]
fn put<const N: usize>(entry: &mut [u8; ENTRY], at: usize, bytes: [u8; N]) {
    entry[at..at + N].copy_from_slice(&bytes);
}

/// Writes an option and returns where it ends. What is written beyond a missing value is written
/// over by the next field.
#[inline]
fn put_option(entry: &mut [u8; ENTRY], at: usize, value: Option<u64>) -> usize {
    put(entry, at, [u8::from(value.is_some())]);
    put(entry, at + 1, value.unwrap_or(0).to_le_bytes());
    if value.is_some() { at + 9 } else { at + 1 }
}

/// The bits of a float, with one NaN and no −0.
#[inline]
fn float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value };
    // Adding zero turns −0 into 0 and leaves every other number as it is.
    (value + 0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pams_core::{MarketId, OrderId, SessionId, Volume};

    fn hash(records: &[Record]) -> RecordHash {
        let mut hasher = RecordHasher::new();
        for record in records {
            hasher.record(record);
        }
        hasher.finish()
    }

    fn step(market_price: f64) -> Record {
        Record::Step(StepRecord {
            session: SessionId(1),
            time: Step(2),
            market: MarketId(3),
            market_price,
            fundamental_price: 300.0,
        })
    }

    #[test]
    fn the_encoding_is_the_published_one() {
        let mut expected = b"pams records 1\n".to_vec();
        expected.push(1);
        expected.extend(7_i64.to_le_bytes());
        expected.extend(3_u32.to_le_bytes());
        expected.extend(9_u64.to_le_bytes());
        expected.extend(4_u32.to_le_bytes());
        expected.extend([1, 0, 1]);
        expected.extend(300.5_f64.to_bits().to_le_bytes());
        expected.extend(2_u64.to_le_bytes());
        expected.push(0);
        let order = Record::Order(OrderRecord {
            time: Step(7),
            market: MarketId(3),
            order_id: OrderId(9),
            agent: AgentId(4),
            side: Side::Sell,
            price: Some(300.5),
            volume: Volume(2),
            time_to_live: None,
        });
        assert_eq!(hash(&[order]), RecordHash(*blake3::hash(&expected).as_bytes()));
    }

    #[test]
    fn zeros_and_nans_have_one_encoding() {
        assert_eq!(hash(&[step(0.0)]), hash(&[step(-0.0)]));
        assert_eq!(hash(&[step(f64::NAN)]), hash(&[step(-f64::NAN)]));
        assert_ne!(hash(&[step(0.0)]), hash(&[step(f64::MIN_POSITIVE)]));
    }

    #[test]
    fn order_and_kind_of_records_count() {
        assert_ne!(hash(&[step(1.0), step(2.0)]), hash(&[step(2.0), step(1.0)]));
        assert_ne!(hash(&[]), hash(&[step(1.0)]));
        let times = [Record::SimulationBegin(Step(0)), Record::SimulationEnd(Step(0))];
        assert_ne!(hash(&times[..1]), hash(&times[1..]));
    }

    #[test]
    fn long_runs_hash_like_one_piece() {
        let records: Vec<Record> = (0..5_000_u32).map(|price| step(price.into())).collect();
        let mut bytes = RecordHasher::VERSION.as_bytes().to_vec();
        for record in &records {
            let Record::Step(step) = record else { unreachable!() };
            bytes.push(5);
            bytes.extend(step.session.0.to_le_bytes());
            bytes.extend(step.time.0.to_le_bytes());
            bytes.extend(step.market.0.to_le_bytes());
            bytes.extend(step.market_price.to_le_bytes());
            bytes.extend(step.fundamental_price.to_le_bytes());
        }
        assert_eq!(hash(&records), RecordHash(*blake3::hash(&bytes).as_bytes()));
    }
}

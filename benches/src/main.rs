//! Our order book and two others on the same stream of messages, in turn.
//!
//!     cargo run --release --manifest-path benches/Cargo.toml -- [MESSAGES] [ROUNDS]
//!
//! A stream adds limit orders around a wandering price, cancels orders (some of which have traded
//! in the meantime) and sends orders that take what others offer. Each book gets the same messages
//! and must make the same trades. Time is that of the processor. A ratio is the median of the
//! rounds' ratios, with its smallest and largest value.

mod books;
mod stream;

use books::{Bourse, Lobster, Ours};
use stream::{Message, Shape};

/// A book that is measured.
trait Peer {
    /// An empty book with room for nothing yet.
    fn new() -> Self;
    /// Takes a message; trades that are seen at once go to `trades`.
    fn take(&mut self, number: usize, message: Message, trades: &mut Digest);
    /// The trades that the book has kept instead.
    fn rest(&self, _trades: &mut Digest) {}
}

/// What traded, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    n_trades: u64,
    volume: u64,
    mixed: u64,
}

impl Digest {
    fn add(&mut self, taker: u64, maker: u64, tick: u64, volume: u64) {
        self.n_trades += 1;
        self.volume += volume;
        let trade = taker ^ maker.rotate_left(24) ^ tick.rotate_left(48) ^ volume;
        self.mixed = (self.mixed ^ trade).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
}

fn run<P: Peer>(messages: &[Message]) -> (f64, Digest) {
    let mut trades = Digest::default();
    let start = processor_seconds();
    let mut book = P::new();
    for (number, &message) in messages.iter().enumerate() {
        book.take(number, message, &mut trades);
    }
    let seconds = processor_seconds() - start;
    book.rest(&mut trades);
    (seconds, trades)
}

/// What this thread has used of a processor, so that other programs count less.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// What all books do with a stream: seconds of a processor, and trades.
type Run = fn(&[Message]) -> (f64, Digest);

/// The first is ours.
const BOOKS: [(&str, Run); 3] =
    [("ours", run::<Ours>), ("bourse-book", run::<Bourse>), ("lobster", run::<Lobster>)];

fn report(name: &str, n_messages: usize, seconds: &[f64], ours: &[f64]) {
    let mut ratios: Vec<f64> =
        seconds.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
    let typical = median(&mut seconds.to_vec());
    let ratio = median(&mut ratios);
    println!(
        "  {name:<12} {:8.2} M messages/s, {:6.1} ns each; ours is {ratio:.2} times as fast ({:.2} to {:.2})",
        n_messages as f64 / typical / 1e6,
        typical / n_messages as f64 * 1e9,
        ratios[0],
        ratios[ratios.len() - 1],
    );
}

fn compare(shape: &Shape, n_messages: usize, rounds: usize) {
    let messages = stream::messages(shape, n_messages);
    let books = &BOOKS[..shape.n_books];
    let mut seconds = vec![Vec::new(); books.len()];
    let mut expected = None;
    for _ in 0..rounds {
        for ((name, run), seconds) in books.iter().zip(&mut seconds) {
            let (time, trades) = run(&messages);
            assert_eq!(trades, *expected.get_or_insert(trades), "{name} trades otherwise");
            seconds.push(time);
        }
    }
    let n_trades = expected.unwrap_or_default().n_trades;
    println!("{}: {} messages, {n_trades} trades in each book", shape.name, messages.len());
    for ((name, _), theirs) in books.iter().zip(&seconds) {
        report(name, messages.len(), theirs, &seconds[0]);
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let n_messages = numbers.next().unwrap_or(5_000_000);
    let rounds = numbers.next().unwrap_or(5);
    for shape in &stream::SHAPES {
        compare(shape, n_messages, rounds);
    }
}

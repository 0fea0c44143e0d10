//! The messages that every book gets.

use pams_core::random::{Generator, GeneratorKind};

/// What a book is asked to do. Orders are numbered from 0 in the order in which they are added.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// Places a limit order, which trades at once as far as it crosses.
    Add { buys: bool, tick: u32, volume: u32 },
    /// Takes an order off, if it still rests.
    Cancel(u32),
}

/// What a stream looks like.
pub struct Shape {
    pub name: &'static str,
    /// How far from the touch orders are placed at most, in ticks.
    depth: u64,
    /// How far the price moves at once, in ticks.
    move_ticks: i64,
    /// How many of the books can do it. lobster keeps every level that was ever used and walks over
    /// the empty ones, which takes it minutes where levels are rarely used twice.
    pub n_books: usize,
}

/// A liquid instrument, and one whose ticks are so fine that no two orders share a level.
pub const SHAPES: [Shape; 2] = [
    Shape { name: "dense", depth: 100, move_ticks: 1, n_books: 3 },
    Shape { name: "sparse", depth: 1_000_000, move_ticks: 1_000, n_books: 2 },
];

/// Orders that may rest at a time; beyond it more are canceled than added.
const RESTING: usize = 10_000;

pub fn messages(shape: &Shape, n: usize) -> Vec<Message> {
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
    let mut price = 1_000_000_000_i64;
    let mut n_added = 0_u32;
    let mut added = Vec::new();
    let mut messages = Vec::with_capacity(n);
    while messages.len() < n {
        if generator.below(50) == 0 {
            price += generator.integer(-shape.move_ticks, shape.move_ticks);
        }
        let buys = generator.below(2) == 0;
        let volume = generator.below(10) as u32 + 1;
        let chance = generator.below(100);
        if !added.is_empty() && (chance < 40 || added.len() > RESTING) {
            let place = generator.below(added.len() as u64) as usize;
            messages.push(Message::Cancel(added.swap_remove(place)));
            continue;
        }
        // More orders close to the touch than far away from it; a few beyond it, which take.
        let away = if chance < 50 {
            -(generator.below(shape.depth / 20 + 1) as i64)
        } else {
            (generator.below(shape.depth) * generator.below(shape.depth) / shape.depth) as i64 + 1
        };
        let tick = if buys { price - away } else { price + away };
        messages.push(Message::Add { buys, tick: tick.try_into().expect("a price"), volume });
        added.push(n_added);
        n_added += 1;
    }
    messages
}

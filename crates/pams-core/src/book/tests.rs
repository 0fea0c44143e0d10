//! The book against a naive model: a vector that is sorted whenever somebody asks.

use proptest::prelude::*;

use super::*;
use crate::random::{Generator, GeneratorKind};

const N_AGENTS: u32 = 4;

/// How many steps back the forgetful twin of a book remembers.
const WINDOW: u64 = 3;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Place {
        agent: u32,
        side: Side,
        tick: Option<i64>,
        volume: u64,
        time_to_live: Option<u64>,
    },
    /// Of the n-th order ever placed, counted around.
    Cancel(usize),
    /// Of the n-th resting order, counted around; at most what is left.
    Fill(usize, u64),
    /// The best orders of both sides trade.
    Match,
    MoveClock,
}

#[derive(Clone, Copy, Debug)]
struct Resting {
    id: OrderId,
    order: NewOrder,
}

/// What a book has to be.
#[derive(Debug, Default)]
struct Model {
    /// In the order of placement.
    resting: Vec<Resting>,
    now: i64,
    placed: u64,
    filled: u64,
    canceled: u64,
    expired: u64,
}

impl Model {
    /// By priority: market orders, then better prices, then earlier orders.
    fn side(&self, side: Side) -> Vec<Resting> {
        let mut orders: Vec<Resting> =
            self.resting.iter().filter(|resting| resting.order.side == side).copied().collect();
        orders.sort_by_key(|resting| match (resting.order.tick, side) {
            (None, _) => (0, 0, resting.id),
            (Some(tick), Side::Buy) => (1, -tick.0, resting.id),
            (Some(tick), Side::Sell) => (1, tick.0, resting.id),
        });
        orders
    }

    fn levels(&self, side: Side) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        for Resting { order, .. } in self.side(side) {
            let Some(tick) = order.tick else { continue };
            match levels.last_mut() {
                Some(level) if level.tick == tick => {
                    level.volume += order.volume;
                    level.n_orders += 1;
                }
                _ => levels.push(Level { tick, volume: order.volume, n_orders: 1 }),
            }
        }
        levels
    }

    fn volume(&self, wanted: impl Fn(&NewOrder) -> bool) -> Volume {
        let orders = self.resting.iter().filter(|resting| wanted(&resting.order));
        orders.map(|resting| resting.order.volume).sum()
    }

    fn fill(&mut self, id: OrderId, volume: u64) {
        let position = self.resting.iter().position(|resting| resting.id == id).unwrap();
        self.resting[position].order.volume -= Volume(volume);
        self.filled += volume;
        if self.resting[position].order.volume.is_zero() {
            self.resting.remove(position);
        }
    }

    /// Who is gone at the present step: buys first, each side in the order of placement.
    fn expire(&mut self) -> Vec<OrderId> {
        let now = self.now;
        let (gone, resting): (Vec<_>, Vec<_>) = self.resting.iter().copied().partition(|resting| {
            let order = resting.order;
            order.time_to_live.is_some_and(|steps| order.placed_at.saturating_add(steps).0 < now)
        });
        self.resting = resting;
        self.expired += gone.iter().map(|resting| resting.order.volume.0).sum::<u64>();
        let of = |side| gone.iter().filter(move |resting| resting.order.side == side);
        of(Side::Buy).chain(of(Side::Sell)).map(|resting| resting.id).collect()
    }
}

/// What becomes of the best orders of both sides.
fn expected_fill(buy: &Resting, sell: &Resting) -> Option<Fill> {
    let ticks = (buy.order.tick, sell.order.tick);
    let tick = match ticks {
        (Some(bid), Some(ask)) => Some(if buy.id < sell.id { bid } else { ask }),
        (bid, ask) => bid.or(ask),
    };
    let crosses = !matches!(ticks, (Some(bid), Some(ask)) if bid < ask);
    crosses.then(|| Fill {
        buy: buy.id,
        sell: sell.id,
        buy_agent: buy.order.agent,
        sell_agent: sell.order.agent,
        tick,
        volume: buy.order.volume.min(sell.order.volume),
    })
}

/// A model, a book that keeps every order and one that forgets.
struct Comparison {
    model: Model,
    books: [Book; 2],
}

impl Comparison {
    fn new() -> Self {
        Self { model: Model::default(), books: [Book::new(None), Book::new(Some(WINDOW))] }
    }

    fn fill(&mut self, id: OrderId, volume: u64) {
        self.model.fill(id, volume);
        for book in &mut self.books {
            book.fill(id, Volume(volume));
        }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Place { agent, side, tick, volume, time_to_live } => {
                let order = NewOrder {
                    agent: AgentId(agent),
                    side,
                    tick: tick.map(Tick),
                    volume: Volume(volume),
                    placed_at: Step(self.model.now),
                    time_to_live,
                };
                let id = self.books[0].place(order);
                assert_eq!(self.books[1].place(order), id);
                self.model.resting.push(Resting { id, order });
                self.model.placed += volume;
            }
            Operation::Cancel(number) => self.cancel(number),
            Operation::Fill(number, volume) if !self.model.resting.is_empty() => {
                let resting = self.model.resting[number % self.model.resting.len()];
                self.fill(resting.id, volume.min(resting.order.volume.0));
            }
            Operation::Match => {
                let best = |side| self.model.side(side).first().copied();
                let pair = best(Side::Buy).zip(best(Side::Sell));
                let expected = pair.and_then(|(buy, sell)| expected_fill(&buy, &sell));
                for book in &mut self.books {
                    assert_eq!(book.match_best(), expected);
                }
                if let Some(fill) = expected {
                    self.model.fill(fill.buy, fill.volume.0);
                    self.model.fill(fill.sell, fill.volume.0);
                }
            }
            Operation::MoveClock => self.move_clock(),
            Operation::Fill(..) => {}
        }
        self.check();
    }

    fn cancel(&mut self, number: usize) {
        let n_placed = self.books[0].next_order_id().0;
        if n_placed == 0 {
            return;
        }
        let id = OrderId(number as u64 % n_placed);
        if let Some(position) = self.model.resting.iter().position(|resting| resting.id == id) {
            self.model.canceled += self.model.resting.remove(position).order.volume.0;
        }
        for book in &mut self.books {
            if book.order(id).is_some() {
                book.cancel(id);
            }
        }
    }

    fn move_clock(&mut self) {
        self.model.now += 1;
        let now = Step(self.model.now);
        let gone = self.model.expire();
        for book in &mut self.books {
            let mut expired = Vec::new();
            book.expire(now, |id, _| expired.push(id));
            assert_eq!(expired, gone);
        }
    }

    fn check(&self) {
        let model = &self.model;
        for book in &self.books {
            for side in [Side::Buy, Side::Sell] {
                let orders = model.side(side);
                let best = orders
                    .first()
                    .map(|resting| Best { tick: resting.order.tick, order_id: resting.id });
                assert_eq!(book.best(side), best);
                assert_eq!(book.touch(side), best.and_then(|best| best.tick));
                assert_eq!(
                    book.best_limit(side),
                    model.levels(side).first().map(|level| level.tick)
                );
                assert!(book.resting(side).eq(orders.iter().map(|resting| resting.id)));
                assert!(book.levels(side).eq(model.levels(side)));
                let on_side = |order: &NewOrder| order.side == side;
                let limit = model.volume(|order| on_side(order) && order.tick.is_some());
                assert_eq!(book.limit_volume(side), limit);
                let market = model.volume(|order| on_side(order) && order.tick.is_none());
                assert_eq!(book.market_volume(side), market);
            }
            for agent in (0..N_AGENTS).map(AgentId) {
                let own = model.resting.iter().filter(|resting| resting.order.agent == agent);
                assert!(book.resting_of(agent).eq(own.map(|resting| resting.id)));
            }
            for resting in &model.resting {
                let order = book.order(resting.id).expect("a resting order is never forgotten");
                assert_eq!(
                    (order.state, order.volume),
                    (OrderState::Resting, resting.order.volume)
                );
            }
        }
    }

    /// Volume is conserved: placed = filled + resting + cancelled + expired.
    fn check_volumes(&self) {
        let model = &self.model;
        let resting = model.volume(|_| true).0;
        assert_eq!(model.placed, model.filled + resting + model.canceled + model.expired);
        let left = |state| {
            let ids = 0..self.books[0].next_order_id().0;
            let orders = ids.map(|id| self.books[0].order(OrderId(id)).expect("nothing forgotten"));
            orders.filter(|order| order.state == state).map(|order| order.volume.0).sum::<u64>()
        };
        assert_eq!(left(OrderState::Filled), 0);
        assert_eq!(left(OrderState::Resting), resting);
        assert_eq!(left(OrderState::Canceled), model.canceled);
        assert_eq!(left(OrderState::Expired), model.expired);
    }
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Buy), Just(Side::Sell)]
}

fn operation() -> impl Strategy<Value = Operation> {
    let tick = prop_oneof![1 => Just(None), 9 => (-3_i64..4).prop_map(Some)];
    let steps = prop_oneof![Just(None), (0_u64..5).prop_map(Some), Just(Some(u64::MAX))];
    let place = (0..N_AGENTS, side(), tick, 1_u64..6, steps).prop_map(
        |(agent, side, tick, volume, time_to_live)| Operation::Place {
            agent,
            side,
            tick,
            volume,
            time_to_live,
        },
    );
    prop_oneof![
        6 => place,
        2 => any::<usize>().prop_map(Operation::Cancel),
        2 => (any::<usize>(), 1_u64..6).prop_map(|(number, volume)| Operation::Fill(number, volume)),
        2 => Just(Operation::Match),
        1 => Just(Operation::MoveClock),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_book_is_a_sorted_vector(operations in prop::collection::vec(operation(), 0..250)) {
        let mut comparison = Comparison::new();
        for operation in operations {
            comparison.apply(operation);
        }
        comparison.check_volumes();
    }
}

/// As many operations as a small proptest never makes; `places` of 12 are new orders.
fn long_stream(seed: u64, places: u64, levels: i64) -> Comparison {
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, seed);
    let mut comparison = Comparison::new();
    for _ in 0..10_000 {
        let number = usize::try_from(generator.below(1 << 20)).unwrap();
        let operation = match generator.below(12) {
            choice if choice < places => Operation::Place {
                agent: u32::try_from(generator.below(N_AGENTS.into())).unwrap(),
                side: if generator.below(2) == 0 { Side::Buy } else { Side::Sell },
                tick: (generator.below(8) > 0).then(|| generator.integer(-levels, levels)),
                volume: generator.below(9) + 1,
                time_to_live: (generator.below(12) > 0).then(|| generator.below(12)),
            },
            8 => Operation::Cancel(number),
            9 => Operation::Fill(number, generator.below(9) + 1),
            10 => Operation::MoveClock,
            _ => Operation::Match,
        };
        comparison.apply(operation);
    }
    comparison
}

#[test]
fn ten_thousand_operations_leave_every_order_in_its_place() {
    for (seed, places, levels) in [(1, 6, 20), (2, 6, 0), (3, 5, 400)] {
        let comparison = long_stream(seed, places, levels);
        comparison.check_volumes();
        let model = &comparison.model;
        assert!(model.filled > 0 && model.canceled > 0 && model.expired > 0);
        let book = &comparison.books[0];
        assert_eq!(*book, book.clone());
        assert_ne!(*book, comparison.books[1], "a book that forgot is another one");
    }
}

fn order(side: Side, tick: Option<i64>, volume: u64) -> NewOrder {
    NewOrder {
        agent: AgentId(0),
        side,
        tick: tick.map(Tick),
        volume: Volume(volume),
        placed_at: Step(0),
        time_to_live: None,
    }
}

#[test]
fn many_orders_at_one_price_in_one_step_all_survive() {
    let mut book = Book::new(None);
    let ids: Vec<OrderId> =
        (0..5_000).map(|_| book.place(order(Side::Sell, Some(3000), 1))).collect();
    assert!(book.resting(Side::Sell).eq(ids.iter().copied()));
    let level = Level { tick: Tick(3000), volume: Volume(5_000), n_orders: 5_000 };
    assert!(book.levels(Side::Sell).eq([level]));
    for &id in ids.iter().step_by(2) {
        book.cancel(id);
    }
    assert!(book.resting(Side::Sell).eq(ids.iter().copied().skip(1).step_by(2)));
}

#[test]
fn a_partial_fill_keeps_its_place() {
    let mut book = Book::new(None);
    let first = book.place(order(Side::Sell, Some(3000), 2));
    let second = book.place(order(Side::Sell, Some(3000), 2));
    book.fill(first, Volume(1));
    assert!(book.resting(Side::Sell).eq([first, second]));
    book.fill(first, Volume(1));
    assert!(book.resting(Side::Sell).eq([second]));
    assert_eq!(book.order(first).unwrap().state, OrderState::Filled);
}

#[test]
fn market_orders_stand_before_all_levels_and_have_none() {
    let mut book = Book::new(None);
    let limit = book.place(order(Side::Buy, Some(i64::from(u32::MAX)), 3));
    let market = book.place(order(Side::Buy, None, 2));
    assert_eq!(book.best(Side::Buy), Some(Best { tick: None, order_id: market }));
    assert!(book.resting(Side::Buy).eq([market, limit]));
    assert_eq!(book.levels(Side::Buy).count(), 1);
    assert_eq!(
        (book.limit_volume(Side::Buy), book.market_volume(Side::Buy)),
        (Volume(3), Volume(2))
    );
}

#[test]
fn a_cancel_of_a_dead_order_changes_nothing() {
    let mut book = Book::new(None);
    let filled = book.place(order(Side::Buy, Some(1), 1));
    let canceled = book.place(order(Side::Buy, Some(1), 1));
    let expired = book.place(NewOrder { time_to_live: Some(1), ..order(Side::Buy, Some(1), 1) });
    let resting = book.place(order(Side::Buy, Some(1), 1));
    book.fill(filled, Volume(1));
    book.cancel(canceled);
    book.expire(Step(2), |_, _| ());
    let before = book.clone();
    for id in [filled, canceled, expired] {
        book.cancel(id);
    }
    assert_eq!(book, before);
    assert!(book.resting(Side::Buy).eq([resting]));
}

#[test]
fn a_time_to_live_beyond_all_time_never_ends() {
    let mut book = Book::new(None);
    for steps in [u64::MAX, i64::MAX.unsigned_abs(), i64::MAX.unsigned_abs() - 1] {
        book.place(NewOrder {
            time_to_live: Some(steps),
            placed_at: Step(5),
            ..order(Side::Sell, Some(1), 1)
        });
    }
    book.expire(Step(i64::MAX - 1), |id, _| panic!("order {id} expired"));
    assert_eq!(book.resting(Side::Sell).count(), 3);
}

#[test]
fn an_agent_finds_its_own_orders_only() {
    let mut book = Book::new(None);
    let of = |agent, side| NewOrder { agent: AgentId(agent), ..order(side, Some(1), 1) };
    let ids = [
        book.place(of(1, Side::Sell)),
        book.place(of(2, Side::Sell)),
        book.place(of(1, Side::Buy)),
    ];
    assert!(book.resting_of(AgentId(1)).eq([ids[0], ids[2]]));
    assert!(book.resting_of(AgentId(2)).eq([ids[1]]));
    assert_eq!(book.resting_of(AgentId(3)).count(), 0);
    book.cancel(ids[1]);
    assert_eq!(book.resting_of(AgentId(2)).count(), 0);
}

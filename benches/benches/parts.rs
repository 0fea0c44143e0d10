//! The parts of a step one by one: `cargo bench --manifest-path benches/Cargo.toml`.

use divan::Bencher;
use pams_core::random::{Generator, GeneratorKind, Permutation};
use pams_core::{AgentId, Book, NewOrder, Side, Step, Tick, Volume};
use pams_runner::SequentialRunner;

const KINDS: [GeneratorKind; 2] = [GeneratorKind::Xoshiro256PlusPlus, GeneratorKind::Mt19937];

fn main() {
    divan::main();
}

/// A new order of 100 agents, of which one is asked.
#[divan::bench(args = KINDS)]
fn draws(bencher: Bencher, kind: GeneratorKind) {
    let mut generator = Generator::new(kind, 1);
    let mut order = Permutation::new(100);
    bencher.bench_local(|| {
        order.start(&mut generator);
        order.next(&mut generator)
    });
}

#[divan::bench(args = KINDS)]
fn normal(bencher: Bencher, kind: GeneratorKind) {
    let mut generator = Generator::new(kind, 1);
    bencher.bench_local(|| generator.standard_normal());
}

/// An order is placed and the oldest canceled, over so many ticks and among so many others.
#[divan::bench(args = [(100, 100), (100, 10_000), (10_000_000, 100), (10_000_000, 10_000)])]
fn place_and_cancel(bencher: Bencher, (ticks, n_resting): (u64, u64)) {
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
    let mut book = Book::new(Some(0));
    let mut order = move || {
        let away = generator.below(ticks).cast_signed() + 1;
        let buys = generator.below(2) == 0;
        NewOrder {
            agent: AgentId(0),
            side: if buys { Side::Buy } else { Side::Sell },
            tick: Some(Tick(if buys { -away } else { away })),
            volume: Volume(1),
            placed_at: Step(0),
            time_to_live: None,
        }
    };
    let mut placed =
        (0..n_resting).map(|_| book.place(order())).collect::<std::collections::VecDeque<_>>();
    let mut time = Step(0);
    bencher.bench_local(|| {
        placed.push_back(book.place(order()));
        book.cancel(placed.pop_front().expect("one was just put in"));
        time = time.next();
        book.expire(time, |_, _| ());
    });
}

/// A whole run of 600 steps.
#[divan::bench(args = KINDS)]
fn run_of_ci2002(bencher: Bencher, kind: GeneratorKind) {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/configs/CI2002.json");
    bencher
        .with_inputs(|| {
            SequentialRunner::builder()
                .config_path(config)
                .seed(1)
                .generator(kind)
                .build()
                .expect("a config that is shipped")
        })
        .bench_local_values(|runner| runner.run().expect("a run without faults"));
}

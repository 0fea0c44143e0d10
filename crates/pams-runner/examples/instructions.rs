//! Work whose instructions are counted: `instructions WORK COUNT`.
//!
//! `.ci/instructions.py` runs each kind of work under callgrind with two counts; the difference is
//! what one more costs, without start and setup. WORK is
//!
//! - `book`: messages to a book (new orders, cancels, fills),
//! - `step-xoshiro`, `step-mt19937`: steps of CI2002 with the record hash,
//! - `draws`: mt19937 orders of 100 places,
//! - `agent`: questions to an FCN agent.
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

use pams_agent::{Agent, AgentSetup, FcnAgent, FcnSettings, MarginType, Markets, Turn};
use pams_core::random::{Generator, GeneratorKind, Permutation, RandomValue};
use pams_core::{
    Account, AgentId, Book, MarketId, MarketSpec, NewOrder, OrderId, Side, Simulator,
    SimulatorSpec, Step, Tick, TickSize, Volume,
};
use pams_runner::SequentialRunner;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, work, count] = &arguments[..] else {
        return Err("usage: instructions WORK COUNT".into());
    };
    let count = count.parse()?;
    match work.as_str() {
        "book" => book(count),
        "step-xoshiro" => steps(GeneratorKind::Xoshiro256PlusPlus, count),
        "step-mt19937" => steps(GeneratorKind::Mt19937, count),
        "draws" => {
            draws(count);
            Ok(())
        }
        "agent" => agent(count),
        _ => Err(format!("there is no work `{work}`").into()),
    }
}

/// Half of the orders rest within 100 ticks of the price, the others cross it; a third of all
/// messages are cancels.
fn book(count: u64) -> Result<(), Box<dyn Error>> {
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
    let mut book = Book::new(Some(0));
    for number in 0..count {
        if number % 1_000 == 0 {
            book.expire(Step(i64::try_from(number / 1_000)?), |_, _| ());
        }
        let placed = book.next_order_id().0;
        if generator.below(3) == 0 && placed > 0 {
            book.cancel(OrderId(placed - 1 - generator.below(placed.min(2_000))));
            continue;
        }
        let buys = generator.below(2) == 0;
        let away = generator.integer(-5, 100);
        book.place(NewOrder {
            agent: AgentId(u32::try_from(generator.below(100))?),
            side: if buys { Side::Buy } else { Side::Sell },
            tick: Some(Tick(if buys { -away } else { away })),
            volume: Volume(generator.below(10) + 1),
            placed_at: Step(i64::try_from(number / 1_000)?),
            time_to_live: Some(10),
        });
        while let Some(fill) = book.match_best() {
            black_box(fill);
        }
    }
    Ok(())
}

fn steps(kind: GeneratorKind, count: u64) -> Result<(), Box<dyn Error>> {
    let text = include_str!("../../../examples/configs/CI2002.json");
    let mut config: serde_json::Value = serde_json::from_str(text)?;
    config["simulation"]["sessions"][1]["iterationSteps"] = count.into();
    SequentialRunner::builder().config_value(config).seed(1).generator(kind).build()?.run()?;
    Ok(())
}

fn draws(count: u64) {
    let mut generator = Generator::new(GeneratorKind::Mt19937, 1);
    let mut order = Permutation::new(100);
    for _ in 0..count {
        order.start(&mut generator);
        black_box(order.next(&mut generator));
    }
}

fn agent(count: u64) -> Result<(), Box<dyn Error>> {
    let value = RandomValue::Constant;
    let settings = FcnSettings {
        fundamental_weight: value(1.0),
        chart_weight: value(0.5),
        noise_weight: value(1.0),
        noise_scale: value(0.001),
        time_window_size: value(100.0),
        order_margin: value(0.05),
        mean_reversion_time: None,
        margin_type: MarginType::Fixed,
    };
    let spec = SimulatorSpec {
        markets: vec![MarketSpec::new("Market", TickSize::new(0.01)?, 300.0)],
        correlations: Vec::new(),
        history_window: None,
    };
    let mut generator = Generator::new(GeneratorKind::Xoshiro256PlusPlus, 1);
    let mut simulator = Simulator::new(spec, generator.child())?;
    simulator.begin(&mut ());
    let markets = [MarketId(0)];
    let agent =
        FcnAgent::create(&settings, &mut AgentSetup::new(AgentId(0), &mut generator, &markets))
            .map_err(|error| error.to_string())?;
    let account = Account::new(0.0, Arc::from(markets));
    let mut instructions = Vec::new();
    for _ in 0..count {
        instructions.clear();
        let mut turn = Turn::new(AgentId(0), &account, &mut generator, &mut instructions);
        agent
            .submit_orders(&(), &Markets::new(simulator.markets()), &mut turn)
            .map_err(|error| error.to_string())?;
        black_box(&instructions);
    }
    Ok(())
}

//! What the test agent draws.

use pams_agent::{NoSettings, TestAgent};

use crate::floor::{Floor, make, market, python};

#[test]
fn each_market_draws_price_volume_length_and_choice() {
    let floor = Floor::new(vec![market(0, 300.0), market(1, 200.0)]);
    let agent: TestAgent = make(&NoSettings {});
    let (mut buys, mut sells, mut nothing) = (0, 0, 0);
    for seed in 0..300 {
        let mut generator = python(seed);
        let orders = floor.ask(&agent, &mut generator);
        let mut expected = Vec::new();
        let mut same = python(seed);
        for (number, market_price) in [(0, 300.0), (1, 200.0)] {
            let price = market_price + (same.random() * 20.0 - 10.0);
            let (volume, steps) = (same.integer(1, 100), same.integer(1, 100));
            let choice = same.random();
            let side = if choice < 0.4 {
                buys += 1;
                "buy"
            } else if choice < 0.8 {
                sells += 1;
                "sell"
            } else {
                nothing += 1;
                continue;
            };
            expected.push(format!("M{number} {side} {price:?} x{volume} ttl{steps}"));
        }
        assert_eq!(orders, expected);
        assert_eq!(generator, same);
    }
    assert!((180..300).contains(&buys) && (180..300).contains(&sells), "{buys} {sells}");
    assert!((80..160).contains(&nothing), "{nothing}");
}

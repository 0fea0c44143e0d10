//! An agent that trades by what a network makes of past returns.

use pams_agent::{Agent, AgentError, AgentSetup, GroupSetup, Markets, Turn};
use pams_config::{Block, FilePath, config_block};
use pams_core::{OrderRequest, Side};
use rand_core::Rng as _;
use serde::{Deserialize, Serialize};

use crate::features::log_returns;
use crate::network::{Network, Networks};

/// What the network is shown is the log returns in per cent.
const PER_CENT: f64 = 100.0;

config_block! {
    /// Keys of the candle agents.
    pub struct CandleSettings {
        /// How many past log returns the network is shown; at least 1.
        pub history_length: u64 = "historyLength" default 32,
        /// Weight of the noise, a standard normal number, in the signal; at least 0.
        pub noise_scale: f64 = "noiseScale" default 0.5,
        /// The log distance from the market price of an order on the strongest signal; at least 0.
        pub price_scale: f64 = "priceScale" default 0.01,
        /// Units of each order; at least 1.
        pub order_volume: u64 = "orderVolume" default 1,
        /// How many steps an order lives; at least 1.
        pub order_time_length: u64 = "orderTimeLength" default 50,
        /// The sizes of the network's hidden layers, each at least 1; [64, 64] when it is not given.
        pub hidden_sizes: Option<Vec<usize>> = "hiddenSizes",
        /// A safetensors or PyTorch file with the weights, relative to the config; drawn when it is not given.
        pub weights: Option<FilePath> = "weights",
        /// The names of the layers in the file, in the order in which they are computed, such as
        /// `net.first` for `net.first.weight`; in the order of the numbers in their names when it is
        /// not given.
        pub layer_names: Option<Vec<String>> = "layerNames",
        /// Whether the group has one network, drawn once, instead of one for each agent.
        pub shared_network: bool = "sharedNetwork" default false,
    }
    validate = check;
}

fn check(settings: &CandleSettings, block: &mut Block<'_>) {
    let at_least_one = [
        ("historyLength", settings.history_length),
        ("orderVolume", settings.order_volume),
        ("orderTimeLength", settings.order_time_length),
    ];
    for (key, value) in at_least_one {
        if value == 0 {
            block.problem(key, "expected a whole number that is 1 or above, found 0");
        }
    }
    for (key, value) in [("noiseScale", settings.noise_scale), ("priceScale", settings.price_scale)]
    {
        if value < 0.0 {
            block.problem(key, format!("expected a number that is 0 or above, found {value:?}"));
        }
    }
    if settings.hidden_sizes.iter().flatten().any(|&size| size == 0) {
        block.problem("hiddenSizes", "a hidden layer has at least 1 neuron, found 0");
    }
    if let Some(names) = &settings.layer_names {
        check_names(names, settings, block);
    }
}

fn check_names(names: &[String], settings: &CandleSettings, block: &mut Block<'_>) {
    const KEY: &str = "layerNames";
    let (found, expected) = (names.len(), settings.hidden_sizes().len() + 1);
    if settings.weights.is_none() {
        block.problem(KEY, "there is no file whose layers have names: give `weights`");
    } else if found != expected {
        let message = format!(
            "expected {expected} names, one for each hidden layer and one for the output, found \
             {found}"
        );
        block.problem(KEY, message);
    } else if let Some(twice) =
        names.iter().enumerate().find(|(at, name)| names[..*at].contains(name))
    {
        block.problem(KEY, format!("`{}` is named twice", twice.1));
    }
}

impl CandleSettings {
    fn hidden_sizes(&self) -> &[usize] {
        self.hidden_sizes.as_deref().unwrap_or(&[64, 64])
    }

    /// The sizes of input, hidden layers and output.
    fn sizes(&self) -> Result<Vec<usize>, AgentError> {
        Ok([&[usize::try_from(self.history_length)?], self.hidden_sizes(), &[1]].concat())
    }

    /// The network of the file, if there is one.
    fn load(&self) -> Result<Option<Networks>, AgentError> {
        let Some(FilePath(path)) = &self.weights else { return Ok(None) };
        let sizes = self.sizes()?;
        let networks = match &self.layer_names {
            Some(names) => Networks::load_layers(path, names, &sizes),
            None => Networks::load(path, &sizes),
        };
        Ok(Some(networks.map_err(|error| format!("weights: {error}"))?))
    }
}

/// Class `CandleAgent`, normal frequency. In each market that it can access, with the market price
/// P:
///
/// ```text
/// x      = the last historyLength log returns, in per cent, zeros before time 0
/// signal = MLP(x) + noiseScale · g          g: a standard normal number of its own generator
/// price  = P · exp(priceScale · tanh(signal))
/// ```
///
/// It buys when the signal is above 0, else it sells: one limit order of `orderVolume` units that
/// lives `orderTimeLength` steps.
///
/// The networks of a group lie in one arena. Without `weights` each is drawn from a seed of 64 bits
/// from its agent's generator; with `sharedNetwork` the group has one, from the seed of the first
/// agent. With `weights` they are all the same, so there is one.
#[derive(Debug, Serialize, Deserialize)]
pub struct CandleAgent {
    network: Network,
    history_length: u64,
    noise_scale: f64,
    price_scale: f64,
    order_volume: u64,
    order_time_length: u64,
}

impl CandleAgent {
    fn new(settings: &CandleSettings, network: Network) -> Self {
        Self {
            network,
            history_length: settings.history_length,
            noise_scale: settings.noise_scale,
            price_scale: settings.price_scale,
            order_volume: settings.order_volume,
            order_time_length: settings.order_time_length,
        }
    }

    /// The agent's network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }
}

impl Agent for CandleAgent {
    type Settings = CandleSettings;
    type State = ();

    fn create(settings: &CandleSettings, setup: &mut AgentSetup<'_>) -> Result<Self, AgentError> {
        let networks = match settings.load()? {
            Some(networks) => networks,
            None => Networks::draw(&[setup.generator().next_u64()], &settings.sizes()?)?,
        };
        Ok(Self::new(settings, networks.network(0)))
    }

    fn create_group(
        settings: &CandleSettings,
        group: &mut GroupSetup<'_>,
    ) -> Result<Vec<Self>, AgentError> {
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let networks = match settings.load()? {
            Some(networks) => networks,
            None => {
                let mut first = true;
                let seeds = group.each(|setup| {
                    let draws = !settings.shared_network || std::mem::take(&mut first);
                    Ok(draws.then(|| setup.generator().next_u64()))
                })?;
                let seeds: Vec<u64> = seeds.into_iter().flatten().collect();
                Networks::draw(&seeds, &settings.sizes()?)?
            }
        };
        // One network stands for all.
        let network = |number| networks.network(if networks.len() == 1 { 0 } else { number });
        Ok((0..group.len()).map(|number| Self::new(settings, network(number))).collect())
    }

    fn submit_orders(
        &self,
        _state: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &id in turn.markets() {
            let market = &markets[id];
            let arithmetic = turn.arithmetic();
            let row = log_returns(market, self.history_length, PER_CENT, arithmetic)?;
            let output = f64::from(self.network.ask(&row)?);
            let signal = output + self.noise_scale * turn.generator().standard_normal();
            if !signal.is_finite() {
                let name = market.name();
                return Err(format!("the signal in market {name} is {signal}").into());
            }
            let side = if signal > 0.0 { Side::Buy } else { Side::Sell };
            let distance = arithmetic.exp(self.price_scale * arithmetic.tanh(signal));
            let price = market.market_price() * distance;
            turn.submit(
                OrderRequest::limit(id, side, price, self.order_volume)
                    .with_time_to_live(self.order_time_length),
            );
        }
        Ok(())
    }

    fn look_back(&self) -> u64 {
        self.history_length
    }
}

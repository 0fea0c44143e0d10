//! The agent: what the model is shown, and what is done with its answer.

use pams_agent::{Agent, AgentError, AgentSetup, GroupSetup, Markets, Turn};
use pams_candle::{SharedModel, log_returns};
use pams_config::{Block, FilePath, NonNegative, config_block};
use pams_core::{OrderRequest, Side};
use serde::{Deserialize, Serialize};

use crate::convolution::{Convolution, Sizes};

config_block! {
    /// Keys of an agent that looks for patterns in past returns.
    pub struct ConvolutionSettings {
        /// How many past log returns the model is shown; at least 9.
        pub history_length: u64 = "historyLength" default 32,
        /// The channels of the convolutions; at least 1.
        pub channels: usize = "channels" default 8,
        /// Weight of the noise, a standard normal number, in the signal.
        pub noise_scale: NonNegative = "noiseScale",
        /// A file with the weights of all agents, relative to the config; drawn for each agent when
        /// it is not given.
        pub weights: Option<FilePath> = "weights",
    }
    validate = check;
}

fn check(settings: &ConvolutionSettings, block: &mut Block<'_>) {
    let shortest = Convolution::SHORTEST;
    if settings.history_length < shortest as u64 {
        block.problem("historyLength", format!("two convolutions need at least {shortest} steps"));
    }
    if settings.channels == 0 {
        block.problem("channels", "a convolution has at least 1 channel");
    }
}

/// Buys or sells a unit, as its model says of the last returns.
///
/// The model is a handle: an agent travels to a worker in a few dozen bytes, and all processes read
/// the weights where they are.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConvolutionAgent {
    model: SharedModel<Convolution>,
    history_length: u64,
    noise_scale: f64,
}

impl ConvolutionAgent {
    fn new(settings: &ConvolutionSettings, model: SharedModel<Convolution>) -> Self {
        let ConvolutionSettings { history_length, noise_scale, .. } = settings;
        Self { model, history_length: *history_length, noise_scale: noise_scale.value() }
    }
}

impl Agent for ConvolutionAgent {
    type Settings = ConvolutionSettings;
    type State = ();

    fn create(
        settings: &ConvolutionSettings,
        setup: &mut AgentSetup<'_>,
    ) -> Result<Self, AgentError> {
        let sizes = Sizes { channels: settings.channels };
        let models = SharedModel::draw(&sizes, &[setup.generator().below(u64::MAX)])?;
        Ok(Self::new(settings, models.into_iter().next().ok_or("a model for one seed")?))
    }

    /// All models of the group lie in one memory.
    fn create_group(
        settings: &ConvolutionSettings,
        group: &mut GroupSetup<'_>,
    ) -> Result<Vec<Self>, AgentError> {
        let sizes = Sizes { channels: settings.channels };
        let models = match &settings.weights {
            Some(FilePath(path)) => vec![SharedModel::load(&sizes, path)?; group.len()],
            None => {
                let seeds = group.each(|setup| Ok(setup.generator().below(u64::MAX)))?;
                SharedModel::draw(&sizes, &seeds)?
            }
        };
        Ok(models.into_iter().map(|model| Self::new(settings, model)).collect())
    }

    fn submit_orders(
        &self,
        _: &(),
        markets: &Markets<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), AgentError> {
        for &market in turn.markets() {
            let view = &markets[market];
            let returns = log_returns(view, self.history_length, 100.0, turn.arithmetic())?;
            let answer = f64::from(self.model.get()?.ask(&returns)?);
            let signal = answer + self.noise_scale * turn.generator().standard_normal();
            let side = if signal > 0.0 { Side::Buy } else { Side::Sell };
            let price = view.market_price() * (1.0 + 0.01 * turn.arithmetic().tanh(signal));
            turn.submit(OrderRequest::limit(market, side, price, 1).with_time_to_live(50));
        }
        Ok(())
    }

    fn look_back(&self) -> u64 {
        self.history_length
    }
}

//! From checked settings to a simulation that can run.
//!
//! The order in which generators are handed out and values are drawn is part of the result: first
//! a child generator for the simulator, each market, each agent, and each session followed by its
//! events; then markets, agents and events are set up, each from its own generator.

use std::sync::Arc;

use pams_agent::{EventSetup, Frequency, GroupSetup, MarketSetup, Registry};
use pams_config::{AgentGroup, MarketGroup, SessionSettings, Settings};
use pams_core::random::{Generator, GeneratorKind};
use pams_core::{
    Account, AgentId, Component, Correlation, Error as CoreError, ErrorKind as CoreErrorKind,
    FundamentalError, MarketId, MarketSpec, SessionId, SessionSpec, Simulator, SimulatorSpec, Step,
    TickSize,
};

use crate::error::Error;
use crate::population::{Population, Queue};

/// Everything that a runner runs.
#[derive(Debug)]
pub(crate) struct Simulation {
    pub(crate) simulator: Simulator,
    pub(crate) population: Population,
    pub(crate) normal: Queue,
    pub(crate) high_frequency: Queue,
    pub(crate) sessions: Vec<SessionSpec>,
    /// The runner's own generator: it draws who is asked when.
    pub(crate) generator: Generator,
}

/// The generators of everything that has one.
struct Seeds {
    simulator: Generator,
    markets: Vec<Generator>,
    agents: Vec<Generator>,
    /// One list of event generators for each session. A session draws nothing itself, but takes a
    /// child all the same.
    events: Vec<Vec<Generator>>,
}

impl Seeds {
    fn draw(generator: &mut Generator, settings: &Settings) -> Self {
        let simulator = generator.child();
        let mut children = |count: usize| (0..count).map(|_| generator.child()).collect::<Vec<_>>();
        Self {
            simulator,
            markets: children(settings.market_count()),
            agents: children(settings.agent_count()),
            events: settings
                .sessions
                .iter()
                .map(|session| children(1 + session.events.len()).split_off(1))
                .collect(),
        }
    }
}

pub(crate) fn simulation(
    settings: &Settings,
    registry: &Registry,
    kind: GeneratorKind,
    seed: u64,
) -> Result<Simulation, Error> {
    let mut generator = Generator::new(kind, seed);
    check_memory("markets", settings.market_count())?;
    check_memory("agents", settings.agent_count())?;
    let seeds = Seeds::draw(&mut generator, settings);
    let spec = SimulatorSpec {
        markets: markets(settings, registry, seeds.markets)?,
        correlations: settings.correlations.iter().map(correlation).collect(),
        history_window: settings.simulation.history_window,
    };
    let mut simulator = Simulator::new(spec, seeds.simulator)
        .map_err(|error| Error::setup(place_of_fundamentals(settings, &error), error))?;
    let mut population = Population { generators: seeds.agents, ..Population::default() };
    for group in &settings.agents {
        add_agents(group, settings, registry, &mut simulator, &mut population)?;
    }
    add_events(settings, registry, seeds.events, &mut simulator)?;
    Ok(Simulation {
        simulator,
        population,
        normal: queue(settings, registry, Frequency::Normal),
        high_frequency: queue(settings, registry, Frequency::High),
        sessions: settings.sessions.iter().map(session).collect(),
        generator,
    })
}

/// Refuses what can't fit in memory by far, where the system tells; otherwise the process would end
/// without a word.
fn check_memory(what: &str, count: usize) -> Result<(), Error> {
    /// What each takes at least, in bytes.
    const EACH: usize = 256;
    let mut probe = Vec::<u8>::new();
    let fits = count.checked_mul(EACH).is_some_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    std::hint::black_box(&mut probe);
    if fits {
        return Ok(());
    }
    let message = format!("{count} {what} need more memory than this machine gives");
    Err(Error::setup(format!("simulation.{what}"), message))
}

fn markets(
    settings: &Settings,
    registry: &Registry,
    mut generators: Vec<Generator>,
) -> Result<Vec<MarketSpec>, Error> {
    let mut specs: Vec<MarketSpec> = Vec::with_capacity(settings.market_count());
    for group in &settings.markets {
        for (name, id) in group.names.iter().zip(group.ids()) {
            let mut spec = market(group, name, &specs)?;
            let mut setup = MarketSetup::new(&mut spec, &mut generators[id.index()]);
            registry
                .configure_market(&group.class, &group.class_settings, &mut setup)
                .map_err(|error| Error::setup(group.block.clone(), error))?;
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// A market; `earlier` holds all markets with smaller ids, the components of an index among them.
fn market(group: &MarketGroup, name: String, earlier: &[MarketSpec]) -> Result<MarketSpec, Error> {
    let tick_size = TickSize::new(group.tick_size)
        .map_err(|error| Error::setup(format!("{}.tickSize", group.block), error))?;
    let component = |&market: &MarketId| Component {
        market,
        shares: earlier[market.index()]
            .outstanding_shares
            .expect("invariant: the config's check asks for the shares of components"),
    };
    Ok(MarketSpec {
        market_price: group.market_price,
        fundamental_drift: group.fundamental_drift,
        fundamental_volatility: group.fundamental_volatility,
        outstanding_shares: group.outstanding_shares,
        components: group.components.iter().map(component).collect(),
        ..MarketSpec::new(name, tick_size, group.fundamental_price)
    })
}

fn correlation(correlation: &pams_config::Correlation) -> Correlation {
    Correlation { first: correlation.first, second: correlation.second, value: correlation.value }
}

/// The key that an error of the fundamental prices is about.
fn place_of_fundamentals(settings: &Settings, error: &CoreError) -> String {
    let group = |id: MarketId| settings.markets.iter().rfind(|group| group.first_id <= id);
    if let CoreErrorKind::Fundamental(FundamentalError::VolatilityOutOfRange { market, .. }) =
        error.kind()
        && let Some(group) = group(*market)
    {
        return format!("{}.fundamentalVolatility", group.block);
    }
    let name = |id: MarketId| {
        group(id)
            .map_or_else(String::new, |group| group.names.name(id.index() - group.first_id.index()))
    };
    let pairs: Vec<String> = settings
        .correlations
        .iter()
        .map(|pair| format!("{} and {} {}", name(pair.first), name(pair.second), pair.value))
        .collect();
    format!("simulation.fundamentalCorrelations ({})", pairs.join(", "))
}

fn session(session: &SessionSettings) -> SessionSpec {
    SessionSpec {
        name: session.name.clone(),
        iteration_steps: session.iteration_steps,
        order_placement: session.with_order_placement.into(),
        order_execution: session.with_order_execution.into(),
        max_normal_orders: session.max_normal_orders,
        max_high_frequency_orders: session.max_high_frequency_orders,
        high_frequency_submit_rate: session.high_frequency_submit_rate,
    }
}

fn add_agents(
    group: &AgentGroup,
    settings: &Settings,
    registry: &Registry,
    simulator: &mut Simulator,
    population: &mut Population,
) -> Result<(), Error> {
    let listed: Vec<MarketId> = settings.accessible_markets(group).collect();
    let mut accessible = listed.clone();
    accessible.sort_unstable();
    let accessible: Arc<[MarketId]> = accessible.into();
    population.classes.push((group.class.clone(), group.names.len()));
    let describe = |id: AgentId| {
        let name = group.names.name(id.index() - group.first_id.index());
        format!("{} (agent {name})", group.block)
    };
    for id in group.ids() {
        let generator = &mut population.generators[id.index()];
        let account = account(group, &listed, &accessible, generator)
            .map_err(|error| Error::setup(describe(id), error))?;
        simulator.add_account(account);
    }
    let first = group.first_id.index();
    let generators = &mut population.generators[first..first + group.names.len()];
    let mut setup = GroupSetup::new(group.first_id, generators, &accessible);
    let agents = registry.create_agents(&group.class, &group.class_settings, &mut setup).map_err(
        |error| Error::setup(setup.current().map_or_else(|| group.block.clone(), describe), error),
    )?;
    for (id, agent) in group.ids().zip(agents) {
        if let Some(window) = settings.simulation.history_window
            && agent.look_back() > window
        {
            let message = format!(
                "the agent looks {} steps back, but simulation.historyWindow keeps only {window}",
                agent.look_back()
            );
            return Err(Error::setup(describe(id), message));
        }
        population.agents.push(agent);
    }
    Ok(())
}

/// An agent's account: the cash is drawn first, then the holdings in the order in which the config
/// lists the markets.
fn account(
    group: &AgentGroup,
    listed: &[MarketId],
    accessible: &Arc<[MarketId]>,
    generator: &mut Generator,
) -> Result<Account, String> {
    /// The largest holding, in units: the last whole number up to which every float is exact.
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let mut account = Account::new(group.cash_amount.draw(generator), Arc::clone(accessible));
    for &market in listed {
        let units = group.asset_volume.draw(generator);
        if units.abs() > LARGEST {
            return Err(format!("assetVolume: {units:?} is more than 2^53 units"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "truncation toward zero is the rule")]
        account.set_holding(market, units as i64);
    }
    Ok(account)
}

fn add_events(
    settings: &Settings,
    registry: &Registry,
    generators: Vec<Vec<Generator>>,
    simulator: &mut Simulator,
) -> Result<(), Error> {
    let mut start = Step::ZERO;
    for (index, (session, generators)) in settings.sessions.iter().zip(generators).enumerate() {
        for (event, mut generator) in session.events.iter().zip(generators) {
            let mut setup = EventSetup::new(SessionId::from_index(index), start, &mut generator);
            let made = registry
                .create_event(&event.class, &event.class_settings, &mut setup)
                .map_err(|error| Error::setup(event.block.clone(), error))?;
            if event.enabled {
                simulator.add_event(&event.block, made, generator);
            }
        }
        start = start.saturating_add(session.iteration_steps);
    }
    Ok(())
}

fn queue(settings: &Settings, registry: &Registry, frequency: Frequency) -> Queue {
    let groups = settings.agents.iter();
    let agents: Vec<AgentId> = groups
        .filter(|group| registry.frequency(&group.class) == frequency)
        .flat_map(AgentGroup::ids)
        .collect();
    Queue::new(agents)
}

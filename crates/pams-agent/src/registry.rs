//! Which classes a config can name, and what they make.

use std::sync::Arc;

use indexmap::IndexMap;
use pams_config::{Block, ClassCatalog, ClassKind, ClassSettings, ConfigBlock, config_block};
use pams_core::{Event, EventError};
use serde::Deserializer;
use serde::de::Error as _;
use serde_json::Value as Json;

use crate::agent::{Agent, AgentError};
use crate::boxed::{BoxedAgent, SharedAgent};
use crate::builtin;
use crate::event_class::{EventClass, EventSetup};
use crate::group::GroupSetup;
use crate::market_class::{MarketClass, MarketSetup};
#[cfg(unix)]
use crate::sharing::Sharing;

/// When the agents of a class are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// In turn, up to a number for each step.
    Normal,
    /// After each normal agent that submitted something.
    High,
}

config_block! {
    /// No keys beyond those of every block.
    pub struct NoSettings {}
}

/// The classes of markets, agents and events by name.
///
/// A name that is registered again stands for the later class.
#[derive(Clone, Debug)]
pub struct Registry {
    markets: IndexMap<String, MarketEntry>,
    agents: IndexMap<String, AgentEntry>,
    events: IndexMap<String, EventEntry>,
    #[cfg(unix)]
    sharing: Option<Arc<dyn Sharing>>,
}

/// How a class's settings are read and described.
#[derive(Clone, Copy, Debug)]
struct SettingsType {
    read: fn(&mut Block<'_>) -> Option<ClassSettings>,
    schema: fn() -> Json,
}

impl SettingsType {
    fn of<S: ConfigBlock>() -> Self {
        Self { read: pams_config::read_settings::<S>, schema: S::schema }
    }
}

#[derive(Clone, Copy, Debug)]
struct MarketEntry {
    settings: SettingsType,
    is_index: bool,
    configure: fn(&ClassSettings, &mut MarketSetup<'_>) -> Result<(), EventError>,
}

#[derive(Clone, Copy, Debug)]
struct AgentEntry {
    settings: SettingsType,
    frequency: Frequency,
    decode: DecodeAgent,
    create: CreateAgents,
}

#[derive(Clone, Copy, Debug)]
struct EventEntry {
    settings: SettingsType,
    create: CreateEvent,
}

type DecodeAgent =
    fn(&mut dyn erased_serde::Deserializer<'_>) -> Result<SharedAgent, erased_serde::Error>;

type CreateAgents = fn(&ClassSettings, &mut GroupSetup<'_>) -> Result<Vec<BoxedAgent>, AgentError>;

type CreateEvent = fn(&ClassSettings, &mut EventSetup<'_>) -> Result<Box<dyn Event>, EventError>;

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Registry {
    /// No classes at all.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            markets: IndexMap::new(),
            agents: IndexMap::new(),
            events: IndexMap::new(),
            #[cfg(unix)]
            sharing: None,
        }
    }

    /// The classes of PAMS.
    #[must_use]
    pub fn builtin() -> Self {
        let mut registry = Self::empty();
        builtin::register(&mut registry);
        registry
    }

    /// Registers a class of agents that are asked in turn.
    pub fn agent<A: Agent>(&mut self, name: impl Into<String>) -> &mut Self {
        self.add_agent::<A>(name.into(), Frequency::Normal)
    }

    /// Registers a class of agents that are asked after each normal agent that submitted something.
    pub fn high_frequency_agent<A: Agent>(&mut self, name: impl Into<String>) -> &mut Self {
        self.add_agent::<A>(name.into(), Frequency::High)
    }

    /// Registers a class of markets.
    pub fn market<M: MarketClass>(&mut self, name: impl Into<String>) -> &mut Self {
        let entry = MarketEntry {
            settings: SettingsType::of::<M::Settings>(),
            is_index: M::IS_INDEX,
            configure: |settings, setup| M::configure(settings_of::<M::Settings>(settings), setup),
        };
        self.markets.insert(name.into(), entry);
        self
    }

    /// Registers a class of events.
    pub fn event<E: EventClass>(&mut self, name: impl Into<String>) -> &mut Self {
        let entry = EventEntry {
            settings: SettingsType::of::<E::Settings>(),
            create: |settings, setup| {
                Ok(Box::new(E::create(settings_of::<E::Settings>(settings), setup)?))
            },
        };
        self.events.insert(name.into(), entry);
        self
    }

    /// Sets how agents share memory with their copies in worker processes. A second one replaces
    /// the first. By default they share none.
    #[cfg(unix)]
    pub fn sharing(&mut self, sharing: impl Sharing) -> &mut Self {
        self.sharing = Some(Arc::new(sharing));
        self
    }

    /// How agents share memory with their copies in worker processes, if they do.
    #[cfg(unix)]
    #[must_use]
    pub fn shared(&self) -> Option<&dyn Sharing> {
        self.sharing.as_deref()
    }

    fn add_agent<A: Agent>(&mut self, name: String, frequency: Frequency) -> &mut Self {
        let entry = AgentEntry {
            settings: SettingsType::of::<A::Settings>(),
            frequency,
            decode: |deserializer| {
                erased_serde::deserialize::<A>(deserializer).map(SharedAgent::new)
            },
            create: |settings, group| {
                let agents = A::create_group(settings_of::<A::Settings>(settings), group)?;
                if agents.len() != group.len() {
                    let (made, wanted) = (agents.len(), group.len());
                    return Err(format!("the class made {made} agents of {wanted}").into());
                }
                Ok(agents.into_iter().map(BoxedAgent::new).collect())
            },
        };
        self.agents.insert(name, entry);
        self
    }

    /// When the agents of a class are asked.
    ///
    /// # Panics
    ///
    /// If there is no such class.
    #[must_use]
    pub fn frequency(&self, class: &str) -> Frequency {
        self.agents[class].frequency
    }

    /// Makes the agents of a group from settings that were read for their class.
    ///
    /// # Errors
    ///
    /// When an agent can't be made from what was drawn; [`GroupSetup::current`] says which.
    ///
    /// # Panics
    ///
    /// If there is no such class or the settings are another's.
    pub fn create_agents(
        &self,
        class: &str,
        settings: &ClassSettings,
        group: &mut GroupSetup<'_>,
    ) -> Result<Vec<BoxedAgent>, AgentError> {
        (self.agents[class].create)(settings, group)
    }

    /// Reads an agent of a class from any serde format: what never changes of it.
    ///
    /// # Errors
    ///
    /// When there is no such class, or what is read is no such agent.
    pub fn decode_agent<'de, D: Deserializer<'de>>(
        &self,
        class: &str,
        deserializer: D,
    ) -> Result<SharedAgent, erased_serde::Error> {
        let entry = self.agents.get(class).ok_or_else(|| {
            erased_serde::Error::custom(format_args!("no agent class {class} is registered"))
        })?;
        (entry.decode)(&mut <dyn erased_serde::Deserializer<'_>>::erase(deserializer))
    }

    /// Adds to a market what its class's settings say.
    ///
    /// # Errors
    ///
    /// When a market can't be made from these settings.
    ///
    /// # Panics
    ///
    /// If there is no such class or the settings are another's.
    pub fn configure_market(
        &self,
        class: &str,
        settings: &ClassSettings,
        setup: &mut MarketSetup<'_>,
    ) -> Result<(), EventError> {
        (self.markets[class].configure)(settings, setup)
    }

    /// Makes an event of a class from settings that were read for that class.
    ///
    /// # Errors
    ///
    /// When an event can't be made from these settings.
    ///
    /// # Panics
    ///
    /// If there is no such class or the settings are another's.
    pub fn create_event(
        &self,
        class: &str,
        settings: &ClassSettings,
        setup: &mut EventSetup<'_>,
    ) -> Result<Box<dyn Event>, EventError> {
        (self.events[class].create)(settings, setup)
    }

    fn settings_type(&self, kind: ClassKind, class: &str) -> Option<SettingsType> {
        match kind {
            ClassKind::Market => self.markets.get(class).map(|entry| entry.settings),
            ClassKind::Agent => self.agents.get(class).map(|entry| entry.settings),
            ClassKind::Event => self.events.get(class).map(|entry| entry.settings),
        }
    }
}

impl ClassCatalog for Registry {
    fn class_names(&self, kind: ClassKind) -> Vec<String> {
        match kind {
            ClassKind::Market => self.markets.keys().cloned().collect(),
            ClassKind::Agent => self.agents.keys().cloned().collect(),
            ClassKind::Event => self.events.keys().cloned().collect(),
        }
    }

    fn read(&self, kind: ClassKind, class: &str, block: &mut Block<'_>) -> Option<ClassSettings> {
        (self.settings_type(kind, class)?.read)(block)
    }

    fn schema(&self, kind: ClassKind, class: &str) -> Json {
        self.settings_type(kind, class).map_or(Json::Bool(false), |settings| (settings.schema)())
    }

    fn is_index(&self, class: &str) -> bool {
        self.markets.get(class).is_some_and(|entry| entry.is_index)
    }
}

fn settings_of<S: ConfigBlock>(settings: &ClassSettings) -> &S {
    settings.downcast_ref().expect("the settings were read for another class")
}

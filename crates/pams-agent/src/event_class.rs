//! Event classes: how a config's keys become an event.

use pams_config::ConfigBlock;
use pams_core::random::Generator;
use pams_core::{Event, EventError, SessionId, Step};

/// A class of events.
///
/// ```
/// use pams_agent::{EventClass, EventSetup, Registry};
/// use pams_config::{SpotMarketReference, config_block};
/// use pams_core::{
///     Event, EventContext, EventError, EventResult, Hook, HookPoint, MarketId, SessionId,
/// };
///
/// config_block! {
///     /// Keys of an event that resets a fundamental price when a session begins.
///     pub struct ResetSettings {
///         /// The market.
///         pub target: SpotMarketReference = "target",
///         /// The price to reset to, in price units.
///         pub price: f64 = "price",
///     }
/// }
///
/// #[derive(Debug)]
/// struct Reset(ResetSettings);
///
/// impl Event for Reset {
///     fn hooks(&self) -> Vec<Hook> {
///         vec![Hook::always(HookPoint::BeforeSession)]
///     }
///     fn before_session(&mut self, context: &mut EventContext<'_>, _: SessionId) -> EventResult {
///         context.set_fundamental_price(self.0.target.0, self.0.price);
///         Ok(())
///     }
/// }
///
/// impl EventClass for Reset {
///     type Settings = ResetSettings;
///     fn create(settings: &ResetSettings, _: &mut EventSetup<'_>) -> Result<Self, EventError> {
///         Ok(Self(settings.clone()))
///     }
/// }
///
/// Registry::builtin().event::<Reset>("Reset");
/// ```
pub trait EventClass: Event + Sized + 'static {
    /// The keys of the class in a config.
    type Settings: ConfigBlock;

    /// Makes an event.
    ///
    /// # Errors
    ///
    /// When an event can't be made from these settings.
    fn create(settings: &Self::Settings, setup: &mut EventSetup<'_>) -> Result<Self, EventError>;
}

/// What an event is made with, beside its settings.
#[derive(Debug)]
pub struct EventSetup<'a> {
    session: SessionId,
    session_start: Step,
    generator: &'a mut Generator,
}

impl<'a> EventSetup<'a> {
    /// A setup of an event that the session `session` lists.
    pub fn new(session: SessionId, session_start: Step, generator: &'a mut Generator) -> Self {
        Self { session, session_start, generator }
    }

    /// The session that lists the event.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The first step of that session, counted from the beginning of the simulation.
    #[must_use]
    pub fn session_start(&self) -> Step {
        self.session_start
    }

    /// The event's own generator.
    pub fn generator(&mut self) -> &mut Generator {
        self.generator
    }
}

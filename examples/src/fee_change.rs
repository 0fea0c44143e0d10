//! An event of one's own: a fee that changes when a session begins.

use pams_agent::{EventClass, EventSetup};
use pams_config::{MarketReference, NonNegative, config_block};
use pams_core::{
    Event, EventContext, EventError, EventResult, FieldValue, Hook, HookPoint, SessionId,
};

config_block! {
    /// Keys of a change of a market's fee.
    pub struct FeeChangeSettings {
        /// The market.
        pub target: MarketReference = "target",
        /// The new fee for a unit, in price units.
        pub fee: NonNegative = "fee",
    }
}

/// Changes a market's fee when the session that lists this event begins.
#[derive(Debug)]
pub struct FeeChange {
    session: SessionId,
    settings: FeeChangeSettings,
}

impl Event for FeeChange {
    fn hooks(&self) -> Vec<Hook> {
        vec![Hook::always(HookPoint::BeforeSession)]
    }

    fn before_session(
        &mut self,
        context: &mut EventContext<'_>,
        session: SessionId,
    ) -> EventResult {
        // An event is called in every session, not only in its own.
        if session == self.session {
            let FeeChangeSettings { target, fee } = &self.settings;
            context.set_field(target.0, "fee", FieldValue::Float(fee.value()));
        }
        Ok(())
    }
}

impl EventClass for FeeChange {
    type Settings = FeeChangeSettings;

    fn create(
        settings: &FeeChangeSettings,
        setup: &mut EventSetup<'_>,
    ) -> Result<Self, EventError> {
        Ok(Self { session: setup.session(), settings: settings.clone() })
    }
}

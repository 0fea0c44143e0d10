//! Identities of the things in a simulation.
//!
//! Ids count from 0 in the order of creation, whatever the names are.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl $name {
            /// The id as an index into a table that is ordered by id.
            ///
            /// # Panics
            ///
            /// If the machine's memory can't hold such a table.
            #[must_use]
            pub fn index(self) -> usize {
                usize::try_from(self.0).expect("invariant: tables of this length fit in memory")
            }

            /// The id of the entry at `index` of a table that is ordered by id.
            ///
            /// # Panics
            ///
            /// If a table has more entries than the id type can count.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(<$inner>::try_from(index).expect("invariant: a table never outgrows its id type"))
            }
        }
    };
}

id! {
    /// A market, counted over all market groups in the order of the config.
    MarketId(u32)
}
id! {
    /// An agent, counted over all agent groups in the order of the config.
    AgentId(u32)
}
id! {
    /// A session, counted in the order in which sessions run.
    SessionId(u32)
}
id! {
    /// An order, counted per market in the order of acceptance.
    OrderId(u64)
}

//! Declaring settings once: the struct, its reader, its schema and its keys.

use serde_json::{Map, Value as Json, json};

/// Declares the settings of a class: a struct, how it is read from a config with all mistakes at once, its JSON Schema
/// and its list of keys.
///
/// Each field says its type, a [`ConfigValue`](crate::ConfigValue), and its key. The key is required, unless the type is
/// an [`Option`] or a `default` follows. `flatten` takes in the keys of another block. Doc comments become the
/// descriptions in the schema. The struct derives `Clone` and `Debug`; other attributes are passed on.
///
/// Behind the struct may follow, in this order and each of them once:
/// - `deprecated { "key": "why", }` — keys that are accepted, have no effect and make a warning;
/// - `refused { "key": "sentence", }` — keys that are errors with a sentence of their own;
/// - `validate = function;` — a `fn(&Settings, &mut Block<'_>)` that is called when all keys could be read, and reports
///   what does not fit together with [`Block::problem`](crate::Block::problem).
///
/// ```
/// use pams_config::{Block, ConfigBlock, NonNegative, RandomValue, SpotMarketReference, config_block, config_choice};
///
/// config_choice! {
///     /// Where the margin of an order is added.
///     #[derive(Default)]
///     pub enum MarginType {
///         /// In proportion to the price.
///         #[default]
///         Fixed = "fixed",
///         /// Drawn for each order.
///         Normal = "normal",
///     }
/// }
///
/// config_block! {
///     /// Settings of the contrarian agent.
///     pub struct ContrarianSettings {
///         /// How strongly the agent bets against the trend.
///         pub strength: RandomValue = "strength",
///         /// How many steps the agent looks back; all of them when it is not given.
///         pub window: Option<u64> = "window",
///         /// Where the margin of an order is added.
///         pub margin_type: MarginType = "marginType" default MarginType::Fixed,
///         /// The margin.
///         pub margin: NonNegative = "margin",
///         /// The market whose trend is looked at.
///         pub target: SpotMarketReference = "target",
///     }
///     deprecated { "referenceMarket": "the target is enough" }
///     refused { "triggerDays": "there are no days: give `window`, in steps" }
///     validate = check_margin;
/// }
///
/// fn check_margin(settings: &ContrarianSettings, block: &mut Block<'_>) {
///     let margin = settings.margin.value();
///     if settings.margin_type == MarginType::Fixed && margin > 1.0 {
///         block.problem_with_help("margin", format!("a fixed margin is at most 1, found {margin}"), "1 is 100 %");
///     }
/// }
///
/// assert_eq!(ContrarianSettings::keys()[2], "marginType");
/// ```
#[macro_export]
macro_rules! config_block {
    (
        $(#[$($attribute:tt)+])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$($field_attribute:tt)+])*
                $field_visibility:vis $field:ident: $type:ty
                    = $(flatten)? $($key:literal $(default $default:expr)?)?
            ),* $(,)?
        }
        $(deprecated { $($old_key:literal: $why:literal),* $(,)? })?
        $(refused { $($refused_key:literal: $sentence:literal),* $(,)? })?
        $(validate = $validate:expr;)?
    ) => {
        $(#[$($attribute)+])*
        #[derive(Clone, Debug)]
        $visibility struct $name {
            $($(#[$($field_attribute)+])* $field_visibility $field: $type,)*
        }

        impl $crate::ConfigBlock for $name {
            fn read(block: &mut $crate::Block<'_>) -> ::core::option::Option<Self> {
                $(let $field: ::core::option::Option<$type> =
                    $crate::__config_field!(read block, $type, $($key $(default $default)?)?);)*
                $($(block.deprecated($old_key, $why);)*)?
                let mistakes = block.problem_count();
                $($(block.refused($refused_key, $sentence);)*)?
                let settings = Self { $($field: $field?),* };
                $({
                    let validate: fn(&Self, &mut $crate::Block<'_>) = $validate;
                    validate(&settings, block);
                })?
                (block.problem_count() == mistakes).then_some(settings)
            }

            fn schema() -> $crate::__private::Json {
                let schema = $crate::__private::SchemaBuilder::new(&[
                    $($crate::__config_doc!($($attribute)+)),*
                ]);
                $(
                    let doc: &[&str] = &[$($crate::__config_doc!($($field_attribute)+)),*];
                    let schema =
                        $crate::__config_field!(schema schema, doc, $type, $($key $(default $default)?)?);
                )*
                $($(let schema = schema.deprecated($old_key, $why);)*)?
                schema.finish()
            }

            fn keys() -> &'static [&'static str] {
                static KEYS: ::std::sync::LazyLock<::std::vec::Vec<&'static str>> =
                    ::std::sync::LazyLock::new(|| {
                        let parts: &[&[&'static str]] = &[
                            $($crate::__config_field!(keys $type, $($key $(default $default)?)?),)*
                            &[$($($old_key),*)?],
                        ];
                        parts.concat()
                    });
                &KEYS
            }
        }
    };
}

/// Declares an enum whose values are strings in a config. A wrong string is answered with the right ones.
///
/// The enum derives `Clone`, `Copy`, `Debug`, `PartialEq` and `Eq`; other attributes are passed on. Each value knows its
/// `name()`, and `ALL` lists them.
///
/// ```
/// pams_config::config_choice! {
///     /// A side.
///     pub enum Side {
///         /// Buys.
///         Buy = "buy",
///         /// Sells.
///         Sell = "sell",
///     }
/// }
/// assert_eq!(Side::ALL.map(Side::name), ["buy", "sell"]);
/// ```
#[macro_export]
macro_rules! config_choice {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$value_attribute:meta])* $value:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$value_attribute])* $value,)+
        }

        impl $name {
            /// All values.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// The value as a config writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }

        impl $crate::ConfigValue for $name {
            fn read(
                node: &$crate::Node,
                context: &mut $crate::Context,
            ) -> ::core::option::Option<Self> {
                let names = Self::ALL.map(Self::name);
                $crate::__private::choose(node, context, &names).map(|index| Self::ALL[index])
            }

            fn schema() -> $crate::__private::Json {
                $crate::__private::choice_schema(&Self::ALL.map(Self::name))
            }
        }
    };
}

/// One field of a [`config_block!`]: how it is read, described and listed.
#[doc(hidden)]
#[macro_export]
macro_rules! __config_field {
    (read $block:ident, $type:ty, $key:literal default $default:expr) => {
        $block.value_or::<$type>($key, || $default)
    };
    (read $block:ident, $type:ty, $key:literal) => {
        $block.value::<$type>($key)
    };
    (read $block:ident, $type:ty,) => {
        <$type as $crate::ConfigBlock>::read($block)
    };
    (schema $schema:ident, $doc:ident, $type:ty, $key:literal default $default:expr) => {
        $schema.optional($key, $doc, <$type as $crate::ConfigValue>::schema(), stringify!($default))
    };
    (schema $schema:ident, $doc:ident, $type:ty, $key:literal) => {
        $schema.field::<$type>($key, $doc)
    };
    (schema $schema:ident, $doc:ident, $type:ty,) => {
        $schema.flatten($doc, <$type as $crate::ConfigBlock>::schema())
    };
    (keys $type:ty, $key:literal default $default:expr) => {
        &[$key]
    };
    (keys $type:ty, $key:literal) => {
        &[$key]
    };
    (keys $type:ty,) => {
        <$type as $crate::ConfigBlock>::keys()
    };
}

/// The text of a doc comment; nothing for any other attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! __config_doc {
    (doc = $text:literal) => {
        $text
    };
    ($($other:tt)+) => {
        ""
    };
}

/// What the macros need at run time. No part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use serde_json::Value as Json;

    pub use super::{SchemaBuilder, choice_schema, choose};
}

/// Builds the schema of a block key by key.
#[doc(hidden)]
#[derive(Debug)]
pub struct SchemaBuilder {
    description: String,
    properties: Map<String, Json>,
    required: Vec<Json>,
}

impl SchemaBuilder {
    /// A block without keys.
    #[must_use]
    pub fn new(doc: &[&str]) -> Self {
        Self { description: join(doc), properties: Map::new(), required: Vec::new() }
    }

    /// A key without a default.
    #[must_use]
    pub fn field<T: crate::ConfigValue>(mut self, key: &str, doc: &[&str]) -> Self {
        if T::when_missing().is_none() {
            self.required.push(key.into());
        }
        self.insert(key, doc, T::schema());
        self
    }

    /// A key with a default, which is shown when it is written as JSON is.
    #[must_use]
    pub fn optional(mut self, key: &str, doc: &[&str], mut schema: Json, default: &str) -> Self {
        if let (Ok(default), Some(schema)) = (serde_json::from_str(default), schema.as_object_mut())
        {
            schema.insert("default".to_owned(), default);
        }
        self.insert(key, doc, schema);
        self
    }

    /// The keys of another block, which have descriptions of their own.
    #[must_use]
    pub fn flatten(mut self, _doc: &[&str], mut other: Json) -> Self {
        if let Some(properties) = other.get_mut("properties").and_then(Json::as_object_mut) {
            self.properties.append(properties);
        }
        if let Some(required) = other.get_mut("required").and_then(Json::as_array_mut) {
            self.required.append(required);
        }
        self
    }

    /// A key without effect.
    #[must_use]
    pub fn deprecated(mut self, key: &str, why: &str) -> Self {
        self.properties.insert(key.to_owned(), json!({"deprecated": true, "description": why}));
        self
    }

    /// The schema.
    #[must_use]
    pub fn finish(self) -> Json {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.description.is_empty() {
            schema["description"] = self.description.into();
        }
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema
    }

    fn insert(&mut self, key: &str, doc: &[&str], mut schema: Json) {
        let description = join(doc);
        if let Some(schema) = schema.as_object_mut().filter(|_| !description.is_empty()) {
            schema.insert("description".to_owned(), description.into());
        }
        self.properties.insert(key.to_owned(), schema);
    }
}

/// The index of a string among the names of a choice.
#[doc(hidden)]
pub fn choose(node: &crate::Node, context: &mut crate::Context, names: &[&str]) -> Option<usize> {
    let index = match node.value() {
        crate::NodeValue::String(text) => names.iter().position(|name| name == text),
        _ => None,
    };
    index.or_else(|| {
        let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
        context.expected(node, &quoted.join(" or "))
    })
}

/// The schema of a choice.
#[doc(hidden)]
#[must_use]
pub fn choice_schema(names: &[&str]) -> Json {
    json!({"enum": names})
}

/// The lines of a doc comment as one text.
fn join(doc: &[&str]) -> String {
    let lines: Vec<_> =
        doc.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

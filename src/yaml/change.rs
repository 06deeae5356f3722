//! What is to change in a document, said in the user's words; `edit` turns it into bytes.

use super::route::Route;

/// A value to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string; quoted when a plain scalar would not be read back as this string.
    Str(String),
    /// A string of several lines, written as a literal block where the layout allows one.
    Block(String),
    /// A mapping, in this order.
    Map(Vec<(String, Value)>),
    /// A sequence.
    Seq(Vec<Value>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// One intended change. Routes start at the root of the document and speak of the document
/// before any change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Gives the field at `route` this value; missing mappings on the way are made.
    Set {
        /// The field.
        route: Route,
        /// Its new value.
        value: Value,
    },
    /// Replaces an entry, key and value, in its place.
    Replace {
        /// The entry to replace.
        route: Route,
        /// The new key.
        key: String,
        /// The new value.
        value: Value,
    },
    /// Appends an item to the sequence at `route`; a missing sequence is made.
    Push {
        /// The sequence.
        route: Route,
        /// The new item.
        value: Value,
    },
    /// Removes the entry or item at `route`.
    Remove {
        /// What to remove.
        route: Route,
    },
}

impl Change {
    /// Returns the route that the change is about.
    #[must_use]
    pub const fn route(&self) -> &Route {
        match self {
            Self::Set { route, .. }
            | Self::Replace { route, .. }
            | Self::Push { route, .. }
            | Self::Remove { route } => route,
        }
    }
}

//! Intended changes of values, and whether a node has a value.

use std::cell::Cell;

use serde_yaml::Value as Yaml;

use crate::field_path::FieldPath;
use crate::merge::effective_entries;
use crate::scalar::Scalar;
use crate::tree::NodeRef;

/// A value to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string; quoted if a plain scalar would not be read as this string.
    Str(String),
    /// A string of several lines, written as a literal block where the layout allows one.
    Block(String),
    /// A mapping, in this order.
    Map(Vec<(String, Value)>),
    /// A sequence.
    Seq(Vec<Value>),
}

impl Value {
    /// Returns the value in the type of the second parser.
    pub(crate) fn to_yaml(&self) -> Yaml {
        match self {
            Self::Null => Yaml::Null,
            Self::Bool(value) => Yaml::Bool(*value),
            Self::Int(value) => Yaml::from(*value),
            Self::Str(text) | Self::Block(text) => Yaml::from(text.as_str()),
            Self::Map(entries) => {
                let entries = entries.iter();
                Yaml::Mapping(
                    entries
                        .map(|(key, value)| (key.as_str().into(), value.to_yaml()))
                        .collect(),
                )
            }
            Self::Seq(items) => items.iter().map(Self::to_yaml).collect(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// An intended change. Routes start at the root of the document, and refer to the document
/// before any change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Sets the field at `route` to this value; creates missing parent mappings.
    Set {
        /// The field.
        route: FieldPath,
        /// Its new value.
        value: Value,
    },
    /// Replaces the key and value of an entry, at the same position.
    Replace {
        /// The entry to replace.
        route: FieldPath,
        /// The new key.
        key: String,
        /// The new value.
        value: Value,
    },
    /// Appends an item to the sequence at `route`; creates a missing sequence.
    Push {
        /// The sequence.
        route: FieldPath,
        /// The new item.
        value: Value,
    },
    /// Removes the entry or item at `route`.
    Remove {
        /// The entry or item to remove.
        route: FieldPath,
    },
}

impl Change {
    /// Returns the change that sets the field at `route`.
    pub fn set(route: FieldPath, value: impl Into<Value>) -> Self {
        let value = value.into();
        Self::Set { route, value }
    }

    /// Returns the change that replaces the key and value of the entry at `route`.
    pub fn replace(route: FieldPath, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let (key, value) = (key.into(), value.into());
        Self::Replace { route, key, value }
    }

    /// Returns the change that appends an item to the sequence at `route`.
    pub fn push(route: FieldPath, value: impl Into<Value>) -> Self {
        let value = value.into();
        Self::Push { route, value }
    }

    /// Returns the change that removes the entry or item at `route`.
    pub const fn remove(route: FieldPath) -> Self {
        Self::Remove { route }
    }

    /// Returns the route of the field that changes.
    #[must_use]
    pub const fn route(&self) -> &FieldPath {
        match self {
            Self::Set { route, .. }
            | Self::Replace { route, .. }
            | Self::Push { route, .. }
            | Self::Remove { route } => route,
        }
    }
}

/// Limit on the nodes that are compared; a larger value counts as different.
const BUDGET: usize = 100_000;

/// Returns whether `node` has the value `value`. Aliases and merge keys are followed; the order of keys
/// is ignored.
pub(super) fn has_value(node: NodeRef<'_>, value: &Value) -> bool {
    has_value_within(node, value, &Cell::new(BUDGET))
}

fn has_value_within(node: NodeRef<'_>, value: &Value, budget: &Cell<usize>) -> bool {
    let Some(left) = budget.get().checked_sub(1) else {
        return false;
    };
    budget.set(left);
    match value {
        Value::Null => node.is_null(),
        Value::Bool(value) => node.scalar() == Some(Scalar::Bool(*value)),
        Value::Int(value) => node.scalar() == Some(Scalar::Int(*value)),
        Value::Str(text) | Value::Block(text) => node.as_str() == Some(text),
        Value::Seq(items) => {
            node.is_sequence()
                && node.items().len() == items.len()
                && node
                    .items()
                    .zip(items)
                    .all(|(node, value)| has_value_within(node, value, budget))
        }
        Value::Map(entries) => {
            let count = effective_entries(node, budget).map(|all| all.len());
            node.is_mapping()
                && count.is_ok_and(|count| count == entries.len())
                && entries.iter().all(|(key, value)| {
                    node.get(key)
                        .is_some_and(|node| has_value_within(node, value, budget))
                })
        }
    }
}

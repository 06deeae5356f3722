//! Field paths, such as `spec.containers[0].livenessProbe`, and intended changes of their values.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use crate::merge::effective_entries;
use crate::scalar::Scalar;
use crate::tree::NodeRef;

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The value of a key.
    Key(Cow<'static, str>),
    /// The item of a sequence, from 0.
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Self::Key(Cow::Owned(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Steps from the root of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// Returns the route of the root.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the route through the given keys.
    #[must_use]
    pub fn keys(keys: &[&'static str]) -> Self {
        Self(keys.iter().map(|&key| Step::from(key)).collect())
    }

    /// Returns this route with one more step.
    #[must_use]
    pub fn child(&self, step: impl Into<Step>) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step.into());
        Self(steps)
    }

    /// Returns this route followed by all steps of `rest`.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    /// Returns the steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the route without its last step, and that step; `None` for the root.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &Step)> {
        let (last, front) = self.0.split_last()?;
        Some((Self(front.to_vec()), last))
    }
}

/// Writes the field path in the notation of Kubernetes; keys with special characters are quoted
/// in brackets.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if key.contains(['.', '/', '[', ' ']) || key.is_empty() => {
                    write!(f, "[{key:?}]")?;
                }
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_displayed_as_field_paths() {
        let route = FieldPath::keys(&["spec", "containers"])
            .child(0)
            .child("livenessProbe");
        assert_eq!(route.to_string(), "spec.containers[0].livenessProbe");
        let route = FieldPath::keys(&["metadata", "annotations"]).child("proxy.istio.io/config");
        assert_eq!(
            route.to_string(),
            r#"metadata.annotations["proxy.istio.io/config"]"#
        );
    }
}

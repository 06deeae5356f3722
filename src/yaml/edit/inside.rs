//! Changes to values that are not in the document yet.

use super::EditError;
use super::intent::{Action, Walk};
use crate::yaml::change::Value;
use crate::yaml::route::Step;
use crate::yaml::tree::NodeRef;

impl Walk<'_> {
    /// Builds the value at the end of steps that do not exist yet.
    pub(super) fn missing(
        &self,
        node: NodeRef<'_>,
        steps: &[Step],
    ) -> Result<Option<Value>, EditError> {
        let Some((first, rest)) = steps.split_first() else {
            return Ok(match self.action {
                Action::Set(value) => Some(value.clone()),
                Action::Push(value) => Some(Value::Seq(vec![value.clone()])),
                Action::Replace(..) | Action::Remove => None,
            });
        };
        let Step::Key(key) = first else {
            return self.error(node, "the list has no such item");
        };
        if rest.is_empty() && self.action.concerns_parent() {
            return match self.action {
                Action::Remove => Ok(None),
                _ => self.error(node, "there is no such field"),
            };
        }
        let below = self.missing(node, rest)?;
        Ok(below.map(|value| Value::Map(vec![(key.to_string(), value)])))
    }

    /// Makes the change in a value that another change brings.
    pub(super) fn inside_value(
        &self,
        value: &mut Value,
        node: NodeRef<'_>,
        steps: &[Step],
    ) -> Result<(), EditError> {
        if self.action.concerns_parent() {
            return self.error(node, "another change brings in a new value");
        }
        if let Value::Null = value {
            if let Some(new) = self.missing(node, steps)? {
                *value = new;
            }
            return Ok(());
        }
        let Some((first, rest)) = steps.split_first() else {
            return match (self.action, value) {
                (Action::Set(new), value) => {
                    *value = new.clone();
                    Ok(())
                }
                (Action::Push(new), Value::Seq(items)) => {
                    items.push(new.clone());
                    Ok(())
                }
                _ => self.error(node, "another change speaks of it"),
            };
        };
        match (first, value) {
            (Step::Key(key), Value::Map(entries)) => {
                if let Some((_, value)) = entries.iter_mut().find(|(name, _)| name == key) {
                    return self.inside_value(value, node, rest);
                }
                if let Some(value) = self.missing(node, rest)? {
                    entries.push((key.to_string(), value));
                }
                Ok(())
            }
            (Step::Index(index), Value::Seq(items)) => match items.get_mut(*index) {
                Some(value) => self.inside_value(value, node, rest),
                None => self.error(node, "the list has no such item"),
            },
            _ => self.error(node, "another change puts a value of another kind there"),
        }
    }
}

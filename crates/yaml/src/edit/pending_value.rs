//! Changes within values that other changes add to the document.

use crate::change::Value;
use crate::edit::intent::{Action, ChangeWalk};
use crate::field_path::Step;
use crate::text_edit::EditError;
use crate::tree::NodeRef;

impl ChangeWalk<'_> {
    /// Returns the value to write at the first of `steps`, which do not exist yet; `None` if the change needs none.
    ///
    /// # Errors
    /// [`EditError`] if a step is an index, or the change replaces a missing field.
    pub(super) fn build_missing(
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
            return self.error(node, "the list does not have this item");
        };
        if rest.is_empty() && self.action.concerns_parent() {
            return match self.action {
                Action::Remove => Ok(None),
                _ => self.error(node, "the field does not exist"),
            };
        }
        let below = self.build_missing(node, rest)?;
        Ok(below.map(|value| Value::Map(vec![(key.to_string(), value)])))
    }

    /// Applies the change to a value that another change adds.
    ///
    /// # Errors
    /// [`EditError`] if the changes contradict each other.
    pub(super) fn apply_to_pending(
        &self,
        value: &mut Value,
        node: NodeRef<'_>,
        steps: &[Step],
    ) -> Result<(), EditError> {
        if self.action.concerns_parent() {
            return self.error(node, "another change sets a new value");
        }
        if let Value::Null = value {
            if let Some(new) = self.build_missing(node, steps)? {
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
                _ => self.error(node, "another change edits it"),
            };
        };
        match (first, value) {
            (Step::Key(key), Value::Map(entries)) => {
                if let Some((_, value)) = entries.iter_mut().find(|(name, _)| name == key) {
                    return self.apply_to_pending(value, node, rest);
                }
                if let Some(value) = self.build_missing(node, rest)? {
                    entries.push((key.to_string(), value));
                }
                Ok(())
            }
            (Step::Index(index), Value::Seq(items)) => match items.get_mut(*index) {
                Some(value) => self.apply_to_pending(value, node, rest),
                None => self.error(node, "the list does not have this item"),
            },
            _ => self.error(node, "another change sets a value of another type"),
        }
    }
}

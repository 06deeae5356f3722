//! Plans the change of a collection to another one with the fewest edits.
//!
//! Changes within values that other changes add to the document.

use hashbrown::HashSet;

use super::intent::{Action, ChangeWalk};
use super::node_plan::{Addition, InsertPosition, NodeAction, NodePlan};
use crate::change::{Value, has_value};
use crate::field_path::Step;
use crate::span::EditError;
use crate::tree::NodeRef;

/// Returns whether the entries of `node` can be changed to `entries` one by one.
pub(super) fn can_diff(node: NodeRef<'_>, entries: &[(String, Value)]) -> bool {
    let mut seen = HashSet::new();
    let plain_keys = node.entries().all(|entry| {
        !entry.key.is_merge_key() && entry.key.text().is_some_and(|text| seen.insert(text))
    });
    plain_keys && node.tag().is_none() && !entries.is_empty() && node.entries().len() > 0
}

/// Plans the change of a mapping to `entries`.
pub(super) fn diff_entries(node: NodeRef<'_>, entries: Vec<(String, Value)>) -> NodePlan {
    let mut plan = NodePlan::default();
    let names: Vec<&str> = node.entries().filter_map(|e| e.key.text()).collect();
    let mut position = InsertPosition::First;
    let mut found = vec![false; names.len()];
    for (key, value) in entries {
        match names.iter().position(|&name| name == key) {
            Some(index) => {
                position = InsertPosition::After(index);
                if let Some(found) = found.get_mut(index) {
                    *found = true;
                }
                plan.children
                    .insert(index, NodePlan::new(NodeAction::SetValue(value)));
            }
            None => plan.added.push(Addition {
                position: Some(position),
                key: Some(key),
                value,
            }),
        }
    }
    for (index, _) in found.iter().enumerate().filter(|(_, found)| !**found) {
        plan.children
            .insert(index, NodePlan::new(NodeAction::Remove));
    }
    plan
}

/// Plans the change of a list to `items`. Equal items at both ends are kept.
pub(super) fn diff_items(node: NodeRef<'_>, items: Vec<Value>) -> NodePlan {
    let old: Vec<NodeRef<'_>> = node.items().collect();
    let front = old
        .iter()
        .zip(&items)
        .take_while(|(node, value)| has_value(**node, value))
        .count();
    let shorter = old.len().min(items.len()) - front;
    let back = old
        .iter()
        .rev()
        .zip(items.iter().rev())
        .take(shorter)
        .take_while(|(node, value)| has_value(**node, value))
        .count();
    let mut plan = NodePlan::default();
    let (old_end, new_end) = (old.len() - back, items.len() - back);
    for (index, value) in items.into_iter().enumerate().take(new_end).skip(front) {
        if index < old_end {
            plan.children
                .insert(index, NodePlan::new(NodeAction::SetValue(value)));
        } else {
            let position = old_end
                .checked_sub(1)
                .map_or(InsertPosition::First, InsertPosition::After);
            plan.added.push(Addition {
                position: Some(position),
                key: None,
                value,
            });
        }
    }
    for index in new_end.max(front)..old_end {
        plan.children
            .insert(index, NodePlan::new(NodeAction::Remove));
    }
    plan
}

/// Replaces removed entries by new ones, so that one line changes instead of two. In a list, whose order is
/// significant, only at the end.
pub(super) fn reuse_removed(plan: &mut NodePlan, count: usize, ordered: bool) {
    let is_removed = |index: &usize| {
        let child = plan.children.get(index);
        child.is_some_and(|child| matches!(child.action, NodeAction::Remove))
    };
    let from = match (0..count).rfind(|index| !is_removed(index)) {
        Some(kept) if ordered => kept + 1,
        _ => 0,
    };
    let mut added = std::mem::take(&mut plan.added).into_iter();
    let mut last_pair = None;
    for (&index, child) in plan.children.range_mut(from..) {
        if !matches!(child.action, NodeAction::Remove) {
            continue;
        }
        let Some(addition) = added.next() else { break };
        child.action = match addition.key {
            None => NodeAction::SetValue(addition.value),
            Some(key) => NodeAction::Rename(key, addition.value),
        };
        last_pair = Some(index);
    }
    plan.added = added.collect();
    // The remaining additions follow the paired ones in the new order.
    for addition in &mut plan.added {
        if let (Some(position), Some(pair)) = (addition.position.as_mut(), last_pair) {
            *position = (*position).max(InsertPosition::After(pair));
        }
    }
}

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

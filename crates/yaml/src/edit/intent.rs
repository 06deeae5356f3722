//! Combines all changes of a document into one plan per node.
//!
//! Changes with the same new parent become one addition. Changes that contradict each other are rejected before any
//! text is planned.

use super::node_plan::{Addition, InsertPosition, NodeAction, NodePlan};
use crate::change::{Change, Value, has_value};
use crate::duplicate_keys::first_duplicate;
use crate::field_path::{FieldPath, Step};
use crate::span::EditError;
use crate::tree::{Kind, NodeRef};

/// Keys with a preferred position: parent, key, sibling, and whether the key is inserted before the sibling.
const PREFERRED_POSITIONS: [(&str, &str, &str, bool); 3] = [
    ("metadata", "annotations", "labels", false),
    ("template", "metadata", "spec", true),
    ("", "metadata", "spec", true),
];

/// Combines `changes` into a plan; routes start at `root`.
///
/// # Errors
/// [`EditError`] if a change does not fit the document, or contradicts another one.
pub(super) fn combine(root: NodeRef<'_>, changes: &[Change]) -> Result<NodePlan, EditError> {
    let mut plan = NodePlan::default();
    for change in effective_changes(root, changes) {
        let walk = ChangeWalk {
            action: Action::of(change),
            route: change.route(),
        };
        walk.apply(&mut plan, root, "", change.route().steps())?;
    }
    Ok(plan)
}

/// Returns the changes that have an effect. Leaves out settings of values that the document has already, unless another
/// change edits the same field.
pub(super) fn effective_changes<'c>(root: NodeRef<'_>, changes: &'c [Change]) -> Vec<&'c Change> {
    let overlap = |left: &Change, right: &Change| {
        let (left, right) = (left.route().steps(), right.route().steps());
        left.starts_with(right) || right.starts_with(left)
    };
    let is_applied = |index: usize, change: &Change| {
        let Change::Set { route, value } = change else {
            return false;
        };
        let mut others = changes.iter().enumerate().filter(|(at, _)| *at != index);
        root.at(route).is_some_and(|node| has_value(node, value))
            && !others.any(|(_, other)| overlap(change, other))
    };
    changes
        .iter()
        .enumerate()
        .filter(|(index, change)| !is_applied(*index, change))
        .map(|(_, change)| change)
        .collect()
}

/// Action of a change at the end of its route.
#[derive(Clone, Copy)]
pub(super) enum Action<'c> {
    Set(&'c Value),
    Replace(&'c str, &'c Value),
    Push(&'c Value),
    Remove,
}

impl<'c> Action<'c> {
    fn of(change: &'c Change) -> Self {
        match change {
            Change::Set { value, .. } => Self::Set(value),
            Change::Replace { key, value, .. } => Self::Replace(key, value),
            Change::Push { value, .. } => Self::Push(value),
            Change::Remove { .. } => Self::Remove,
        }
    }

    /// Returns whether the action changes the parent of the addressed node.
    pub(super) const fn concerns_parent(self) -> bool {
        matches!(self, Self::Replace(..) | Self::Remove)
    }
}

/// A change whose route is followed through the document.
pub(super) struct ChangeWalk<'c> {
    pub(super) action: Action<'c>,
    route: &'c FieldPath,
}

impl ChangeWalk<'_> {
    pub(super) fn error<T>(&self, node: NodeRef<'_>, reason: &str) -> Result<T, EditError> {
        Err(EditError {
            offset: node.span().start,
            reason: format!("cannot change `{}`: {reason}", self.route),
        })
    }

    fn apply(
        &self,
        plan: &mut NodePlan,
        node: NodeRef<'_>,
        name: &str,
        steps: &[Step],
    ) -> Result<(), EditError> {
        match &mut plan.action {
            NodeAction::Rename(..) | NodeAction::Remove => {
                return self.error(node, "another change removes or renames it");
            }
            NodeAction::SetValue(value) => return self.apply_to_pending(value, node, steps),
            NodeAction::Keep => {}
        }
        let Some((first, rest)) = steps.split_first() else {
            return self.apply_here(plan, node);
        };
        match (node.kind(), first) {
            (Kind::Mapping, Step::Key(key)) => self.apply_to_entry(plan, node, name, key, rest),
            (Kind::Sequence, Step::Index(index)) => self.apply_to_item(plan, node, *index, rest),
            (Kind::Scalar, Step::Key(_)) if node.is_null() => {
                match self.build_missing(node, steps)? {
                    Some(value) => {
                        plan.action = NodeAction::SetValue(value);
                        Ok(())
                    }
                    None => Ok(()),
                }
            }
            (Kind::Alias, _) => self.error(node, "the field is inside an alias"),
            (Kind::Mapping, _) => self.error(node, "a mapping has no numbered items"),
            (Kind::Sequence, _) => self.error(node, "a list has no keys"),
            (Kind::Scalar, _) => self.error(node, "expected fields, found a single value"),
        }
    }

    /// Applies the action to `node`, the end of the route.
    fn apply_here(&self, plan: &mut NodePlan, node: NodeRef<'_>) -> Result<(), EditError> {
        match self.action {
            Action::Set(_) if plan.removes_or_renames() => {
                return self.error(node, "another change removes or renames a part of it");
            }
            Action::Set(value) => *plan = NodePlan::new(NodeAction::SetValue(value.clone())),
            Action::Push(value) => match node.kind() {
                Kind::Sequence => plan.added.push(Addition {
                    position: None,
                    key: None,
                    value: value.clone(),
                }),
                Kind::Scalar if node.is_null() => {
                    plan.action = NodeAction::SetValue(Value::Seq(vec![value.clone()]));
                }
                _ => return self.error(node, "expected a list"),
            },
            Action::Remove | Action::Replace(..) => {
                return self.error(node, "the whole document cannot be removed");
            }
        }
        Ok(())
    }

    fn apply_to_entry(
        &self,
        plan: &mut NodePlan,
        node: NodeRef<'_>,
        name: &str,
        key: &str,
        rest: &[Step],
    ) -> Result<(), EditError> {
        self.refuse_duplicates(node)?;
        let Some((index, value)) = own_entry(node, key) else {
            return self.add(plan, node, name, key, rest);
        };
        let is_removal = rest.is_empty() && self.action.concerns_parent();
        if let Action::Replace(new, _) = self.action
            && is_removal
            && adds_key(plan, new, index)
        {
            return self.error(node, "another change adds the same key");
        }
        let child = plan.children.entry(index).or_default();
        if is_removal {
            return self.remove_or_replace(child, node, key, value);
        }
        self.apply(child, value, key, rest)
    }

    fn apply_to_item(
        &self,
        plan: &mut NodePlan,
        node: NodeRef<'_>,
        index: usize,
        rest: &[Step],
    ) -> Result<(), EditError> {
        let Some(item) = node.item(index) else {
            return self.error(node, "the list does not have this item");
        };
        let child = plan.children.entry(index).or_default();
        match self.action {
            Action::Replace(..) if rest.is_empty() => self.error(item, "an item has no key"),
            Action::Remove if rest.is_empty() => {
                if !child.is_untouched() && !matches!(child.action, NodeAction::Remove) {
                    return self.error(item, "another change edits it");
                }
                child.action = NodeAction::Remove;
                Ok(())
            }
            _ => self.apply(child, item, "", rest),
        }
    }

    /// Plans the removal or replacement of an entry.
    fn remove_or_replace(
        &self,
        child: &mut NodePlan,
        mapping: NodeRef<'_>,
        old: &str,
        value: NodeRef<'_>,
    ) -> Result<(), EditError> {
        if self.is_repeated(child) {
            return Ok(());
        }
        if !child.is_untouched() {
            return self.error(value, "another change edits it");
        }
        child.action = match self.action {
            Action::Replace(key, new) if key == old => NodeAction::SetValue(new.clone()),
            Action::Replace(key, _) if own_entry(mapping, key).is_some() => {
                return self.error(value, &format!("the mapping already has a key `{key}`"));
            }
            Action::Replace(key, new) => NodeAction::Rename(key.to_owned(), new.clone()),
            _ => NodeAction::Remove,
        };
        Ok(())
    }

    /// Returns whether an earlier change planned the same removal or replacement.
    fn is_repeated(&self, child: &NodePlan) -> bool {
        match (self.action, &child.action) {
            (Action::Remove, NodeAction::Remove) => true,
            (Action::Replace(key, new), NodeAction::Rename(name, value)) => {
                key == name && new == value
            }
            _ => false,
        }
    }

    /// Applies the change to a mapping without an entry `key`.
    fn add(
        &self,
        plan: &mut NodePlan,
        node: NodeRef<'_>,
        name: &str,
        key: &str,
        rest: &[Step],
    ) -> Result<(), EditError> {
        if rest.is_empty() && self.action.concerns_parent() {
            return self.check_missing(node);
        }
        let renamed =
            |plan: &NodePlan| matches!(&plan.action, NodeAction::Rename(new, _) if new == key);
        if plan.children.values().any(renamed) {
            return self.error(node, "another change renames a key to this one");
        }
        if let Some(addition) = plan
            .added
            .iter_mut()
            .find(|addition| addition.key.as_deref() == Some(key))
        {
            return self.apply_to_pending(&mut addition.value, node, rest);
        }
        if let Some(value) = self.build_missing(node, rest)? {
            plan.added.push(Addition {
                position: preferred_position(node, name, key),
                key: Some(key.to_owned()),
                value,
            });
        }
        Ok(())
    }

    /// Accepts a missing entry if the removal or replacement is applied already.
    fn check_missing(&self, mapping: NodeRef<'_>) -> Result<(), EditError> {
        match self.action {
            Action::Replace(key, value) => match own_entry(mapping, key) {
                Some((_, present)) if has_value(present, value) => Ok(()),
                _ => self.error(mapping, "the field does not exist"),
            },
            _ => Ok(()),
        }
    }

    fn refuse_duplicates(&self, mapping: NodeRef<'_>) -> Result<(), EditError> {
        match first_duplicate(mapping) {
            Some(later) => self.error(later, "a key of this mapping occurs twice"),
            None => Ok(()),
        }
    }
}

/// Returns the index and value of the mapping's own entry for `key`; merge keys are not followed.
pub(super) fn own_entry<'t>(mapping: NodeRef<'t>, key: &str) -> Option<(usize, NodeRef<'t>)> {
    let found = mapping
        .entries()
        .enumerate()
        .rfind(|(_, entry)| !entry.key.is_merge_key() && entry.key.text() == Some(key))?;
    Some((found.0, found.1.value))
}

/// Returns whether the plan adds `key` to a mapping, or renames an entry other than the one at `index` to it.
fn adds_key(plan: &NodePlan, key: &str, index: usize) -> bool {
    let renamed = |own: &NodeAction| matches!(own, NodeAction::Rename(new, _) if new == key);
    let mut others = plan.children.iter().filter(|(at, _)| **at != index);
    others.any(|(_, child)| renamed(&child.action))
        || plan
            .added
            .iter()
            .any(|addition| addition.key.as_deref() == Some(key))
}

fn preferred_position(mapping: NodeRef<'_>, name: &str, key: &str) -> Option<InsertPosition> {
    let (.., sibling, before) = PREFERRED_POSITIONS
        .iter()
        .find(|(parent, own, ..)| *parent == name && *own == key)?;
    let (index, _) = own_entry(mapping, sibling)?;
    Some(match (before, index.checked_sub(1)) {
        (false, _) => InsertPosition::After(index),
        (true, Some(previous)) => InsertPosition::After(previous),
        (true, None) => InsertPosition::First,
    })
}

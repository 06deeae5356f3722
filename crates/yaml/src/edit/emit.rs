//! Follows the planned changes of a document, and records their edits.

use super::children::{Child, child_count, children, nth_child};
use super::diff::{can_diff, diff_entries, diff_items, reuse_removed};
use super::emitter::Emitter;
use super::node_plan::{Addition, InsertPosition, NodeAction, NodePlan};
use super::quote::string;
use crate::change::Value;
use crate::equality::has_value;
use crate::text_edit::{Edit, EditError};
use crate::tree::{Kind, NodeRef, Tree};

/// Returns the sorted edits for the planned changes `plan` of the root.
pub(super) fn edits(
    tree: &Tree,
    root: NodeRef<'_>,
    plan: NodePlan,
) -> Result<Vec<Edit>, EditError> {
    let mut emitter = Emitter::new(tree);
    emitter.node(root, plan)?;
    emitter.finish()
}

impl<'t> Emitter<'t> {
    pub(super) fn node(&mut self, node: NodeRef<'t>, plan: NodePlan) -> Result<(), EditError> {
        match plan.action {
            NodeAction::SetValue(value) => self.change_value(node, value),
            _ if plan.is_kept() => Ok(()),
            _ => self.collection(node, plan),
        }
    }

    /// Changes the value of `node`; parts that are equal stay unchanged.
    fn change_value(&mut self, node: NodeRef<'t>, value: Value) -> Result<(), EditError> {
        if has_value(node, &value) {
            return Ok(());
        }
        match (node.kind(), value) {
            (Kind::Mapping, Value::Map(entries)) if can_diff(node, &entries) => {
                self.collection(node, diff_entries(node, entries))
            }
            (Kind::Sequence, Value::Seq(items))
                if node.items().len() > 0 && !items.is_empty() && node.tag().is_none() =>
            {
                self.collection(node, diff_items(node, items))
            }
            (_, value) => self.replace_value(node, &value),
        }
    }

    fn collection(&mut self, node: NodeRef<'t>, mut plan: NodePlan) -> Result<(), EditError> {
        reuse_removed(&mut plan, child_count(node), node.kind() == Kind::Sequence);
        if plan.keeps_children() {
            return self.only_children(node, plan);
        }
        let children = children(node);
        let of_kind = |is_wanted: fn(&NodePlan) -> bool| -> Vec<usize> {
            plan.children
                .iter()
                .filter(|(_, child)| is_wanted(child))
                .map(|(&index, _)| index)
                .collect()
        };
        let removed = of_kind(|child| matches!(child.action, NodeAction::Remove));
        let blocks = of_kind(NodePlan::may_write_block);
        if removed.len() == children.len() {
            return self.replace_children(node, plan.added);
        }
        let last = (0..children.len()).rfind(|index| removed.binary_search(index).is_err());
        let mut added = plan.added;
        let first = added
            .extract_if(.., |addition| {
                addition.position == Some(InsertPosition::First)
            })
            .collect();
        self.insert(node, &children, InsertPosition::First, first)?;
        for (index, child) in children.iter().enumerate() {
            if let Some(plan) = plan.children.remove(&index) {
                self.child(child, plan)?;
            }
            let is_here = |addition: &mut Addition| match addition.position {
                Some(position) => position == InsertPosition::After(index),
                None => last == Some(index),
            };
            let after = added.extract_if(.., is_here).collect();
            self.insert(node, &children, InsertPosition::After(index), after)?;
        }
        self.remove(node, &children, &removed, &blocks)
    }

    /// Edits within entries or items. Only those that change are visited, because a list may have thousands of items.
    fn only_children(&mut self, node: NodeRef<'t>, plan: NodePlan) -> Result<(), EditError> {
        for (index, plan) in plan.children {
            if let Some(child) = nth_child(node, index) {
                self.child(&child, plan)?;
            }
        }
        Ok(())
    }

    /// Replaces a collection that had no entries, or keeps none, by `added`.
    fn replace_children(
        &mut self,
        node: NodeRef<'t>,
        added: Vec<Addition>,
    ) -> Result<(), EditError> {
        if node.kind() == Kind::Mapping {
            let entries = added
                .into_iter()
                .map(|addition| (addition.key.unwrap_or_default(), addition.value));
            self.replace_value(node, &Value::Map(entries.collect()))
        } else {
            let items = added.into_iter().map(|addition| addition.value);
            self.replace_value(node, &Value::Seq(items.collect()))
        }
    }

    fn child(&mut self, child: &Child<'t>, plan: NodePlan) -> Result<(), EditError> {
        match plan.action {
            NodeAction::Remove => Ok(()),
            NodeAction::Rename(key, value) => {
                if let Some(old) = child.key {
                    self.rename(old, &key);
                }
                self.change_value(child.value, value)
            }
            _ => self.node(child.value, plan),
        }
    }

    fn rename(&mut self, key: NodeRef<'t>, name: &str) {
        let text = string(name, key.style(), self.context(key));
        self.edit(key.span().start, key.span().end, text);
    }
}

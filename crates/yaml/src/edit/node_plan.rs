//! What happens to the nodes of a document.

use std::collections::BTreeMap;

use crate::change::Value;

/// Planned changes of a node and its descendants.
#[derive(Debug, Default)]
pub(super) struct NodePlan {
    /// The change of the node itself.
    pub(super) action: NodeAction,
    /// The changes of its entries or items, by index; only for a node that is kept.
    pub(super) children: BTreeMap<usize, NodePlan>,
    /// The new entries or items.
    pub(super) added: Vec<Addition>,
}

/// Planned change of one node.
#[derive(Debug, Default)]
pub(super) enum NodeAction {
    /// The node does not change.
    #[default]
    Keep,
    /// The node gets this value.
    SetValue(Value),
    /// The entry gets another key and this value.
    Rename(String, Value),
    /// The entry or item is removed.
    Remove,
}

/// A new entry or item.
#[derive(Debug)]
pub(super) struct Addition {
    /// The position; `None` is the end.
    pub(super) position: Option<InsertPosition>,
    /// The key; `None` for an item.
    pub(super) key: Option<String>,
    pub(super) value: Value,
}

/// Position of a new entry or item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InsertPosition {
    /// Before all entries or items.
    First,
    /// After the entry or item with this index.
    After(usize),
}

/// Returns whether a value, or a value in it, may be written as a block scalar.
fn may_be_block(value: &Value) -> bool {
    match value {
        Value::Block(_) => true,
        Value::Str(text) => text.contains('\n'),
        Value::Map(entries) => entries.iter().any(|(_, value)| may_be_block(value)),
        Value::Seq(items) => items.iter().any(may_be_block),
        _ => false,
    }
}

impl NodePlan {
    pub(super) fn new(action: NodeAction) -> Self {
        Self {
            action,
            ..Self::default()
        }
    }

    /// Returns whether neither the node nor a descendant changes.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.action, NodeAction::Keep)
            && self.added.is_empty()
            && self.children.values().all(Self::is_kept)
    }

    /// Returns whether a block scalar may be written to the node or a descendant.
    pub(super) fn may_write_block(&self) -> bool {
        let own = match &self.action {
            NodeAction::SetValue(value) | NodeAction::Rename(_, value) => may_be_block(value),
            NodeAction::Keep | NodeAction::Remove => false,
        };
        own || self
            .added
            .iter()
            .any(|addition| may_be_block(&addition.value))
            || self.children.values().any(Self::may_write_block)
    }

    /// Returns whether only children change, and none is added or removed.
    pub(super) fn keeps_children(&self) -> bool {
        let stays = |child: &Self| !matches!(child.action, NodeAction::Remove);
        self.added.is_empty() && !self.children.is_empty() && self.children.values().all(stays)
    }

    /// Returns whether nothing is planned for the node and its descendants.
    pub(super) fn is_untouched(&self) -> bool {
        matches!(self.action, NodeAction::Keep) && self.added.is_empty() && self.children.is_empty()
    }

    /// Returns whether the node or a descendant is removed or renamed.
    pub(super) fn removes_or_renames(&self) -> bool {
        matches!(self.action, NodeAction::Remove | NodeAction::Rename(..))
            || self.children.values().any(Self::removes_or_renames)
    }
}

//! What is to become of the nodes of a document.

use std::collections::BTreeMap;

use crate::yaml::change::Value;

/// What is to become of a node and of what lies below it.
#[derive(Debug, Default)]
pub(super) struct Fate {
    /// Of the node itself.
    pub(super) own: Own,
    /// Of its entries or items, by index; only of a node that is kept.
    pub(super) children: BTreeMap<usize, Fate>,
    /// New entries or items.
    pub(super) added: Vec<Addition>,
}

/// What is to become of one node.
#[derive(Debug, Default)]
pub(super) enum Own {
    /// It stays.
    #[default]
    Keep,
    /// It gets this value.
    Become(Value),
    /// The entry gets another key and this value.
    Rename(String, Value),
    /// The entry or item goes.
    Remove,
}

/// A new entry or item.
#[derive(Debug)]
pub(super) struct Addition {
    /// Where it goes; `None` is the end.
    pub(super) place: Option<Place>,
    /// The key; `None` for an item.
    pub(super) key: Option<String>,
    pub(super) value: Value,
}

/// Where a new entry or item goes, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Before all others.
    First,
    /// Behind the one with this index.
    After(usize),
}

/// Returns whether a value, or one in it, may be written as a block scalar.
fn may_be_block(value: &Value) -> bool {
    match value {
        Value::Block(_) => true,
        Value::Str(text) => text.contains('\n'),
        Value::Map(entries) => entries.iter().any(|(_, value)| may_be_block(value)),
        Value::Seq(items) => items.iter().any(may_be_block),
        _ => false,
    }
}

impl Fate {
    pub(super) fn new(own: Own) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Tells whether neither the node nor anything below it changes.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.own, Own::Keep)
            && self.added.is_empty()
            && self.children.values().all(Self::is_kept)
    }

    /// Returns whether a block scalar may be written to the node or below it.
    pub(super) fn may_write_block(&self) -> bool {
        let own = match &self.own {
            Own::Become(value) | Own::Rename(_, value) => may_be_block(value),
            Own::Keep | Own::Remove => false,
        };
        own || self.added.iter().any(|one| may_be_block(&one.value))
            || self.children.values().any(Self::may_write_block)
    }

    /// Returns whether all that changes lies within children, of which none is added or removed.
    pub(super) fn keeps_children(&self) -> bool {
        let stays = |child: &Self| !matches!(child.own, Own::Remove);
        self.added.is_empty() && !self.children.is_empty() && self.children.values().all(stays)
    }

    /// Tells whether something is to become of the node itself or below it.
    pub(super) fn is_untouched(&self) -> bool {
        matches!(self.own, Own::Keep) && self.added.is_empty() && self.children.is_empty()
    }

    /// Tells whether the node or something below it is removed or replaced.
    pub(super) fn takes_away(&self) -> bool {
        matches!(self.own, Own::Remove | Own::Rename(..))
            || self.children.values().any(Self::takes_away)
    }
}

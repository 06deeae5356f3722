//! Labels and annotations that kustomize sets in several fields of an object as one shared node.
//!
//! This quirk affects verdicts: `SetEntry` (`api/filters/filtersutil/setters.go` of kustomize 5.8.2)
//! inserts the same node in all fields that it sets, so that an overlay which later changes one of them
//! changes all. If the base set a label on a Deployment and its pods, a patch of only the label of the
//! Deployment also changes the pods. A JSON patch separates the values, because kustomize converts the object
//! to JSON and back.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::kustomize::node::{Leaf, Node, Origin, SharedNodeId, Value};

/// Makes `value` and all its future clones one shared node.
pub(crate) fn mark_shared(value: &mut Node) {
    let shared_id = Arc::new(value.origin.clone());
    if let Value::Leaf(leaf) = &mut value.value {
        leaf.shared_id = Some(shared_id);
    }
}

/// Returns the id of a shared value.
pub(crate) fn shared_id(node: &Node) -> Option<&SharedNodeId> {
    match &node.value {
        Value::Leaf(leaf) => leaf.shared_id.as_ref(),
        _ => None,
    }
}

/// Returns `value` with the shared id of the value that it replaces.
pub(crate) fn in_place_of(old: &Node, value: &Node) -> Node {
    let mut new = value.clone();
    if let Value::Leaf(leaf) = &mut new.value {
        leaf.shared_id = shared_id(old).cloned();
    }
    new
}

/// Last values that were set for each shared node.
#[derive(Default)]
pub(crate) struct Written {
    values: HashMap<SharedNodeId, Node>,
    /// The keys of the values. The values of a shared node have the same key, and a key is compared faster than an id.
    keys: HashSet<Arc<str>>,
}

impl Written {
    /// Records a value that was set as the entry `key`.
    pub(crate) fn note(&mut self, key: &str, value: &Node) {
        if let Some(shared_id) = shared_id(value) {
            self.values.insert(Arc::clone(shared_id), value.clone());
            if !self.keys.contains(key) {
                self.keys.insert(key.into());
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Replaces all values in `object` whose shared id has a recorded value.
    pub(crate) fn spread(&self, object: &mut Node) {
        if let Some(changed) = self.spread_below(object) {
            *object = changed;
        }
    }

    fn spread_below(&self, node: &Node) -> Option<Node> {
        node.with_children(&mut |key, child| match &child.value {
            Value::Leaf(leaf) => {
                let shared_id = leaf.shared_id.as_ref()?;
                let new = self
                    .keys
                    .contains(key?)
                    .then(|| self.values.get(shared_id))??;
                (!shares_text(new, leaf)).then(|| new.clone())
            }
            _ => self.spread_below(child),
        })
    }
}

/// Returns whether a value has the text of a scalar. Clones of a value share its text.
fn shares_text(value: &Node, leaf: &Leaf) -> bool {
    matches!(&value.value, Value::Leaf(value) if Arc::ptr_eq(&value.text, &leaf.text))
}

/// Applies the changes of a merge to all values with the same shared id. The last change takes precedence;
/// kustomize visits the keys in alphabetical order.
pub(crate) fn settle(before: &Node, after: &mut Node) {
    let mut unchanged: HashSet<(SharedNodeId, Origin)> = HashSet::new();
    visit_shared(before, "", &mut |_, node, shared_id| {
        unchanged.insert((Arc::clone(shared_id), node.origin.clone()));
    });
    if unchanged.is_empty() {
        return;
    }
    let mut written = Written::default();
    visit_shared(after, "", &mut |key, node, shared_id| {
        if !unchanged.contains(&(Arc::clone(shared_id), node.origin.clone())) {
            written.note(key, node);
        }
    });
    if !written.is_empty() {
        written.spread(after);
    }
}

/// Removes all shared ids.
pub(crate) fn release(object: &mut Node) {
    object.change_leaves(&|leaf| leaf.shared_id.is_some(), &mut |node| {
        if let Value::Leaf(Leaf { shared_id, .. }) = &mut node.value {
            *shared_id = None;
        }
    });
}

/// Calls `visit` for all values with a shared id, each with its key; keys in alphabetical order.
fn visit_shared(node: &Node, key: &str, visit: &mut dyn FnMut(&str, &Node, &SharedNodeId)) {
    match &node.value {
        Value::Leaf(leaf) => {
            if let Some(shared_id) = &leaf.shared_id {
                visit(key, node, shared_id);
            }
        }
        Value::Seq(items) => items.iter().for_each(|item| visit_shared(item, "", visit)),
        Value::Map(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|a, b| a.key.cmp(&b.key));
            sorted
                .into_iter()
                .for_each(|field| visit_shared(&field.value, &field.key, visit));
        }
    }
}

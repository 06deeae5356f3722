//! Labels and annotations that kustomize sets in several places of an object at once.
//!
//! A quirk that decides verdicts: `SetEntry` (`api/filters/filtersutil/setters.go` of kustomize
//! 5.8.2) puts one and the same node in all places that it makes, so that whoever changes one of
//! them later, in an overlay, changes all. A patch of a label of the Deployment alone so reaches
//! the pods where the base set that label in both places. A JSON patch ends the bond, because
//! the object goes through JSON.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::node::{Leaf, Node, Origin, Value};

/// What values that are one node have in common.
pub(super) type Bond = Arc<Origin>;

/// Gives `value` a bond with all copies of it.
pub(super) fn bind(value: &mut Node) {
    let bond = Arc::new(value.origin.clone());
    if let Value::Leaf(leaf) = &mut value.value {
        leaf.bond = Some(bond);
    }
}

/// Returns the bond of a value.
pub(super) fn bond(node: &Node) -> Option<&Bond> {
    match &node.value {
        Value::Leaf(leaf) => leaf.bond.as_ref(),
        _ => None,
    }
}

/// Returns `value` with the bond that the value in its place has.
pub(super) fn in_place_of(old: &Node, value: &Node) -> Node {
    let mut new = value.clone();
    if let Value::Leaf(leaf) = &mut new.value {
        leaf.bond = bond(old).cloned();
    }
    new
}

/// What was written last to values with the same bond.
#[derive(Default)]
pub(super) struct Written(HashMap<Bond, Node>);

impl Written {
    /// Remembers a value that was written.
    pub(super) fn note(&mut self, value: &Node) {
        if let Some(bond) = bond(value) {
            self.0.insert(Arc::clone(bond), value.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives all values in `object` with the bond of a value that was written that value.
    pub(super) fn spread(&self, object: &mut Node) {
        let new = |leaf: &Leaf| self.0.get(leaf.bond.as_ref()?);
        // Copies of one value share its text.
        let is_outdated = |leaf: &Leaf| {
            new(leaf).is_some_and(|node| match &node.value {
                Value::Leaf(new) => !Arc::ptr_eq(&new.text, &leaf.text),
                _ => true,
            })
        };
        object.change_leaves(&is_outdated, &mut |node| {
            let written = match &node.value {
                Value::Leaf(leaf) => new(leaf),
                _ => None,
            };
            if let Some(written) = written {
                node.clone_from(written);
            }
        });
    }
}

/// After a merge: what was written to one of several bound values holds for all, and what was
/// written last wins; kustomize goes through the keys in the order of the alphabet.
pub(super) fn settle(before: &Node, after: &mut Node) {
    let mut known: HashSet<(Bond, Origin)> = HashSet::new();
    inspect(before, &mut |node, bond| {
        known.insert((Arc::clone(bond), node.origin.clone()));
    });
    if known.is_empty() {
        return;
    }
    let mut written = Written::default();
    inspect(after, &mut |node, bond| {
        if !known.contains(&(Arc::clone(bond), node.origin.clone())) {
            written.note(node);
        }
    });
    if !written.is_empty() {
        written.spread(after);
    }
}

/// Ends all bonds.
pub(super) fn release(object: &mut Node) {
    object.change_leaves(&|leaf| leaf.bond.is_some(), &mut |node| {
        if let Value::Leaf(Leaf { bond, .. }) = &mut node.value {
            *bond = None;
        }
    });
}

/// Shows all bound values, keys in the order of the alphabet.
fn inspect(node: &Node, show: &mut dyn FnMut(&Node, &Bond)) {
    match &node.value {
        Value::Leaf(leaf) => {
            if let Some(bond) = &leaf.bond {
                show(node, bond);
            }
        }
        Value::Seq(items) => items.iter().for_each(|item| inspect(item, show)),
        Value::Map(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|a, b| a.key.cmp(&b.key));
            sorted
                .into_iter()
                .for_each(|field| inspect(&field.value, show));
        }
    }
}

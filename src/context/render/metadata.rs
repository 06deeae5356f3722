//! What kustomize does to the metadata of objects around a patch.

use std::sync::Arc;

use super::node::{Node, Value};
use super::resource::Resource;

/// kustomize keeps former names in annotations while it works, so that these always exist where
/// a name is remembered: a JSON patch can add to them.
pub(super) fn make_annotations(resource: &mut Resource) {
    let is_missing = resource.metadata("annotations").is_none_or(Node::is_null);
    if resource.previous.is_empty() || !is_missing {
        return;
    }
    if let Some(metadata) = resource.change_head().get_mut("metadata") {
        let origin = metadata.origin.clone();
        metadata.set("annotations", &origin, Node::empty_map(&origin));
    }
}

/// Puts the entry of the old object back, or takes out what it did not have.
pub(super) fn restore(old: &Node, new: &mut Node, key: &str) {
    match old.field(key) {
        Some(field) => new.set(key, &field.origin, field.value.clone()),
        None => {
            new.remove(key);
        }
    }
}

/// A quirk of kustomize: before a patch with a target is merged, its labels and annotations are
/// read and set again as strings, so that `null` becomes the text "null" and deletes nothing
/// (`CopyMergeMetaDataFieldsFrom` in `api/resource/resource.go`).
pub(super) fn with_text_metadata(patch: &Node) -> Node {
    let mut patch = patch.clone();
    let Some(metadata) = patch.get_mut("metadata") else {
        return patch;
    };
    for key in ["labels", "annotations"] {
        let is_void = |node: &Node| node.fields().is_empty();
        if metadata.get(key).is_some_and(is_void) {
            metadata.remove(key);
        }
        if let Some(Value::Map(fields)) = metadata.get_mut(key).map(|node| &mut node.value) {
            for value in Arc::make_mut(fields).values_mut() {
                *value = Node::text_at(value.text().unwrap_or_default(), &value.origin);
            }
        }
    }
    patch
}

//! Changes that kustomize makes to the metadata of objects when it applies a patch.

use std::sync::Arc;

use crate::kustomize::node::{Node, Value};
use crate::kustomize::resource::Resource;

/// Creates `annotations` if the resource has former names. kustomize keeps these in annotations while it
/// builds, so that a JSON patch can add to them.
pub(crate) fn make_annotations(resource: &mut Resource) {
    let is_missing = resource.metadata("annotations").is_none_or(Node::is_null);
    if resource.previous.is_empty() || !is_missing {
        return;
    }
    if let Some(metadata) = resource.change_head().get_mut("metadata") {
        let origin = metadata.origin.clone();
        metadata.set("annotations", &origin, Node::empty_map(&origin));
    }
}

/// Restores the entry `key` of the old object; removes it if the old object did not have it.
pub(crate) fn restore(old: &Node, new: &mut Node, key: &str) {
    match old.field(key) {
        Some(field) => new.set(key, &field.origin, field.value.clone()),
        None => {
            new.remove(key);
        }
    }
}

/// Returns a patch with its labels and annotations converted to strings. kustomize does so before it merges a
/// patch with a target, so that `null` becomes the text "null" and deletes nothing
/// (`CopyMergeMetaDataFieldsFrom` in `api/resource/resource.go`).
pub(crate) fn with_text_metadata(patch: &Node) -> Node {
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

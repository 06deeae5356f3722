//! Fields of kustomize configuration files with a capitalization that only `encoding/json` accepts.
//!
//! kustomize 5.8.2 decodes files of `replacements`, `configurations` and builtin transformers like a
//! kustomization: it ignores the case of field names. Such files are rare, so they are only recognized and not
//! supported.

use crate::source::is_same_field;

use crate::kustomize::node::{Field, Node, Value};

/// Fields that are read from such files, at any level.
const FIELDS: [&str; 22] = [
    "annotationSelector",
    "annotations",
    "create",
    "fieldPath",
    "fieldPaths",
    "fieldSpecs",
    "group",
    "kind",
    "labelSelector",
    "labels",
    "name",
    "namespace",
    "options",
    "path",
    "reject",
    "replacements",
    "select",
    "source",
    "sourceValue",
    "target",
    "targets",
    "version",
];

/// Returns whether a field of a configuration has an unusual capitalization. Ignores the keys of maps, such as labels.
pub(crate) fn has_other_spelling(config: &Node) -> bool {
    let is_map = |field: &Field| {
        matches!(&*field.key, "annotations" | "labels")
            && matches!(field.value.value, Value::Map(_))
    };
    config.fields().iter().any(|field| {
        is_other_spelling(&field.key) || (!is_map(field) && has_other_spelling(&field.value))
    }) || config.items().iter().any(has_other_spelling)
}

fn is_other_spelling(key: &str) -> bool {
    FIELDS
        .iter()
        .any(|name| key != *name && is_same_field(key, name))
}

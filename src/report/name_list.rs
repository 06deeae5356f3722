//! Lists of names of environments.

use std::sync::Arc;

/// Returns names as one text, such as `prod-eu, prod-us`. A long list is cut.
pub(super) fn name_list(names: &[Arc<str>]) -> String {
    meshprobe_mesh::finding::name_list(names.iter().map(|name| &**name))
}

/// Returns names in parentheses: `(in: prod-eu, prod-us)`. Returns an empty text for no names.
pub(super) fn in_note(names: &[Arc<str>]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!("(in: {})", name_list(names))
}

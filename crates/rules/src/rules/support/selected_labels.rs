//! Finds labels that a selector in the tree uses: such a label cannot be removed alone.

use meshprobe_mesh::finding::{Applicability, Finding};
use meshprobe_predict::context::Context;
use meshprobe_yaml::{Kind, NodeRef};

/// The maximum depth of the search, deeper than any selector.
const DEPTH: usize = 64;

/// Returns whether a selector anywhere in the tree uses the label `key`, whatever the selector selects.
pub(in crate::rules) fn is_selected(context: &Context<'_>, key: &str) -> bool {
    let mut documents = context
        .sources
        .files
        .iter()
        .flat_map(|file| &file.documents);
    documents.any(|document| {
        let root = document.tree().and_then(|tree| tree.root());
        root.is_some_and(|root| uses_label(root, key, false, DEPTH))
    })
}

/// Makes a fix that removes the label `key` display-only if a selector uses the label.
pub(in crate::rules) fn keep_selected(context: &Context<'_>, key: &str, finding: &mut Finding) {
    let Some(fix) = finding.fix.as_mut().filter(|_| is_selected(context, key)) else {
        return;
    };
    fix.limit_to(Applicability::display_only_because(format!(
        "a selector in this tree uses the label `{key}`"
    )));
    finding.help = Some(format!("remove the label `{key}` from the selectors first"));
}

/// Returns whether a selector in `node` uses the label. `within` is true if `node` is part of a selector.
/// Aliases are not followed, because the search also visits their anchors.
fn uses_label(node: NodeRef<'_>, key: &str, within: bool, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match node.kind() {
        Kind::Alias => within && selects(node.resolved(), key),
        Kind::Scalar => within && node.text().is_some_and(|text| text.contains(key)),
        Kind::Sequence => node
            .items()
            .any(|item| uses_label(item, key, within, depth)),
        Kind::Mapping => node.entries().any(|entry| {
            let name = entry.key.text().unwrap_or_default();
            within && name == key
                || uses_label(entry.value, key, within || is_selector(name), depth)
        }),
    }
}

/// Returns whether the labels of a selector, which are an alias of those of the pods, contain the label.
fn selects(labels: NodeRef<'_>, key: &str) -> bool {
    labels.get(key).is_some() || labels.text().is_some_and(|text| text.contains(key))
}

fn is_selector(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower.ends_with("selector") || matches!(key, "matchLabels" | "matchExpressions" | "subsets")
}

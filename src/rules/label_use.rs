//! Labels that something in the tree selects by: one of them cannot be taken away alone.

use crate::context::Context;
use crate::finding::{Applicability, Finding};
use crate::yaml::{Kind, NodeRef};

/// Deeper than any selector stands.
const DEPTH: usize = 64;

/// Tells whether a selector anywhere in the tree speaks of the label `key`, whatever it selects.
pub(super) fn is_selected(context: &Context<'_>, key: &str) -> bool {
    let mut documents = context
        .sources
        .files
        .iter()
        .flat_map(|file| &file.documents);
    documents.any(|document| {
        let root = document.tree().and_then(|tree| tree.root());
        root.is_some_and(|root| speaks(root, key, false, DEPTH))
    })
}

/// Has a fix that takes a label away only shown where a selector asks for it.
pub(super) fn keep_selected(context: &Context<'_>, key: &str, finding: &mut Finding) {
    let Some(fix) = finding.fix.as_mut().filter(|_| is_selected(context, key)) else {
        return;
    };
    fix.applicability = Applicability::DisplayOnly;
    finding.help = Some(format!(
        "a selector in this tree asks for the label `{key}`: take it out there first"
    ));
}

/// `within`: the node stands in a selector. Aliases are not followed: their anchor is seen, too.
fn speaks(node: NodeRef<'_>, key: &str, within: bool, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match node.kind() {
        Kind::Alias => within && selects(node.resolved(), key),
        Kind::Scalar => within && node.text().is_some_and(|text| text.contains(key)),
        Kind::Sequence => node.items().any(|item| speaks(item, key, within, depth)),
        Kind::Mapping => node.entries().any(|entry| {
            let name = entry.key.text().unwrap_or_default();
            within && name == key || speaks(entry.value, key, within || is_selector(name), depth)
        }),
    }
}

/// The labels of a selector are an alias of those of the pods.
fn selects(labels: NodeRef<'_>, key: &str) -> bool {
    labels.get(key).is_some() || labels.text().is_some_and(|text| text.contains(key))
}

fn is_selector(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower.ends_with("selector") || matches!(key, "matchLabels" | "matchExpressions" | "subsets")
}

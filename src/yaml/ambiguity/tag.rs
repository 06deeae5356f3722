//! Tags that give a scalar another value for some readers.

use crate::yaml::scalar::{Scalar, resolve_plain};
use crate::yaml::tree::{Kind, NodeRef, Style, Tree};

use super::{Ambiguity, AmbiguityKind, shown};

/// Reports the scalars whose tag makes a difference.
pub(super) fn find(tree: &Tree) -> Vec<Ambiguity> {
    if !tree.has_tags() {
        return Vec::new();
    }
    tree.all().filter_map(of_node).collect()
}

/// Reports a key at the root of a document that kubectl decodes: it may be any key.
pub(super) fn find_root_key(tree: &Tree) -> Option<Ambiguity> {
    if !tree.has_tags() {
        return None;
    }
    let mut keys = tree.root()?.entries().map(|entry| entry.key);
    let key = keys.find(|key| key.core_tag() == Some("binary"))?;
    Some(Ambiguity {
        kind: AmbiguityKind::HiddenSyntax,
        ..of_node(key)?
    })
}

/// Measured with sigs.k8s.io/yaml 1.6 (go-yaml 2) and kyaml 0.21 (go-yaml 3).
fn of_node(node: NodeRef<'_>) -> Option<Ambiguity> {
    let tag = node.tag().filter(|_| node.kind() == Kind::Scalar)?;
    let text = node.text()?;
    let message = match node.core_tag() {
        Some("binary") => format!("{tag} {}: kubectl reads the decoded bytes", shown(node)),
        Some("timestamp") => format!("{tag} {}: kubectl reformats the time", shown(node)),
        // The tag `!` means a string to go-yaml 2 and nothing to go-yaml 3.
        None if tag == "!" => {
            let is_plain = matches!(node.style(), Style::Plain | Style::Empty);
            if !is_plain || matches!(resolve_plain(text), Scalar::Str(_)) {
                return None;
            }
            let text = shown(node);
            format!("`! ` before {text}: a string for kubectl, not for kustomize")
        }
        _ => return None,
    };
    Some(Ambiguity {
        kind: AmbiguityKind::Tag,
        span: node.outer_span(),
        message,
        help: "write the value without the tag",
    })
}

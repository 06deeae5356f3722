//! Tags that change the value of a scalar for some tools.

use crate::base64::decode;
use crate::scalar::{Scalar, resolve_plain};
use crate::tree::{Kind, NodeRef, Style, Tree};

use super::excerpt::excerpt;
use super::kind::{Ambiguity, AmbiguityKind};

/// Returns the scalars whose tag changes their value for some tools.
pub(super) fn find(tree: &Tree) -> Vec<Ambiguity> {
    if !tree.has_tags() {
        return Vec::new();
    }
    tree.all().filter_map(of_node).collect()
}

/// Returns the first `!!binary` key at the root of a document that kubectl decodes to one of `keys`.
pub(super) fn find_root_key(tree: &Tree, keys: &[&str]) -> Option<Ambiguity> {
    if !tree.has_tags() {
        return None;
    }
    let is_one_of_keys = |text: &str| keys.iter().any(|key| is_encoded(text, key));
    let key =
        tree.root()?.entries().map(|entry| entry.key).find(|key| {
            key.core_tag() == Some("binary") && key.text().is_some_and(is_one_of_keys)
        })?;
    Some(Ambiguity {
        kind: AmbiguityKind::HiddenSyntax,
        ..of_node(key)?
    })
}

/// Returns whether a text is the base64 encoding of `plain`. Unused bits and line breaks are ignored.
fn is_encoded(text: &str, plain: &str) -> bool {
    let digits = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n' | b'='));
    decode(digits.take(plain.len() * 2 + 4)).is_some_and(|decoded| decoded == plain.as_bytes())
}

/// Returns whether go-yaml accepts a text with a tag of the core schema; it resolves the text as if it were plain.
fn fits(tag: &str, text: &str) -> bool {
    let scalar = resolve_plain(text);
    match tag {
        "int" => matches!(scalar, Scalar::Int(_) | Scalar::UInt(_)),
        "float" => matches!(scalar, Scalar::Int(_) | Scalar::Float(_)),
        "bool" => matches!(scalar, Scalar::Bool(_)),
        "null" => scalar == Scalar::Null,
        _ => true,
    }
}

/// Returns the ambiguity of a tagged scalar, as measured with sigs.k8s.io/yaml 1.6 (go-yaml 2) and kyaml 0.21
/// (go-yaml 3).
fn of_node(node: NodeRef<'_>) -> Option<Ambiguity> {
    let tag = node.tag().filter(|_| node.kind() == Kind::Scalar)?;
    let text = node.text()?;
    let message = match node.core_tag() {
        Some("binary") => format!("{tag} {}: kubectl reads the decoded bytes", excerpt(node)),
        Some("timestamp") => format!("{tag} {}: kubectl reformats the time", excerpt(node)),
        Some(name) if !fits(name, text) => {
            format!("{tag} {}: kubectl rejects the value", excerpt(node))
        }
        // The tag `!` means a string to go-yaml 2 and nothing to go-yaml 3.
        None if tag == "!" => {
            let is_plain = matches!(node.style(), Style::Plain | Style::Empty);
            if !is_plain || matches!(resolve_plain(text), Scalar::Str(_)) {
                return None;
            }
            let text = excerpt(node);
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

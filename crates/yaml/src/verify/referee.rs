//! The value that the second parser, the referee, reads from a document.

use std::borrow::Cow;

use hashbrown::HashSet;
use serde_yaml::Value as Yaml;

use super::expanded_size;
use super::limits::REPEATED;
use crate::marker::without_byte_order_mark;
use crate::span::Span;
use crate::text_edit::{Edit, splice};
use crate::tree::{Kind, NodeRef, Tree};

/// Returns the text of a document with unique anchor names, for the referee, which does not support anchors that are
/// defined again.
pub(super) fn with_unique_anchors(tree: &Tree) -> Cow<'_, str> {
    let text = tree.text();
    let mut names = HashSet::new();
    if tree
        .anchors()
        .all(|anchor| names.insert(anchor.slice(text)))
    {
        return Cow::Borrowed(tree.segment().slice(text));
    }
    let renamed = |mark: char, span: Span, node: NodeRef<'_>| Edit {
        span,
        text: format!("{mark}a{}", node.id()),
    };
    let mut edits = Vec::new();
    for node in tree.all() {
        edits.extend(node.anchor_span().map(|span| renamed('&', span, node)));
        if node.kind() == Kind::Alias {
            edits.push(renamed('*', node.span(), node.resolved()));
        }
    }
    edits.sort_by_key(|edit| edit.span.start);
    let after = text.len() - tree.segment().end;
    let whole = splice(text, &edits);
    let end = whole.len().saturating_sub(after);
    Cow::Owned(
        Span::new(tree.segment().start, end)
            .slice(&whole)
            .to_owned(),
    )
}

/// Reads a JSON document that libyaml rejects: it accepts neither surrogate pairs nor U+007F. kubectl reads a text that
/// starts with `{` as JSON.
/// Source: Kubernetes 1.34, `k8s.io/apimachinery/pkg/util/yaml/decoder.go` (`YAMLOrJSONDecoder`).
fn json_value(text: &str, error: &serde_yaml::Error) -> Result<Yaml, String> {
    serde_json::from_str(text).map_err(|_| format!("is refused by the second parser: {error}"))
}

/// Rejects a text whose aliases expand to too many values, before these are allocated.
fn refuse_multiplying(text: &str) -> Result<(), String> {
    let fits = expanded_size::is_within_limit(text, text.len().saturating_add(REPEATED));
    fits.then_some(())
        .ok_or_else(|| "has aliases that expand to too many values".to_owned())
}

/// Reads a document with the referee, and applies merge keys.
pub(super) fn referee_value(text: &str) -> Result<Yaml, String> {
    let text = without_byte_order_mark(text);
    refuse_multiplying(text)?;
    let mut value: Yaml = serde_yaml::from_str(text).or_else(|error| json_value(text, &error))?;
    merge(&mut value);
    Ok(value)
}

/// Applies merge keys from the inside out. The mapping's own keys win, then those of earlier bases.
fn merge(value: &mut Yaml) {
    match value {
        Yaml::Sequence(items) => items.iter_mut().for_each(merge),
        Yaml::Tagged(tagged) => merge(&mut tagged.value),
        Yaml::Mapping(mapping) => {
            mapping.values_mut().for_each(merge);
            let bases = match mapping.get("<<") {
                Some(Yaml::Mapping(base)) => vec![base.clone()],
                Some(Yaml::Sequence(items)) if items.iter().all(Yaml::is_mapping) => {
                    items.iter().filter_map(Yaml::as_mapping).cloned().collect()
                }
                _ => return,
            };
            mapping.remove("<<");
            for (key, value) in bases.into_iter().flatten() {
                mapping.entry(key).or_insert(value);
            }
        }
        _ => {}
    }
}

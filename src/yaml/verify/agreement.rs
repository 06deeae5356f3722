//! Our reading of a document against that of the second parser.
//!
//! The two resolve plain scalars by different versions of YAML, so texts are compared where their
//! types differ: `0777` is 511 for Kubernetes tooling and a string in YAML 1.2.

use std::cell::Cell;

use serde_yaml::{Mapping, Value as Yaml};

use crate::yaml::merge::{effective_entries, key_text};
use crate::yaml::route::Route;
use crate::yaml::scalar::{Scalar, resolve_plain};
use crate::yaml::tree::{Kind, NodeRef, Style, Tree};

use super::compare::{found_key, one_line};
use super::{DEPTH, REPEATED, measure, referee_value, with_own_names};

/// Returns how the second parser's reading of a document differs from ours, in words; `None` where
/// both read the same.
pub(in crate::yaml) fn disagreement(tree: &Tree) -> Option<String> {
    if let Err(reason) = measure(tree) {
        return Some(reason);
    }
    match referee_value(&with_own_names(tree)) {
        Ok(value) => difference(tree, &value),
        Err(reason) => Some(format!("the document {reason}")),
    }
}

/// Returns the first difference between our reading of a document and `value`.
pub(super) fn difference(tree: &Tree, value: &Yaml) -> Option<String> {
    let walk = Walk {
        budget: Cell::new(tree.node_count().saturating_add(REPEATED)),
    };
    walk.node(tree.root()?, value, &Route::root(), DEPTH)
}

struct Walk {
    budget: Cell<usize>,
}

impl Walk {
    fn node(&self, node: NodeRef<'_>, other: &Yaml, route: &Route, depth: usize) -> Option<String> {
        let other = untagged(other);
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.budget.get().checked_sub(1))
        else {
            return Some("the document is too large to be compared".to_owned());
        };
        self.budget.set(left);
        match (node.resolved().kind(), other) {
            (Kind::Mapping, Yaml::Mapping(other)) => self.mapping(node, other, route, depth),
            (Kind::Sequence, Yaml::Sequence(other)) if node.items().len() == other.len() => {
                let mut pairs = node.items().zip(other).enumerate();
                pairs.find_map(|(index, (node, other))| {
                    self.node(node, other, &route.child(index), depth)
                })
            }
            (Kind::Scalar, _) if same_scalar(node, other) => None,
            _ => Some(format!(
                "`{route}` is {} for the second parser, not {}",
                one_line(other),
                words(node)
            )),
        }
    }

    fn mapping(
        &self,
        node: NodeRef<'_>,
        other: &Mapping,
        route: &Route,
        depth: usize,
    ) -> Option<String> {
        let Ok(entries) = effective_entries(node, &self.budget) else {
            return Some("the merge keys of the document stand for too many entries".to_owned());
        };
        let mut known = 0;
        for entry in &entries {
            let key = entry.key.text().unwrap_or_default();
            let route = route.child(key.to_owned());
            let Some(value) = value_of(other, entry.key) else {
                return Some(format!("`{route}` is missing for the second parser"));
            };
            known += 1;
            if let Some(words) = self.node(entry.value, value, &route, depth) {
                return Some(words);
            }
        }
        if known == other.len() {
            return None;
        }
        let is_ours = |key: &Yaml| entries.iter().any(|entry| same_scalar(entry.key, key));
        let extra = other.keys().find(|key| !is_ours(key));
        let key = extra.map_or_else(String::new, one_line);
        Some(format!(
            "{key} below `{route}` is there for the second parser only"
        ))
    }
}

/// Returns the value that the second parser has for a key.
fn value_of<'v>(other: &'v Mapping, key: NodeRef<'_>) -> Option<&'v Yaml> {
    if let Some(found) = key.text().and_then(|text| found_key(other, text)) {
        return other.get(&found);
    }
    let text = key_text(key);
    let mut entries = other.iter();
    let found = entries.find(|(candidate, _)| {
        let same_text =
            || matches!((&text, candidate), (Some(text), Yaml::String(other)) if text == other);
        same_scalar(key, candidate) || same_text()
    });
    found.map(|(_, value)| value)
}

fn untagged(value: &Yaml) -> &Yaml {
    match value {
        Yaml::Tagged(tagged) => untagged(&tagged.value),
        other => other,
    }
}

/// Tells whether both parsers read the same text from a scalar.
fn same_scalar(node: NodeRef<'_>, other: &Yaml) -> bool {
    let (Some(text), Some(scalar)) = (node.text(), node.scalar()) else {
        return false;
    };
    let is_plain = matches!(node.resolved().style(), Style::Plain | Style::Empty);
    // A tag decides on the type only: the second parser does not know them all.
    let plain = if is_plain {
        resolve_plain(text)
    } else {
        scalar
    };
    match other {
        Yaml::String(other) => text == other,
        Yaml::Null => scalar == Scalar::Null || plain == Scalar::Null,
        Yaml::Bool(other) => [scalar, plain].contains(&Scalar::Bool(*other)),
        Yaml::Number(other) => {
            let same = |scalar| {
                number(scalar)
                    .zip(other.as_f64())
                    .is_some_and(|(one, other)| {
                        one.total_cmp(&other).is_eq()
                            || (one.is_nan() && other.is_nan())
                            || one == other
                    })
            };
            same(scalar) || same(plain)
        }
        Yaml::Sequence(_) | Yaml::Mapping(_) | Yaml::Tagged(_) => false,
    }
}

#[expect(clippy::cast_precision_loss, reason = "both sides are rounded alike")]
const fn number(scalar: Scalar<'_>) -> Option<f64> {
    match scalar {
        Scalar::Int(value) => Some(value as f64),
        Scalar::UInt(value) => Some(value as f64),
        Scalar::Float(value) => Some(value),
        Scalar::Null | Scalar::Bool(_) | Scalar::Str(_) => None,
    }
}

fn words(node: NodeRef<'_>) -> String {
    match node.resolved().kind() {
        Kind::Mapping => "a mapping".to_owned(),
        Kind::Sequence => "a list".to_owned(),
        Kind::Scalar | Kind::Alias => {
            let text = node.text().unwrap_or_default();
            one_line(&Yaml::String(text.to_owned()))
        }
    }
}

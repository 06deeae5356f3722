//! Comparison of our reading of a document with that of the second parser.
//!
//! The parsers resolve plain scalars by different versions of YAML: `0777` is 511 for Kubernetes tooling and a string
//! in YAML 1.2. If the types differ, the texts are compared.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use hashbrown::{HashMap, HashSet};
use serde_yaml::{Mapping, Value as Yaml};

use super::compare::describe_value;
use super::{DEPTH, REPEATED};
use crate::field_path::FieldPath;
use crate::merge::{effective_entries, key_text};
use crate::scalar::{Scalar, resolve_plain};
use crate::tree::{Entry, Kind, NodeRef, Style, Tree};

/// Returns the first difference between our reading of a document and `value`.
pub(super) fn difference(tree: &Tree, value: &Yaml) -> Option<String> {
    let comparison = Comparison {
        budget: Cell::new(tree.node_count().saturating_add(REPEATED)),
    };
    comparison.node(tree.root()?, value, &Place::Root, DEPTH)
}

/// Position of the comparison. Most positions are not reported, so a [`FieldPath`] is built only for a message.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn route(&self) -> FieldPath {
        match self {
            Self::Root => FieldPath::root(),
            Self::Key(above, key) => above.route().child((*key).to_owned()),
            Self::Index(above, index) => above.route().child(*index),
        }
    }
}

/// A comparison, with the number of nodes that it may still visit.
struct Comparison {
    budget: Cell<usize>,
}

impl Comparison {
    fn node(
        &self,
        node: NodeRef<'_>,
        other: &Yaml,
        place: &Place<'_>,
        depth: usize,
    ) -> Option<String> {
        let other = untagged(other);
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.budget.get().checked_sub(1))
        else {
            return Some("the document is too large to compare".to_owned());
        };
        self.budget.set(left);
        match (node.resolved().kind(), other) {
            (Kind::Mapping, Yaml::Mapping(other)) => self.mapping(node, other, place, depth),
            (Kind::Sequence, Yaml::Sequence(other)) if node.items().len() == other.len() => {
                let mut pairs = node.items().zip(other).enumerate();
                pairs.find_map(|(index, (node, other))| {
                    self.node(node, other, &Place::Index(place, index), depth)
                })
            }
            (Kind::Scalar, _) if same_scalar(node, other) => None,
            _ => Some(format!(
                "`{}` is {} for the second parser, not {}",
                place.route(),
                describe_value(other),
                describe(node)
            )),
        }
    }

    fn mapping(
        &self,
        node: NodeRef<'_>,
        other: &Mapping,
        place: &Place<'_>,
        depth: usize,
    ) -> Option<String> {
        let Ok(entries) = effective_entries(node, &self.budget) else {
            return Some("the merge keys of the document expand to too many entries".to_owned());
        };
        let keys = Keys::new(other);
        for entry in &entries {
            let key = entry.key.text().unwrap_or_default();
            let place = Place::Key(place, key);
            let Some(value) = keys.value(entry.key) else {
                return Some(format!(
                    "the second parser does not read `{}`",
                    place.route()
                ));
            };
            if let Some(difference) = self.node(entry.value, value, &place, depth) {
                return Some(difference);
            }
        }
        if entries.len() == other.len() {
            return None;
        }
        let extra = unknown_key(&entries, other).map_or_else(String::new, describe_value);
        Some(format!(
            "only the second parser reads {extra} below `{}`",
            place.route()
        ))
    }
}

/// A key that is not a string.
#[derive(PartialEq, Eq, Hash)]
enum TypedKey {
    Null,
    Bool(bool),
    /// The bits of a float.
    Number(u64),
}

impl TypedKey {
    fn of_scalar(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Null => Some(Self::Null),
            Scalar::Bool(value) => Some(Self::Bool(value)),
            _ => number(scalar).map(Self::of_float),
        }
    }

    fn of_yaml(key: &Yaml) -> Option<Self> {
        match key {
            Yaml::Null => Some(Self::Null),
            Yaml::Bool(value) => Some(Self::Bool(*value)),
            Yaml::Number(value) => value.as_f64().map(Self::of_float),
            _ => None,
        }
    }

    const fn of_float(value: f64) -> Self {
        if value.is_nan() {
            return Self::Number(f64::NAN.to_bits());
        }
        // `0.0` and `-0.0` are the same key.
        Self::Number((value + 0.0).to_bits())
    }
}

/// Lookup of the values of a mapping of the second parser by our keys.
struct Keys<'v> {
    other: &'v Mapping,
    typed: OnceCell<HashMap<TypedKey, &'v Yaml>>,
}

impl<'v> Keys<'v> {
    const fn new(other: &'v Mapping) -> Self {
        Self {
            other,
            typed: OnceCell::new(),
        }
    }

    fn value(&self, key: NodeRef<'_>) -> Option<&'v Yaml> {
        let by_text = |text: &str| self.other.get(text);
        key.text()
            .and_then(by_text)
            .or_else(|| self.typed_value(key))
            .or_else(|| key_text(key).and_then(|text| by_text(&text)))
    }

    fn typed_value(&self, key: NodeRef<'_>) -> Option<&'v Yaml> {
        let typed = self.typed.get_or_init(|| {
            self.other
                .iter()
                .filter_map(|(key, value)| Some((TypedKey::of_yaml(key)?, value)))
                .collect()
        });
        typed_keys(key).find_map(|key| typed.get(&key).copied())
    }
}

/// Returns the typed keys that the second parser may read for a key: by its tag, and by its text.
fn typed_keys(key: NodeRef<'_>) -> impl Iterator<Item = TypedKey> {
    let plain = key.text().filter(|_| is_plain(key)).map(resolve_plain);
    let scalars = key.scalar().into_iter().chain(plain);
    scalars.filter_map(TypedKey::of_scalar)
}

/// Returns the first key of the second parser that we do not have.
fn unknown_key<'v>(entries: &[Entry<'_>], other: &'v Mapping) -> Option<&'v Yaml> {
    let keys = || entries.iter().map(|entry| entry.key);
    let texts: HashSet<_> = keys()
        .flat_map(|key| {
            key.text()
                .map(Cow::Borrowed)
                .into_iter()
                .chain(key_text(key))
        })
        .collect();
    let typed: HashSet<TypedKey> = keys().flat_map(typed_keys).collect();
    other.keys().find(|key| match key {
        Yaml::String(text) => !texts.contains(text.as_str()),
        key => !TypedKey::of_yaml(key).is_some_and(|key| typed.contains(&key)),
    })
}

fn untagged(value: &Yaml) -> &Yaml {
    match value {
        Yaml::Tagged(tagged) => untagged(&tagged.value),
        other => other,
    }
}

fn is_plain(node: NodeRef<'_>) -> bool {
    matches!(node.resolved().style(), Style::Plain | Style::Empty)
}

/// Returns whether both parsers read the same text from a scalar.
fn same_scalar(node: NodeRef<'_>, other: &Yaml) -> bool {
    let (Some(text), Some(scalar)) = (node.text(), node.scalar()) else {
        return false;
    };
    // kubectl decodes the text.
    if node.core_tag() == Some("binary") {
        return false;
    }
    // Another tag affects only the type, and the second parser does not support all tags.
    let plain = if is_plain(node) {
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
                    .is_some_and(|(ours, other)| {
                        ours.total_cmp(&other).is_eq()
                            || (ours.is_nan() && other.is_nan())
                            || ours == other
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

/// Describes a node for a message.
fn describe(node: NodeRef<'_>) -> String {
    match node.resolved().kind() {
        Kind::Mapping => "a mapping".to_owned(),
        Kind::Sequence => "a list".to_owned(),
        Kind::Scalar | Kind::Alias => {
            let text = node.text().unwrap_or_default();
            describe_value(&Yaml::String(text.to_owned()))
        }
    }
}

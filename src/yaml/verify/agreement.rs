//! Our reading of a document against that of the second parser.
//!
//! The two resolve plain scalars by different versions of YAML, so texts are compared where their
//! types differ: `0777` is 511 for Kubernetes tooling and a string in YAML 1.2.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use hashbrown::{HashMap, HashSet};
use serde_yaml::{Mapping, Value as Yaml};

use crate::yaml::merge::{effective_entries, key_text};
use crate::yaml::route::Route;
use crate::yaml::scalar::{Scalar, resolve_plain};
use crate::yaml::tree::{Entry, Kind, NodeRef, Style, Tree};

use super::compare::one_line;
use super::{
    DEPTH, REPEATED, brackets, first_referee_value, measure, referee_value, with_own_names,
};

/// Returns how the second parser's reading of a document differs from ours, in words; `None` where
/// both read the same.
pub(in crate::yaml) fn disagreement(tree: &Tree) -> Option<String> {
    if let Err(reason) = measure(tree) {
        return Some(reason);
    }
    let text = with_own_names(tree);
    match brackets::check(&text).and_then(|()| referee_value(&text)) {
        Ok(value) => difference(tree, &value),
        Err(reason) => Some(format!("the document {reason}")),
    }
}

/// Returns what the second parser reads from a text without content for ours, in words; `None` where
/// it has none for both.
pub(in crate::yaml) fn hidden_content(text: &str) -> Option<String> {
    match brackets::check(text).and_then(|()| referee_value(text)) {
        Ok(Yaml::Null) => None,
        Ok(value) => Some(format!("only kubectl reads {}", one_line(&value))),
        Err(reason) => Some(format!("the document {reason}")),
    }
}

/// Returns what the second parser reads from a text, in words, where that is a mapping with `keys`. A text that it
/// refuses counts if lines start with the keys: it is stricter than kubectl, for example with keys that occur twice.
pub(in crate::yaml) fn hidden_mapping(text: &str, keys: &[&str]) -> Option<String> {
    match first_referee_value(text) {
        Ok(Some(Yaml::Mapping(mapping))) => {
            let has_keys = keys.iter().all(|key| mapping.contains_key(*key));
            has_keys.then(|| format!("only kubectl reads {}", one_line(&Yaml::Mapping(mapping))))
        }
        Ok(_) => None,
        Err(reason) => {
            let is_hidden = text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
            let has_keys = is_hidden && keys.iter().all(|key| starts_line(text, key));
            has_keys.then(|| format!("the document {reason}"))
        }
    }
}

/// Returns whether a line of YAML 1.1 starts with a key.
fn starts_line(text: &str, key: &str) -> bool {
    let mut lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    lines.any(|line| {
        let line = line.trim_start_matches([' ', '\u{feff}', '"', '\'']);
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    })
}

/// Returns the first difference between our reading of a document and `value`.
pub(super) fn difference(tree: &Tree, value: &Yaml) -> Option<String> {
    let walk = Walk {
        budget: Cell::new(tree.node_count().saturating_add(REPEATED)),
    };
    walk.node(tree.root()?, value, &Place::Root, DEPTH)
}

/// Where the walk is. Most of its places are never shown, so a [`Route`] is built only for a message.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn route(&self) -> Route {
        match self {
            Self::Root => Route::root(),
            Self::Key(above, key) => above.route().child((*key).to_owned()),
            Self::Index(above, index) => above.route().child(*index),
        }
    }
}

struct Walk {
    budget: Cell<usize>,
}

impl Walk {
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
            return Some("the document is too large to be compared".to_owned());
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
                one_line(other),
                words(node)
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
            return Some("the merge keys of the document stand for too many entries".to_owned());
        };
        let keys = Keys::new(other);
        for entry in &entries {
            let key = entry.key.text().unwrap_or_default();
            let place = Place::Key(place, key);
            let Some(value) = keys.value(entry.key) else {
                return Some(format!(
                    "`{}` is missing for the second parser",
                    place.route()
                ));
            };
            if let Some(words) = self.node(entry.value, value, &place, depth) {
                return Some(words);
            }
        }
        if entries.len() == other.len() {
            return None;
        }
        let extra = unknown_key(&entries, other).map_or_else(String::new, one_line);
        Some(format!(
            "{extra} below `{}` is there for the second parser only",
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
        // Both zeros are one key.
        Self::Number((value + 0.0).to_bits())
    }
}

/// The values of a mapping of the second parser, found by our keys.
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
            let entries = self.other.iter();
            let typed = entries.filter_map(|(key, value)| Some((TypedKey::of_yaml(key)?, value)));
            typed.collect()
        });
        typed_keys(key).find_map(|key| typed.get(&key).copied())
    }
}

/// Returns what a key may be for the second parser: by its tag, and by its text.
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

/// Tells whether both parsers read the same text from a scalar.
fn same_scalar(node: NodeRef<'_>, other: &Yaml) -> bool {
    let (Some(text), Some(scalar)) = (node.text(), node.scalar()) else {
        return false;
    };
    // A tag decides on the type only: the second parser does not know them all.
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

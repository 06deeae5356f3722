//! The value that the second parser, the referee, reads from a document.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use hashbrown::HashSet;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess,
    SeqAccess, VariantAccess as _, Visitor,
};
use serde_yaml::Value as Yaml;

use super::REPEATED;
use crate::comment::without_byte_order_mark;
use crate::span::{Edit, Span, splice};
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
    let fits = is_within_limit(text, text.len().saturating_add(REPEATED));
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

/// Returns why libyaml rejects the first document of a text that [`check_brackets`](super::check_brackets) accepts; later
/// documents are not read.
#[must_use]
pub fn first_document_error(text: &str) -> Option<String> {
    let text = without_byte_order_mark(text);
    let first = serde_yaml::Deserializer::from_str(text).next()?;
    let error = IgnoredAny::deserialize(first).err()?.to_string();
    // The recursion limit is a limit of the serde parser around libyaml, not of libyaml.
    (!error.contains("recursion limit")).then_some(error)
}

/// Returns the string keys that libyaml reads at the root of the first document of a text; `None` if the document is a
/// list or a single value. Values are not built, so aliases do not multiply. A text with too many brackets
/// ([`has_too_many_brackets`]) is not parsed, and has no keys.
#[must_use]
pub fn first_document_keys(text: &str) -> Option<Vec<String>> {
    if has_too_many_brackets(text) {
        return Some(Vec::new());
    }
    let text = without_byte_order_mark(text);
    let first = serde_yaml::Deserializer::from_str(text).next();
    match first.map(Outline::deserialize) {
        Some(Ok(Outline::Mapping(keys))) => Some(keys),
        Some(Ok(Outline::Text(_) | Outline::Other)) => None,
        None | Some(Ok(Outline::Null) | Err(_)) => Some(Vec::new()),
    }
}

/// Limit on the opening brackets of a text. At this depth a megabyte takes seconds. go-yaml rejects more than 10,000
/// levels (gopkg.in/yaml.v2 2.4.0, scannerc.go, `max_flow_level`), and yaml-serde rejects more than 128.
const LIMIT: usize = 4_000;

/// Limit on the opening brackets of a short text such as the value of an annotation. There can be many of them, and none of
/// these is nested deeper. yaml-serde rejects more levels.
const EMBEDDED_LIMIT: usize = super::DEPTH;

/// Characters with which libyaml may end a scalar or a comment earlier than our parser.
const LINE_BREAKS: [char; 4] = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];

/// Returns whether a text has more opening brackets than the limit, including those in strings and comments. The trees
/// of our parser have at most 255 levels, so this check is for texts that our parser rejects, or that libyaml may read
/// differently.
#[must_use]
pub fn has_too_many_brackets(text: &str) -> bool {
    has_more_brackets(text, LIMIT)
}

/// Rejects an embedded text with too many opening brackets, unless libyaml reads the same brackets as our parser.
/// `is_parsed` is whether our parser accepts the text.
///
/// # Errors
/// A message for the user, without its subject.
pub fn check_brackets(text: &str, is_parsed: bool) -> Result<(), String> {
    if is_parsed && !text.contains(LINE_BREAKS) {
        return Ok(());
    }
    match has_more_brackets(text, EMBEDDED_LIMIT) {
        true => Err(format!("has more than {EMBEDDED_LIMIT} opening brackets")),
        false => Ok(()),
    }
}

fn has_more_brackets(text: &str, limit: usize) -> bool {
    memchr::memchr2_iter(b'[', b'{', text.as_bytes())
        .nth(limit)
        .is_some()
}

/// Kind of a value, with the keys of a mapping.
pub(super) enum Outline {
    /// A mapping, with the keys that are strings.
    Mapping(Vec<String>),
    Text(String),
    Null,
    /// A list, a number or a boolean.
    Other,
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = map.next_key()? {
            if let Outline::Text(key) = key {
                keys.push(key);
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(Outline::Mapping(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Outline, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outline::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Outline, E> {
        Ok(Outline::Text(text.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Outline, E> {
        Ok(Outline::Null)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Outline, A::Error> {
        let (_, value) = data.variant::<IgnoredAny>()?;
        value.newtype_variant::<IgnoredAny>()?;
        Ok(Outline::Other)
    }
}

/// Returns whether the documents of a text expand to at most `limit` values, or the parser rejects the text.
pub(super) fn is_within_limit(text: &str, limit: usize) -> bool {
    if !(text.contains('*') && text.contains('&')) {
        return true;
    }
    let left = Cell::new(limit);
    for document in serde_yaml::Deserializer::from_str(text) {
        // The iterator repeats an error endlessly.
        if Count(&left).deserialize(document).is_err() {
            return left.get() > 0;
        }
    }
    true
}

/// Visitor that counts down the number of values that are allowed.
#[derive(Clone, Copy)]
struct Count<'c>(&'c Cell<usize>);

impl Count<'_> {
    fn take_one<E: Error>(self) -> Result<(), E> {
        let left = self.0.get().saturating_sub(1);
        self.0.set(left);
        if left == 0 {
            return Err(E::custom("too many values"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.take_one()?;
        while map.next_key_seed(self)?.is_some() {
            map.next_value_seed(self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.take_one()?;
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let (_, value) = data.variant::<IgnoredAny>()?;
        value.newtype_variant_seed(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.take_one()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.take_one()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.take_one()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.take_one()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.take_one()
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.take_one()
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.take_one()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.take_one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_count_as_their_expanded_targets() {
        let list =
            |name: &str, item: &str| format!("{name}: &{name} [{}]\n", [item; 10].join(", "));
        let text = [list("a", "x"), list("b", "*a"), list("c", "*b")].concat();
        assert!(is_within_limit(&text, 2_000));
        assert!(!is_within_limit(&text, 1_000));
        assert!(is_within_limit("a: [1, 2, !x 3]\n", 1));
        assert!(is_within_limit("a: &a 1\nb: *a\nc: !x {d: e}\n", 20));
        assert!(is_within_limit("a: &a 1\nb: *b\n---\n- *a", 20));
    }
}

//! Reads messages of Istio's API that are written as YAML in the way that Istio decodes them.
//!
//! Istio converts the YAML to JSON and decodes that with jsonpb; unknown fields are allowed.
//! Source: Istio 1.31, `pkg/util/protomarshal` (`ApplyYAML`); golang/protobuf 1.5.4,
//! `jsonpb/decode.go`. Istio 1.10 and 1.11 use gogo/protobuf 1.3, whose jsonpb gives the same results.

use std::borrow::Cow;

use crate::yaml::{Entry, NodeRef, Scalar};

/// The type of a field, if a value can have a wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// `bool`, `BoolValue`.
    Bool,
    /// `int32`, `Int32Value`.
    Int32,
    /// `string`.
    String,
    /// A `Duration`, which is written as a string.
    Duration,
    /// `map<string, string>`.
    Strings,
    /// `repeated string`.
    List,
    /// An enum, its names by number.
    Enum(&'static [&'static str]),
    /// Another message.
    Message,
}

/// Returns the name of a field in the protobuf definition for its JSON name:
/// `status_port` for `statusPort`.
pub(super) fn original_name(json: &str) -> Cow<'_, str> {
    if !json.contains(|c: char| c.is_ascii_uppercase()) {
        return Cow::Borrowed(json);
    }
    let mut name = String::with_capacity(json.len() + 4);
    for c in json.chars() {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    Cow::Owned(name)
}

/// Returns the entry that the decoder uses for the field with this JSON name. If both
/// spellings are written, it uses that of JSON, even with a null.
pub(super) fn entry<'t>(message: NodeRef<'t>, json: &str) -> Option<Entry<'t>> {
    let named = message.entry(json);
    named.or_else(|| match original_name(json) {
        Cow::Owned(name) => message.entry(&name),
        Cow::Borrowed(_) => None,
    })
}

/// Returns the value of a field; null means no value.
pub(super) fn value<'t>(message: NodeRef<'t>, json: &str) -> Option<NodeRef<'t>> {
    let found = entry(message, json)?.value;
    (!found.is_null()).then_some(found)
}

/// Reads an `int32`: a number, with or without quotes.
pub(super) fn int32(node: NodeRef<'_>) -> Option<i64> {
    let number = match node.scalar()? {
        Scalar::Int(number) => number,
        // JSON has one kind of number: `15020.0` is written as 15020.
        Scalar::Float(number) => whole(number)?,
        // `json.Unmarshal` parses the text, and keeps the zero for null.
        Scalar::Str(text) => match text.trim_matches([' ', '\t', '\n', '\r']) {
            "null" => 0,
            digits if is_json_integer(digits) => digits.parse().ok()?,
            _ => return None,
        },
        _ => return None,
    };
    i32::try_from(number).is_ok().then_some(number)
}

/// Converts a number without a fraction that fits into 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within the bounds of 32 bits"
)]
fn whole(number: f64) -> Option<i64> {
    let fits = number.fract() == 0.0 && number.abs() <= f64::from(i32::MAX);
    fits.then_some(number as i64)
}

fn is_json_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (digits == "0" || !digits.starts_with('0'))
}

/// Reads a `bool`, which must not be in quotes.
pub(super) fn boolean(node: NodeRef<'_>) -> Option<bool> {
    match node.scalar()? {
        Scalar::Bool(value) => Some(value),
        _ => None,
    }
}

/// Reads an enum: one of `names`, or its number without quotes.
pub(super) fn enumeration(node: NodeRef<'_>, names: &[&'static str]) -> Option<&'static str> {
    match node.scalar()? {
        Scalar::Str(text) => names.iter().find(|name| **name == text).copied(),
        Scalar::Int(_) | Scalar::Float(_) => {
            let number = usize::try_from(int32(node)?).ok()?;
            names.get(number).copied()
        }
        _ => None,
    }
}

/// Returns a description of the expected value if the decoder does not accept the node as a `kind`. Null means no value.
pub(super) fn expected(node: NodeRef<'_>, kind: Type) -> Option<&'static str> {
    let is_string = |node: NodeRef<'_>| node.is_null() || node.as_str().is_some();
    let (fits, wanted) = match kind {
        _ if node.is_null() => return None,
        Type::Bool => (boolean(node).is_some(), "a boolean without quotes"),
        Type::Int32 => (int32(node).is_some(), "a whole number"),
        Type::String => (is_string(node), "a string: quote it"),
        Type::Duration => (node.as_str().is_some(), "a duration such as `5s`"),
        Type::Strings => {
            let mut values = node
                .entries()
                .filter(|entry| !entry.key.is_merge_key())
                .map(|entry| entry.value);
            let fits = node.is_mapping() && values.all(is_string);
            (fits, "a mapping of strings: quote its values")
        }
        Type::List => {
            let fits = node.is_sequence() && node.items().all(is_string);
            (fits, "a list of strings")
        }
        // A number without a name is accepted, too.
        Type::Enum(names) => {
            let is_known = enumeration(node, names).is_some();
            let is_number = node.as_str().is_none() && int32(node).is_some();
            (is_known || is_number, "a name that Istio knows")
        }
        Type::Message => (node.is_mapping(), "a mapping"),
    };
    (!fits).then_some(wanted)
}

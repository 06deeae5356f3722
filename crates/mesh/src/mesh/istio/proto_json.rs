//! Reads messages of Istio's API that are written as YAML in the way that Istio decodes them.
//!
//! Istio converts the YAML to JSON and decodes that with jsonpb; unknown fields are allowed.
//! Source: Istio 1.31, `pkg/util/protomarshal` (`ApplyYAML`); golang/protobuf 1.5.4,
//! `jsonpb/decode.go`. Istio 1.10 and 1.11 use gogo/protobuf 1.3, whose jsonpb gives the same results.

use std::borrow::Cow;

use meshprobe_yaml::{Entry, NodeRef, Scalar};

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

/// Reads an integer: a number, with or without quotes.
pub(super) fn integer<T: TryFrom<i64>>(node: NodeRef<'_>) -> Option<T> {
    let number = match node.scalar()? {
        Scalar::Float(number) if number == 0.0 && number.is_sign_negative() => {
            return negative_zero();
        }
        Scalar::Int(number) => number,
        // JSON has one kind of number: `15020.0` is written as 15020.
        Scalar::Float(number) => whole(number)?,
        // `json.Unmarshal` parses the text, and keeps the zero for null.
        Scalar::Str(text) => match json_text(text) {
            "null" => 0,
            "-0" => return negative_zero(),
            digits if is_json_integer(digits) => digits.parse().ok()?,
            _ => return None,
        },
        _ => return None,
    };
    T::try_from(number).ok()
}

/// Returns `-0`, which Go rejects for unsigned types.
fn negative_zero<T: TryFrom<i64>>() -> Option<T> {
    T::try_from(-1).ok()?;
    T::try_from(0).ok()
}

/// Reads an `int32`.
pub(super) fn int32(node: NodeRef<'_>) -> Option<i64> {
    integer::<i32>(node).map(i64::from)
}

/// Returns a text without the white space that JSON permits around a value.
fn json_text(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Converts a number without a fraction that fits into 64 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within the bounds of 64 bits"
)]
fn whole(number: f64) -> Option<i64> {
    /// The first number that does not fit.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let fits = number.fract() == 0.0 && number.abs() < LIMIT;
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

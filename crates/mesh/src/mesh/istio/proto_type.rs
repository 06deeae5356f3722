//! The types of fields in messages of Istio's API, and the values that Istio's decoder rejects for them.
//!
//! Source: golang/protobuf 1.5.4, `jsonpb/decode.go` (`unmarshalMessage`, `unmarshalSingularValue`).
//!
//! Durations as Go's `time.ParseDuration` reads them.
//!
//! Reads messages of Istio's API that are written as YAML in the way that Istio decodes them.
//!
//! Istio converts the YAML to JSON and decodes that with jsonpb; unknown fields are allowed.
//! Source: Istio 1.31, `pkg/util/protomarshal` (`ApplyYAML`); golang/protobuf 1.5.4,
//! `jsonpb/decode.go`. Istio 1.10 and 1.11 use gogo/protobuf 1.3, whose jsonpb gives the same results.

use std::borrow::Cow;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef, Scalar, Span};

use crate::mesh::ReleaseChange;

/// The type of a field. A wrapper such as `BoolValue` has the type that it contains.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Bool,
    Int32,
    Uint32,
    String,
    /// A `Duration`, which is written as a string.
    Duration,
    /// The names of an enum.
    Enum(&'static [&'static str]),
    /// The fields of a message.
    Message(&'static [Field]),
    /// A mapping from strings to values of a type.
    Map(&'static Self),
    /// A `repeated` field.
    List(&'static Self),
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// The name in JSON.
    pub(super) name: &'static str,
    kind: Type,
    /// The change that added the field; `None` if all modelled releases have it, or all that have its message.
    since: Option<&'static ReleaseChange>,
}

/// Returns a field that all modelled releases have.
pub(super) const fn field(name: &'static str, kind: Type) -> Field {
    Field {
        name,
        kind,
        since: None,
    }
}

impl Field {
    pub(super) const fn since(self, change: &'static ReleaseChange) -> Self {
        Self {
            since: Some(change),
            ..self
        }
    }
}

/// A value that the decoder does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFault {
    /// The path of the field, as it is written.
    pub path: String,
    /// Where the value is, in the text of the message.
    pub span: Span,
    /// The field and the expected value, in a few words.
    pub message: String,
    /// The change that added the field; `None` if all modelled releases have it.
    pub since: Option<&'static ReleaseChange>,
}

/// Returns the values of a message that the decoder does not accept. It ignores unknown fields. Values that another tool
/// fills in are excluded.
pub(super) fn faults(message: NodeRef<'_>, fields: &'static [Field]) -> Vec<TypeFault> {
    let mut faults = Vec::new();
    check_fields(message, fields, "", None, &mut faults);
    faults
}

fn check_fields(
    message: NodeRef<'_>,
    fields: &'static [Field],
    prefix: &str,
    since: Option<&'static ReleaseChange>,
    faults: &mut Vec<TypeFault>,
) {
    for field in fields {
        let Some(entry) = entry(message, field.name) else {
            continue;
        };
        let name = entry.key.text().unwrap_or(field.name);
        let path = format!("{prefix}{name}");
        check(
            entry.value,
            field.kind,
            &path,
            field.since.or(since),
            faults,
        );
    }
}

fn check(
    node: NodeRef<'_>,
    kind: Type,
    path: &str,
    since: Option<&'static ReleaseChange>,
    faults: &mut Vec<TypeFault>,
) {
    if node.is_null() {
        return;
    }
    match kind {
        Type::Message(fields) if node.is_mapping() => {
            check_fields(node, fields, &format!("{path}."), since, faults);
        }
        Type::Map(kind) if node.is_mapping() => {
            for entry in node.effective_entries() {
                let key = entry.key.text().unwrap_or_default();
                check(entry.value, *kind, &format!("{path}.{key}"), since, faults);
            }
        }
        Type::List(kind) if node.is_sequence() => {
            for (index, item) in node.items().enumerate() {
                check(item, *kind, &format!("{path}[{index}]"), since, faults);
            }
        }
        _ if fits(node, kind) || placeholder::contains(node.source()) => {}
        _ => faults.push(TypeFault {
            path: path.to_owned(),
            span: node.span(),
            message: format!("`{path}` must be {}", kind.describe()),
            since,
        }),
    }
}

/// Returns whether the decoder accepts a single value.
fn fits(node: NodeRef<'_>, kind: Type) -> bool {
    match kind {
        Type::Bool => boolean(node).is_some(),
        Type::Int32 => integer::<i32>(node).is_some(),
        Type::Uint32 => integer::<u32>(node).is_some(),
        Type::String => node.as_str().is_some(),
        Type::Duration => node.as_str().is_some_and(is_duration),
        // A number without a name is accepted, too.
        Type::Enum(names) => match node.as_str() {
            Some(name) => names.contains(&name),
            None => integer::<i32>(node).is_some(),
        },
        Type::Message(_) | Type::Map(_) | Type::List(_) => false,
    }
}

impl Type {
    const fn describe(self) -> &'static str {
        match self {
            Self::Bool => "a boolean without quotes",
            Self::Int32 => "a whole number",
            Self::Uint32 => "a whole number from 0",
            Self::String => "a string: quote it",
            Self::Duration => "a duration such as `5s`",
            Self::Enum(_) => "a name that Istio knows",
            Self::Message(_) => "a mapping",
            Self::Map(Self::String) => "a mapping of strings",
            Self::Map(_) => "a mapping of mappings",
            Self::List(Self::String) => "a list of strings",
            Self::List(_) => "a list",
        }
    }
}

/// The units of a duration.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 6e10),
    ("h", 3.6e12),
];

/// The maximum of a duration, in nanoseconds.
const MAX: f64 = 9_223_372_036_854_775_807.0;

/// Returns whether Go reads a text as a duration: numbers with units, such as `1h30m`.
pub(super) fn is_duration(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return true;
    }
    let mut total = 0.0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let Some((nanoseconds, after)) = first_part(rest) else {
            return false;
        };
        total += nanoseconds;
        rest = after;
    }
    !unsigned.is_empty() && total <= MAX
}

/// Reads a number with a unit; returns it in nanoseconds, and the rest of the text.
fn first_part(text: &str) -> Option<(f64, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let unit_start = text.find(|c| !is_number(c))?;
    let (number, rest) = text.split_at(unit_start);
    let unit_end = rest.find(is_number).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(unit_end);
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.parse().ok()?;
    Some((number * size, after))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_in_go() {
        for text in [
            "5s",
            "1h30m",
            "-1.5h",
            "+.5s",
            "1.s",
            "0",
            "-0",
            "100\u{b5}s",
            "0s",
        ] {
            assert!(is_duration(text), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            ".s",
            "1 s",
            "1d",
            "one",
            "+",
            "1e3s",
            "1..5s",
            " 1s",
            "99999999h",
        ] {
            assert!(!is_duration(text), "{text}");
        }
    }
}

//! The types of fields in messages of Istio's API, and the values that Istio's decoder rejects for them.
//!
//! Source: golang/protobuf 1.5.4, `jsonpb/decode.go` (`unmarshalMessage`, `unmarshalSingularValue`).
//!
//! Reads messages of Istio's API that are written as YAML in the way that Istio decodes them.
//!
//! Istio converts the YAML to JSON and decodes that with jsonpb; unknown fields are allowed.
//! Source: Istio 1.31, `pkg/util/protomarshal` (`ApplyYAML`); golang/protobuf 1.5.4,
//! `jsonpb/decode.go`. Istio 1.10 and 1.11 use gogo/protobuf 1.3, whose jsonpb gives the same results.

use std::borrow::Cow;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef, Scalar, Span};

/// The ways of interception, by number.
pub(super) const INTERCEPTION_MODES: [&str; 3] = ["REDIRECT", "TPROXY", "NONE"];

/// The type of a field. A wrapper such as `BoolValue` has the type that it contains.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Bool,
    Int32,
    String,
    /// The names of an enum.
    Enum(&'static [&'static str]),
    /// The fields of a message that are checked.
    Message(&'static [Field]),
    /// A mapping from strings to strings.
    Map,
    /// A list of messages.
    List,
}

/// A field of a message: its name in JSON, and its type.
pub(super) type Field = (&'static str, Type);

/// The fields of a `MeshConfig` that predictions read, and that all modelled releases have. A value of a wrong type makes
/// Istio reject the whole message. No public file has such a value in another field.
///
/// Source: istio.io/api 1.10 to 1.31, `mesh/v1alpha1/config.proto`.
pub(super) const MESH_CONFIG: &[Field] = &[
    ("defaultConfig", Type::Message(PROXY_CONFIG)),
    ("discoverySelectors", Type::List),
    ("enablePrometheusMerge", Type::Bool),
    ("rootNamespace", Type::String),
];

/// The fields of a `ProxyConfig` that predictions read.
///
/// Source: istio.io/api 1.10 to 1.31, `mesh/v1alpha1/proxy.proto`.
pub(super) const PROXY_CONFIG: &[Field] = &[
    ("holdApplicationUntilProxyStarts", Type::Bool),
    ("interceptionMode", Type::Enum(&INTERCEPTION_MODES)),
    ("proxyMetadata", Type::Map),
    ("statusPort", Type::Int32),
];

/// A value that the decoder does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFault {
    /// The path of the field, as it is written.
    pub path: String,
    /// Where the value is, in the text of the message.
    pub span: Span,
    /// The field and the expected value, in a few words.
    pub message: String,
}

/// Returns the values of a message that the decoder does not accept. It ignores unknown fields. Values that another tool
/// fills in are excluded.
pub(super) fn faults(message: NodeRef<'_>, fields: &'static [Field]) -> Vec<TypeFault> {
    let mut faults = Vec::new();
    check_fields(message, fields, "", &mut faults);
    faults
}

fn check_fields(
    message: NodeRef<'_>,
    fields: &'static [Field],
    prefix: &str,
    faults: &mut Vec<TypeFault>,
) {
    for (name, kind) in fields {
        if let Some(entry) = entry(message, name) {
            let name = entry.key.text().unwrap_or(name);
            check(entry.value, *kind, &format!("{prefix}{name}"), faults);
        }
    }
}

fn check(node: NodeRef<'_>, kind: Type, path: &str, faults: &mut Vec<TypeFault>) {
    if node.is_null() {
        return;
    }
    match kind {
        Type::Message(fields) if node.is_mapping() => {
            check_fields(node, fields, &format!("{path}."), faults);
        }
        Type::Map if node.is_mapping() => {
            for entry in node.effective_entries() {
                let key = entry.key.text().unwrap_or_default();
                check(entry.value, Type::String, &format!("{path}.{key}"), faults);
            }
        }
        Type::List if node.is_sequence() => {
            for (index, item) in node.items().enumerate() {
                check(
                    item,
                    Type::Message(&[]),
                    &format!("{path}[{index}]"),
                    faults,
                );
            }
        }
        _ if fits(node, kind) || placeholder::contains(node.source()) => {}
        _ => faults.push(TypeFault {
            path: path.to_owned(),
            span: node.span(),
            message: format!("`{path}` must be {}", kind.describe()),
        }),
    }
}

/// Returns whether the decoder accepts a single value.
fn fits(node: NodeRef<'_>, kind: Type) -> bool {
    match kind {
        Type::Bool => boolean(node).is_some(),
        Type::Int32 => int32(node).is_some(),
        Type::String => node.as_str().is_some(),
        // A number without a name is accepted, too.
        Type::Enum(names) => match node.as_str() {
            Some(name) => names.contains(&name),
            None => int32(node).is_some(),
        },
        Type::Message(_) | Type::Map | Type::List => false,
    }
}

impl Type {
    const fn describe(self) -> &'static str {
        match self {
            Self::Bool => "a boolean without quotes",
            Self::Int32 => "a whole number",
            Self::String => "a string: quote it",
            Self::Enum(_) => "a name that Istio knows",
            Self::Message(_) => "a mapping",
            Self::Map => "a mapping of strings",
            Self::List => "a list",
        }
    }
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

/// Returns the JSON name of a field for its name in the protobuf definition.
pub(super) fn json_name(original: &str) -> String {
    let mut words = original.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
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
        Scalar::Str(text) => match json_text(text) {
            "null" => 0,
            digits if is_json_integer(digits) => digits.parse().ok()?,
            _ => return None,
        },
        _ => return None,
    };
    i32::try_from(number).ok().map(i64::from)
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

//! The types of fields in messages of Istio's API, and the values that Istio's decoder rejects for them.
//!
//! Source: golang/protobuf 1.5.4, `jsonpb/decode.go` (`unmarshalMessage`, `unmarshalSingularValue`).

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{NodeRef, Span};

use super::go_duration::is_duration;
use super::proto_json::{self, boolean, integer};
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
        let Some(entry) = proto_json::entry(message, field.name) else {
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

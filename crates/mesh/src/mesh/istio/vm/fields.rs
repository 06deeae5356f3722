//! The fields of a probe, in the order of the API's definition.

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A signed 32-bit integer.
    Int,
    /// A port.
    Port,
    /// A string.
    Text,
    /// A list of strings.
    Words,
    /// A list of names with values.
    Headers,
}

/// A field: its name and type.
pub(super) type Field = (&'static str, Type);

/// The fields of a `WorkloadGroup`.
pub(super) const SPEC: &[&str] = &["metadata", "template", "probe"];

/// The numeric fields of a probe.
pub(super) const NUMBERS: &[Field] = &[
    ("initialDelaySeconds", Type::Int),
    ("timeoutSeconds", Type::Int),
    ("periodSeconds", Type::Int),
    ("successThreshold", Type::Int),
    ("failureThreshold", Type::Int),
];

pub(super) const HTTP: &[Field] = &[
    ("path", Type::Text),
    ("port", Type::Port),
    ("host", Type::Text),
    ("scheme", Type::Text),
    ("httpHeaders", Type::Headers),
];

pub(super) const TCP: &[Field] = &[("host", Type::Text), ("port", Type::Port)];

pub(super) const EXEC: &[Field] = &[("command", Type::Words)];

pub(super) const GRPC: &[Field] = &[("port", Type::Port), ("service", Type::Text)];

pub(super) const HEADER: &[Field] = &[("name", Type::Text), ("value", Type::Text)];

/// Returns the other name that Istio's JSON reader accepts for a field: `http_get` for `httpGet`.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

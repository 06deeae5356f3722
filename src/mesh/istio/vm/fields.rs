//! The fields of a probe, in the order of the API's definition.

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// An integer of 32 bits with sign.
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

/// A field: its name and what it holds.
pub(super) type Field = (&'static str, Type);

/// What a `WorkloadGroup` says.
pub(super) const SPEC: &[&str] = &["metadata", "template", "probe"];

/// The numbers of a probe.
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

/// Returns the other name that Istio's JSON reader takes for a field: `httpGet` is `http_get`.
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

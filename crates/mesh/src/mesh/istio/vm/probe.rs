//! Reads a probe as Istio's JSON reader does: the last of several methods is used, zero and
//! empty values count as missing, unknown fields are dropped.
//!
//! Source: `golang/protobuf` 1.5 (`jsonpb`), through which istio.io/api 1.31 reads; measured.
//!
//! The fields of a probe, in the order of the API's definition.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, FieldPath, NodeRef, Scalar, Span, Value};

use crate::kube::integer;

/// The methods to check a machine, in the order of the definition: the last of several is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `httpGet`.
    HttpGet,
    /// `tcpSocket`.
    TcpSocket,
    /// `exec`.
    Exec,
    /// `grpc`.
    Grpc,
}

impl Method {
    /// All methods, in the order of the definition.
    pub(crate) const ALL: [Self; 4] = [Self::HttpGet, Self::TcpSocket, Self::Exec, Self::Grpc];

    /// Returns the key of the method.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::HttpGet => "httpGet",
            Self::TcpSocket => "tcpSocket",
            Self::Exec => "exec",
            Self::Grpc => "grpc",
        }
    }

    pub(super) const fn fields(self) -> &'static [Field] {
        match self {
            Self::HttpGet => HTTP,
            Self::TcpSocket => TCP,
            Self::Exec => EXEC,
            Self::Grpc => GRPC,
        }
    }
}

/// A value that Istio's reader rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableValue {
    /// The position of the value.
    pub span: Span,
    /// The route from the probe.
    pub route: FieldPath,
    /// The expected and the actual value.
    pub message: String,
}

/// Returns the entry of a field that is not null, by either of its names.
pub(super) fn field<'t>(node: NodeRef<'t>, name: &str) -> Option<Entry<'t>> {
    node.set_entry(name)
        .or_else(|| node.set_entry(&snake(name)))
}

/// Returns the methods of a probe, in the order of the definition.
#[must_use]
pub(crate) fn methods(probe: NodeRef<'_>) -> Vec<(Method, Entry<'_>)> {
    Method::ALL
        .into_iter()
        .filter_map(|method| Some((method, field(probe, method.key())?)))
        .collect()
}

/// Returns the method that is used.
#[must_use]
pub fn kept(probe: NodeRef<'_>) -> Option<(Method, Entry<'_>)> {
    methods(probe).pop()
}

/// The maximum number of values of a probe to inspect; aliases may repeat values.
const VALUES: usize = 10_000;

/// Returns a value of a probe that contains a placeholder for another tool.
#[must_use]
pub fn placeholder_value(probe: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let mut pending = vec![probe];
    for _ in 0..VALUES {
        let node = pending.pop()?;
        if node.text().is_some_and(placeholder::contains) {
            return Some(node);
        }
        pending.extend(node.entries().map(|entry| entry.value));
        pending.extend(node.items());
    }
    None
}

/// Reads a probe; zero, empty and unknown values are omitted, as in the output of istioctl.
///
/// # Errors
/// `UnreadableValue` for the first value whose type makes istioctl fail.
pub fn read(probe: NodeRef<'_>) -> Result<Value, UnreadableValue> {
    let mut found = fields(probe, NUMBERS, &FieldPath::root())?;
    // Methods that are not used must be readable, too.
    for (method, entry) in methods(probe) {
        let inner = fields(
            entry.value,
            method.fields(),
            &FieldPath::keys(&[method.key()]),
        )?;
        found.retain(|(key, _)| NUMBERS.iter().any(|(name, _)| name == key));
        found.push((method.key().to_owned(), Value::Map(inner)));
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Value::Map(found))
}

fn fields(
    node: NodeRef<'_>,
    known: &[Field],
    route: &FieldPath,
) -> Result<Vec<(String, Value)>, UnreadableValue> {
    if !node.is_mapping() {
        return Err(UnreadableValue {
            span: node.span(),
            route: route.clone(),
            message: format!("expected a mapping, found {}", type_name(node)),
        });
    }
    let mut found = Vec::new();
    for (name, kind) in known {
        let Some(entry) = field(node, name) else {
            continue;
        };
        let route = route.child(*name);
        if let Some(value) = value(entry.value, *kind, &route)? {
            found.push(((*name).to_owned(), value));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// Reads a value; `None` if it is zero or empty.
pub(super) fn value(
    node: NodeRef<'_>,
    kind: Type,
    route: &FieldPath,
) -> Result<Option<Value>, UnreadableValue> {
    let misread = |expected: &str| UnreadableValue {
        span: node.span(),
        route: route.clone(),
        message: format!("expected {expected}, found {}", type_name(node)),
    };
    match kind {
        Type::Int => {
            let number = number(node)
                .filter(|number| i32::try_from(*number).is_ok())
                .ok_or_else(|| misread("an integer"))?;
            Ok((number != 0).then_some(Value::Int(number)))
        }
        Type::Port => {
            let number = number(node).filter(|number| u32::try_from(*number).is_ok());
            let number = number.ok_or_else(|| misread("a port number"))?;
            Ok((number != 0).then_some(Value::Int(number)))
        }
        Type::Text => {
            let text = node.as_str().ok_or_else(|| misread("a string"))?;
            Ok((!text.is_empty()).then(|| Value::from(text)))
        }
        Type::Words => {
            let text = |(index, item): (usize, NodeRef<'_>)| {
                let text = value(item, Type::Text, &route.child(index))?;
                Ok(text.unwrap_or_else(|| Value::from("")))
            };
            list(node, text).ok_or_else(|| misread("a list"))?
        }
        Type::Headers => {
            let header = |(index, item): (usize, NodeRef<'_>)| {
                Ok(Value::Map(fields(item, HEADER, &route.child(index))?))
            };
            list(node, header).ok_or_else(|| misread("a list"))?
        }
    }
}

type Read = Result<Option<Value>, UnreadableValue>;

/// Reads the items of a list; `None` if the node is not a list.
fn list<'t>(
    node: NodeRef<'t>,
    read: impl Fn((usize, NodeRef<'t>)) -> Result<Value, UnreadableValue>,
) -> Option<Read> {
    if !node.is_sequence() {
        return None;
    }
    let items: Result<Vec<Value>, UnreadableValue> = node.items().enumerate().map(read).collect();
    Some(items.map(|items| (!items.is_empty()).then_some(Value::Seq(items))))
}

/// Returns a number; the reader accepts numbers in quotes, too.
pub(super) fn number(node: NodeRef<'_>) -> Option<i64> {
    match node.scalar()? {
        Scalar::Str(text) => text.parse().ok(),
        _ => integer(node),
    }
}

fn type_name(node: NodeRef<'_>) -> &'static str {
    match node.scalar() {
        Some(scalar) => scalar.type_name(),
        None if node.is_sequence() => "a list",
        None => "a mapping",
    }
}

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

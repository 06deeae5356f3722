//! Schemas of custom resources, as far as they reject objects.
//!
//! The API server removes null from mappings before it validates them, so such a field counts as absent; null in a list
//! remains. A field with `nullable: true` keeps null, which its schema accepts.
//!
//! Source: Kubernetes 1.34, `PruneNonNullableNullsWithoutDefaults` in
//! `apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go`.
//!
//! Why an object cannot be created, and who rejects it.
//!
//! The schemas of PeerAuthentications, WorkloadGroups and control planes, and of selectors.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, FieldPath, NodeRef, Scalar, Span};

use crate::kube::integer;

/// A check of a key or a text; returns what is wrong.
pub(super) type TextCheck = fn(&str) -> Option<String>;

/// What a value must be. A value is never null.
pub(super) enum Schema {
    /// A mapping with these fields; the API server drops unknown fields.
    Object {
        /// The fields.
        fields: &'static [(&'static str, Schema)],
        /// The fields that must exist.
        required: &'static [&'static str],
    },
    /// A mapping with any keys that pass the check.
    Map {
        /// Checks each key.
        key: TextCheck,
        /// The minimum number of entries.
        least: usize,
        /// What each value must be.
        value: &'static Schema,
    },
    /// A list with at most so many items.
    List(usize, &'static Schema),
    /// A string that passes the check.
    Text(TextCheck),
    /// An integer in this range.
    Integer(i64, i64),
    /// A boolean.
    Boolean,
}

/// Returns an object without required fields.
pub(super) const fn object(fields: &'static [(&'static str, Schema)]) -> Schema {
    Schema::Object {
        fields,
        required: &[],
    }
}

/// Accepts every text.
pub(super) const fn anything(_: &str) -> Option<String> {
    None
}

/// The program that reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// The API server.
    ApiServer,
    /// istioctl, with the JSON reader of golang/protobuf: null is the zero value, integers may be quoted, and only
    /// types are checked.
    Istioctl,
}

impl Schema {
    const fn expected(&self) -> &'static str {
        match self {
            Self::Object { .. } | Self::Map { .. } => "a mapping",
            Self::List(..) => "a list",
            Self::Text(_) => "a string",
            Self::Integer(..) => "an integer",
            Self::Boolean => "a boolean",
        }
    }
}

impl Reader {
    /// Returns why the program rejects a value, in the order of the fields.
    pub(super) fn rejections(
        self,
        node: NodeRef<'_>,
        schema: &'static Schema,
        route: &FieldPath,
    ) -> Vec<Rejection> {
        let mut visitor = Visitor {
            reader: self,
            found: Vec::new(),
        };
        visitor.visit(node, schema, route);
        visitor.found
    }

    fn has_type(self, node: NodeRef<'_>, schema: &Schema) -> bool {
        match schema {
            Schema::Object { .. } | Schema::Map { .. } => node.is_mapping(),
            Schema::List(..) => node.is_sequence(),
            Schema::Text(_) => node.as_str().is_some(),
            Schema::Integer(..) => self.integer(node).is_some(),
            Schema::Boolean => matches!(node.scalar(), Some(Scalar::Bool(_))),
        }
    }

    fn integer(self, node: NodeRef<'_>) -> Option<i64> {
        match (self, node.as_str()) {
            (Self::ApiServer, Some(_)) => None,
            // The field is a uint32.
            (Self::Istioctl, Some(text)) => text.parse::<u32>().ok().map(i64::from),
            (Self::Istioctl, None) => integer(node).filter(|value| u32::try_from(*value).is_ok()),
            (Self::ApiServer, None) => integer(node),
        }
    }
}

struct Visitor {
    reader: Reader,
    found: Vec<Rejection>,
}

impl Visitor {
    fn reject(&mut self, span: Span, route: &FieldPath, reason: String) {
        self.found.push(Rejection {
            by: Authority::ApiServer,
            span,
            route: route.clone(),
            reason,
        });
    }

    fn visit(&mut self, node: NodeRef<'_>, schema: &'static Schema, route: &FieldPath) {
        // Another tool fills in the value.
        if node.text().is_some_and(placeholder::contains)
            || self.reader == Reader::Istioctl && node.is_null()
        {
            return;
        }
        if !self.reader.has_type(node, schema) {
            let reason = format!("is {}, expected {}", type_name(node), schema.expected());
            return self.reject(node.span(), route, reason);
        }
        if self.reader == Reader::ApiServer
            && let Some(reason) = content_fault(node, schema)
        {
            self.reject(node.span(), route, reason);
        }
        match schema {
            Schema::Object { fields, .. } => {
                for (name, schema) in *fields {
                    if let Some(value) = node.get_set(name) {
                        self.visit(value, schema, &route.child(*name));
                    }
                }
            }
            Schema::Map { key, value, .. } => self.entries(node, *key, value, route),
            Schema::List(_, item) => {
                for (index, value) in node.items().enumerate() {
                    self.visit(value, item, &route.child(index));
                }
            }
            Schema::Text(_) | Schema::Integer(..) | Schema::Boolean => {}
        }
    }

    fn entries(
        &mut self,
        node: NodeRef<'_>,
        key: TextCheck,
        value: &'static Schema,
        route: &FieldPath,
    ) {
        for entry in set_entries(node) {
            let name = entry.key.text().unwrap_or_default();
            if placeholder::contains(name) {
                continue;
            }
            let route = route.child(name.to_owned());
            match key(name).filter(|_| self.reader == Reader::ApiServer) {
                Some(reason) => self.reject(entry.key.span(), &route, reason),
                None => self.visit(entry.value, value, &route),
            }
        }
    }
}

/// Iterates over the entries of a mapping that the API server does not remove.
fn set_entries<'t>(node: NodeRef<'t>) -> impl Iterator<Item = Entry<'t>> {
    let entries = node.effective_entries().into_iter();
    entries.filter(|entry| !entry.value.is_null())
}

/// Returns what is wrong with a value of the correct type, without the values in it.
fn content_fault(node: NodeRef<'_>, schema: &Schema) -> Option<String> {
    match schema {
        Schema::Object { required, .. } => {
            let missing = required.iter().find(|name| node.get_set(name).is_none())?;
            Some(format!("requires the field `{missing}`"))
        }
        Schema::Map { least, .. } => {
            (set_entries(node).count() < *least).then(|| "is empty".to_owned())
        }
        Schema::List(most, _) => {
            (node.items().len() > *most).then(|| format!("has more than {most} items"))
        }
        Schema::Text(check) => check(node.as_str()?),
        Schema::Integer(least, most) => {
            let is_in_range = (*least..=*most).contains(&integer(node)?);
            (!is_in_range).then(|| format!("is not a number from {least} to {most}"))
        }
        Schema::Boolean => None,
    }
}

fn type_name(node: NodeRef<'_>) -> &'static str {
    match node.scalar() {
        Some(_) if node.is_null() => "null",
        Some(scalar) => scalar.type_name(),
        None if node.is_sequence() => "a list",
        None => "a mapping",
    }
}

/// Why an object cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Who rejects the object.
    pub by: Authority,
    /// The position of the wrong key or value.
    pub span: Span,
    /// The route from the object.
    pub route: FieldPath,
    /// What is wrong, after the name of the field: "is a string, expected a mapping".
    pub reason: String,
}

/// The program that rejects an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The API server, with the schema of the custom resource.
    ApiServer,
    /// The validating webhook of istiod.
    Istiod,
}

impl Authority {
    /// Returns the name for messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiServer => "the API server",
            Self::Istiod => "istiod",
        }
    }
}

/// `spec` of a PeerAuthentication. The rule `peerauth-bad-mode` reports unknown modes.
pub(super) static PEER_AUTHENTICATION: Schema = object(&[
    ("selector", SELECTOR),
    ("mtls", MODE),
    (
        "portLevelMtls",
        Schema::Map {
            key: port_key,
            least: 1,
            value: &MODE,
        },
    ),
]);

const MODE: Schema = object(&[("mode", Schema::Text(anything))]);

/// `spec` of a WorkloadGroup; the rules of virtual machines report the probe.
pub(super) static WORKLOAD_GROUP: Schema = object(&[
    (
        "metadata",
        object(&[("labels", TEXTS), ("annotations", TEXTS)]),
    ),
    (
        "template",
        object(&[
            ("address", Schema::Text(anything)),
            ("ports", PORTS),
            ("labels", TEXTS),
            ("network", Schema::Text(anything)),
            ("locality", Schema::Text(anything)),
            ("weight", Schema::Integer(0, u32::MAX as i64)),
            ("serviceAccount", Schema::Text(anything)),
        ]),
    ),
]);

/// `spec` of a `ServiceMeshControlPlane` (`maistra.io/v2`), as far as it is read.
///
/// Source: maistra/istio-operator 2.5, `deploy/src/crd.yaml`.
pub(super) static CONTROL_PLANE: Schema = object(&[
    ("version", Schema::Text(anything)),
    (
        "security",
        object(&[
            ("controlPlane", object(&[("mtls", Schema::Boolean)])),
            (
                "dataPlane",
                object(&[("automtls", Schema::Boolean), ("mtls", Schema::Boolean)]),
            ),
        ]),
    ),
    (
        "proxy",
        object(&[("injection", object(&[("autoInject", Schema::Boolean)]))]),
    ),
    (
        "profiles",
        Schema::List(usize::MAX, &Schema::Text(anything)),
    ),
]);

const TEXTS: Schema = Schema::Map {
    key: anything,
    least: 0,
    value: &Schema::Text(anything),
};

const PORTS: Schema = Schema::Map {
    key: anything,
    least: 0,
    value: &Schema::Integer(1, 65535),
};

/// A selector of workloads.
pub(super) const SELECTOR: Schema = object(&[(
    "matchLabels",
    Schema::Map {
        key: label_key,
        least: 0,
        value: &Schema::Text(label_value),
    },
)]);

fn label_key(key: &str) -> Option<String> {
    if key.is_empty() {
        return Some("is an empty key".to_owned());
    }
    wildcard(key)
}

fn label_value(value: &str) -> Option<String> {
    let length = value.chars().count();
    let reason = format!("has {length} characters, and 63 are allowed");
    (length > 63).then_some(reason).or_else(|| wildcard(value))
}

fn wildcard(text: &str) -> Option<String> {
    let reason = "contains a wildcard, which a selector does not support";
    text.contains('*').then(|| reason.to_owned())
}

fn port_key(key: &str) -> Option<String> {
    let number: Option<i64> = key.parse().ok();
    let is_port = number.is_some_and(|number| (1..=65535).contains(&number));
    (!is_port).then(|| "is not a port from 1 to 65535".to_owned())
}

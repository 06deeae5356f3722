//! Why the API server or istiod rejects an object of Istio, for the fields that change the verdict of a probe. Other fields
//! are not checked: no other fault occurs in 3,000 public manifests and 96 repositories.
//!
//! The API server removes null from mappings before it validates them, so such a field counts as absent; null in a list
//! remains. istiod's webhook is called for objects that match the schema.
//!
//! Sources: Istio 1.31, `manifests/charts/base/files/crd-all.gen.yaml`, `ValidateAuthorizationPolicy` in
//! `pkg/config/validation/validation.go` and `pkg/config/security/security.go`; maistra/istio-operator 2.5,
//! `deploy/src/crd.yaml`; Kubernetes 1.34, `PruneNonNullableNullsWithoutDefaults` in
//! `apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go`.

use core::net::{IpAddr, Ipv6Addr};

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{FieldPath, NodeRef, Scalar, Span};

use Schema::{Boolean, Clause, Condition, Fields, Integer, List, Map, Text, Value};

use crate::kube::{Object, integer};

/// A check of a key or a text; returns what is wrong.
type Check = fn(&str) -> Option<String>;

/// What a value must be. A value is never null.
enum Schema {
    /// A mapping with these fields; the API server drops unknown fields.
    Fields(&'static [(&'static str, Self)]),
    /// A mapping with these fields, one of which must not be empty.
    Clause(&'static [(&'static str, Self)]),
    /// A condition of an AuthorizationPolicy: the key decides which values are accepted.
    Condition,
    /// A mapping whose keys pass the check.
    Map(Check, &'static Self),
    List(&'static Self),
    /// A string that the schema of the custom resource accepts.
    Text(Check),
    /// A string that is not empty, and that istiod accepts.
    Value(Check),
    /// An integer in this range.
    Integer(i64, i64),
    Boolean,
}

static PEER_AUTHENTICATION: Schema = Fields(&[
    ("selector", SELECTOR),
    ("mtls", MODE),
    ("portLevelMtls", Map(port_key, &MODE)),
]);

/// The rule `peerauth-bad-mode` reports unknown modes.
const MODE: Schema = Fields(&[("mode", ANY)]);
const SELECTOR: Schema = Fields(&[("matchLabels", Map(wildcard, &Text(wildcard)))]);
const ANY: Schema = Text(anything);

static AUTHORIZATION_POLICY: Schema = Fields(&[
    ("selector", SELECTOR),
    ("action", Text(action)),
    ("rules", List(&RULE)),
]);

const RULE: Schema = Fields(&[
    ("from", List(&Clause(&[("source", Clause(SOURCE))]))),
    ("to", List(&Clause(&[("operation", Clause(OPERATION))]))),
    ("when", List(&Condition)),
]);

const VALUES: Schema = List(&Value(anything));
const ADDRESSES: Schema = List(&Value(address));
const PORTS: Schema = List(&Value(port));

const SOURCE: &[(&str, Schema)] = &[
    ("principals", VALUES),
    ("notPrincipals", VALUES),
    ("requestPrincipals", VALUES),
    ("notRequestPrincipals", VALUES),
    ("namespaces", VALUES),
    ("notNamespaces", VALUES),
    ("ipBlocks", ADDRESSES),
    ("notIpBlocks", ADDRESSES),
    ("remoteIpBlocks", ADDRESSES),
    ("notRemoteIpBlocks", ADDRESSES),
    ("serviceAccounts", VALUES),
    ("notServiceAccounts", VALUES),
    ("trustDomains", VALUES),
    ("notTrustDomains", VALUES),
];
const OPERATION: &[(&str, Schema)] = &[
    ("hosts", VALUES),
    ("notHosts", VALUES),
    ("ports", PORTS),
    ("notPorts", PORTS),
    ("methods", VALUES),
    ("notMethods", VALUES),
    ("paths", VALUES),
    ("notPaths", VALUES),
];
/// The rules of virtual machines report the probe.
static WORKLOAD_GROUP: Schema = Fields(&[
    (
        "metadata",
        Fields(&[("labels", TEXTS), ("annotations", TEXTS)]),
    ),
    (
        "template",
        Fields(&[
            ("address", ANY),
            ("ports", Map(anything, &Integer(1, 65535))),
            ("labels", TEXTS),
            ("network", ANY),
            ("locality", ANY),
            ("weight", Integer(0, u32::MAX as i64)),
            ("serviceAccount", ANY),
        ]),
    ),
]);
const TEXTS: Schema = Map(anything, &ANY);

static CONTROL_PLANE: Schema = Fields(&[
    ("version", ANY),
    (
        "security",
        Fields(&[
            ("controlPlane", Fields(&[("mtls", Boolean)])),
            (
                "dataPlane",
                Fields(&[("automtls", Boolean), ("mtls", Boolean)]),
            ),
        ]),
    ),
    (
        "proxy",
        Fields(&[("injection", Fields(&[("autoInject", Boolean)]))]),
    ),
    ("profiles", List(&ANY)),
]);

fn anything(_: &str) -> Option<String> {
    None
}

fn action(action: &str) -> Option<String> {
    let is_known = ["ALLOW", "DENY", "AUDIT", "CUSTOM"].contains(&action);
    (!is_known).then(|| format!("is `{action}`, expected ALLOW, DENY, AUDIT or CUSTOM"))
}

fn wildcard(text: &str) -> Option<String> {
    let reason = "contains a wildcard, which a selector does not support";
    text.contains('*').then(|| reason.to_owned())
}

fn port_key(key: &str) -> Option<String> {
    let is_port = key.parse().is_ok_and(|port: u16| port > 0);
    (!is_port).then(|| "is not a port from 1 to 65535".to_owned())
}

/// 0 is accepted.
fn port(text: &str) -> Option<String> {
    let is_port = text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok();
    (!is_port).then(|| "is not a port number".to_owned())
}

fn address(text: &str) -> Option<String> {
    let is_valid = match text.split_once('/') {
        Some((address, bits)) => address.parse().is_ok_and(|address: IpAddr| {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let is_number = bits == "0" || !bits.starts_with(['0', '+']);
            is_number && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
        }),
        // An address of IPv6 may have a zone.
        None => match text.split_once('%') {
            Some((address, zone)) => address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty(),
            None => text.parse::<IpAddr>().is_ok(),
        },
    };
    (!is_valid).then(|| "is not an IP address or a CIDR range".to_owned())
}

/// Checks the key of a condition.
fn attribute(key: &str) -> Option<String> {
    const KEYS: [&str; 12] = [
        "source.ip",
        "remote.ip",
        "source.namespace",
        "source.principal",
        "source.serviceAccount",
        "source.trustDomain",
        "request.auth.principal",
        "request.auth.audiences",
        "request.auth.presenter",
        "destination.ip",
        "destination.port",
        "connection.sni",
    ];
    const MAPS: [&str; 3] = [
        "request.headers",
        "request.auth.claims",
        "experimental.envoy.filters.",
    ];
    if KEYS.contains(&key) {
        return None;
    }
    if !MAPS.iter().any(|map| key.starts_with(map)) {
        return Some(format!("is `{key}`, which is not a known attribute"));
    }
    let (map, rest) = key.split_once('[').unwrap_or((key, ""));
    let is_named = rest.len() > 1 && rest.ends_with(']');
    (!is_named).then(|| format!("is `{key}`, expected `{map}[NAME]`"))
}

/// Why an object cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The program that rejects the object.
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

/// Returns why a PeerAuthentication cannot be created, in the order of its fields. A mode that does not exist and ports
/// without a selector are reported by rules of their own.
#[must_use]
pub fn peer_authentication(policy: &Object<'_>) -> Vec<Rejection> {
    rejections(policy, &PEER_AUTHENTICATION)
}

/// Returns why an AuthorizationPolicy cannot be created.
#[must_use]
pub fn authorization_policy(policy: &Object<'_>) -> Vec<Rejection> {
    let mut found = rejections(policy, &AUTHORIZATION_POLICY);
    let spec = policy.node.get_set("spec");
    let action = spec.and_then(|spec| spec.get_set("action"));
    let is_without_rules = || {
        let rules = spec.and_then(|spec| spec.get_set("rules"));
        rules.is_none_or(|rules| rules.is_sequence() && rules.items().len() == 0)
    };
    if let Some(action) = action
        && let Some(name @ ("DENY" | "CUSTOM")) = action.text()
        && is_without_rules()
    {
        found.push(Rejection {
            by: Authority::Istiod,
            span: action.span(),
            route: FieldPath::keys(&["spec"]),
            reason: format!("has action {name} and requires `rules`"),
        });
    }
    if found.iter().any(|found| found.by == Authority::ApiServer) {
        found.retain(|found| found.by == Authority::ApiServer);
    }
    found
}

/// Returns whether an object is a control plane of OpenShift Service Mesh 2.
pub fn is_control_plane(object: &Object<'_>) -> bool {
    object.kind == "ServiceMeshControlPlane" && object.api_version == "maistra.io/v2"
}

/// Returns why a control plane of OpenShift Service Mesh 2 cannot be created, in the order of its fields.
#[must_use]
pub fn control_plane(plane: &Object<'_>) -> Vec<Rejection> {
    rejections(plane, &CONTROL_PLANE)
}

/// Returns why a WorkloadGroup cannot be created because of its metadata or its template.
#[must_use]
pub(crate) fn workload_template(group: &Object<'_>) -> Vec<Rejection> {
    rejections(group, &WORKLOAD_GROUP)
}

fn rejections(object: &Object<'_>, schema: &'static Schema) -> Vec<Rejection> {
    let mut found = Vec::new();
    if let Some(spec) = object.node.get_set("spec") {
        visit(spec, schema, &FieldPath::keys(&["spec"]), &mut found);
    }
    found
}

fn visit(
    node: NodeRef<'_>,
    schema: &'static Schema,
    route: &FieldPath,
    found: &mut Vec<Rejection>,
) {
    // Another tool fills in the value.
    if node.text().is_some_and(placeholder::contains) {
        return;
    }
    let rejection = |by, span, reason| Rejection {
        by,
        span,
        route: route.clone(),
        reason,
    };
    if let Some(expected) = schema.expected_instead_of(node) {
        let reason = format!("is {}, expected {expected}", type_name(node));
        return found.push(rejection(Authority::ApiServer, node.span(), reason));
    }
    match schema {
        Fields(fields) | Clause(fields) => {
            let values = || {
                let values = fields
                    .iter()
                    .map(|(name, schema)| (name, node.get_set(name), schema));
                values.filter_map(|(name, value, schema)| Some((name, value?, schema)))
            };
            let is_empty = |value: NodeRef<'_>| value.is_sequence() && value.items().len() == 0;
            if matches!(schema, Clause(_)) && values().all(|(_, value, _)| is_empty(value)) {
                let reason = "contains no condition that is not empty".to_owned();
                found.push(rejection(Authority::Istiod, node.span(), reason));
            }
            for (name, value, schema) in values() {
                visit(value, schema, &route.child(*name), found);
            }
        }
        Condition => condition(node, route, found),
        Map(check, schema) => {
            for entry in node.effective_entries() {
                let name = entry.key.text().unwrap_or_default();
                if entry.value.is_null() || placeholder::contains(name) {
                    continue;
                }
                let route = route.child(name.to_owned());
                match check(name) {
                    Some(reason) => found.push(Rejection {
                        by: Authority::ApiServer,
                        span: entry.key.span(),
                        route,
                        reason,
                    }),
                    None => visit(entry.value, schema, &route, found),
                }
            }
        }
        List(schema) => {
            for (index, item) in node.items().enumerate() {
                visit(item, schema, &route.child(index), found);
            }
        }
        Text(check) => {
            if let Some(reason) = node.as_str().and_then(check) {
                found.push(rejection(Authority::ApiServer, node.span(), reason));
            }
        }
        Value(check) => {
            let fault = |text: &str| match text {
                "" => Some("is empty".to_owned()),
                text => check(text),
            };
            if let Some(reason) = node.as_str().and_then(fault) {
                found.push(rejection(Authority::Istiod, node.span(), reason));
            }
        }
        Integer(least, most) => {
            if integer(node).is_some_and(|value| !(*least..=*most).contains(&value)) {
                let reason = format!("is not a number from {least} to {most}");
                found.push(rejection(Authority::ApiServer, node.span(), reason));
            }
        }
        Boolean => {}
    }
}

/// Checks a condition: the schema requires its key, and istiod validates its lists.
fn condition(node: NodeRef<'_>, route: &FieldPath, found: &mut Vec<Rejection>) {
    let mut reject = |by, reason: &str| {
        found.push(Rejection {
            by,
            span: node.span(),
            route: route.clone(),
            reason: reason.to_owned(),
        });
    };
    let Some(key) = node.get_set("key") else {
        return reject(Authority::ApiServer, "requires the field `key`");
    };
    // The key decides what the values must be.
    if key.text().is_some_and(placeholder::contains) {
        return;
    }
    let lists = ["values", "notValues"].map(|list| (list, node.get_set(list)));
    let is_empty = |list: NodeRef<'_>| list.is_sequence() && list.items().len() == 0;
    if lists.iter().all(|(_, list)| list.is_none_or(is_empty)) {
        return reject(Authority::Istiod, "requires `values` or `notValues`");
    }
    let values = match key.text() {
        Some("destination.port") => &PORTS,
        Some("source.ip" | "remote.ip" | "destination.ip") => &ADDRESSES,
        _ => &VALUES,
    };
    visit(key, &Value(attribute), &route.child("key"), found);
    for (list, node) in lists {
        if let Some(node) = node {
            visit(node, values, &route.child(list), found);
        }
    }
}

impl Schema {
    /// Returns the expected type if a node has another one.
    fn expected_instead_of(&self, node: NodeRef<'_>) -> Option<&'static str> {
        let (has_type, expected) = match self {
            Fields(_) | Clause(_) | Condition | Map(..) => (node.is_mapping(), "a mapping"),
            List(_) => (node.is_sequence(), "a list"),
            Text(_) | Value(_) => (node.as_str().is_some(), "a string"),
            Integer(..) => {
                let is_text = node.as_str().is_some();
                (!is_text && integer(node).is_some(), "an integer")
            }
            Boolean => (matches!(node.scalar(), Some(Scalar::Bool(_))), "a boolean"),
        };
        (!has_type).then_some(expected)
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

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_and_networks_are_read() {
        for valid in [
            "10.0.0.1",
            "10.1.2.3/8",
            "0.0.0.0/0",
            "::1",
            "fe80::1%eth0",
            "fd00::/64",
        ] {
            assert_eq!(address(valid), None, "{valid}");
        }
        for invalid in [
            "",
            "*",
            "10.0.0",
            "010.0.0.1",
            "10.0.0.0/33",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "10.0.0.1%eth0",
            "fe80::1%",
        ] {
            assert!(address(invalid).is_some(), "{invalid}");
        }
    }
}

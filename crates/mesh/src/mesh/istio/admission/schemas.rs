//! The schemas of PeerAuthentications, WorkloadGroups and control planes, and of selectors.

use super::schema::{Schema, anything, object};

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

//! The labels and annotations of OSM, with what editors offer for each.

use crate::kube::Slot;
use crate::mesh::description::KeyMap::{Annotations, Labels};
use crate::mesh::description::KeyOwner::{Namespace, Pod};
use crate::mesh::description::KnownKey;

/// Volume of an injected pod, by which the webhook recognizes pods that it has already processed.
pub(crate) const BOOTSTRAP_VOLUME: &str = "envoy-bootstrap-config-volume";
/// The container that performs the checks of `tcpSocket` probes.
pub(crate) const HEALTHCHECK_CONTAINER: &str = "osm-healthcheck";
/// Its image in v1.2.4; the injector takes it from its own environment.
pub(crate) const HEALTHCHECK_IMAGE: &str = "openservicemesh/osm-healthcheck:v1.2.4";
/// Its port.
pub const HEALTHCHECK_PORT: i64 = 15904;
/// The path on which it serves requests.
pub(crate) const HEALTHCHECK_PATH: &str = "/osm-healthcheck";
/// The header with the port to check.
pub(crate) const TCP_PORT_HEADER: &str = "Original-Tcp-Port";
/// The name of the proxy container.
pub(crate) const ENVOY_CONTAINER: &str = "envoy";
/// Label of a Namespace that is monitored by a mesh of this name.
pub const MONITORED: &str = "openservicemesh.io/monitored-by";
/// Label of a Namespace that the webhook must ignore.
pub(crate) const IGNORE: &str = "openservicemesh.io/ignore";
/// Annotation of pods and Namespaces that switches injection on or off.
pub const INJECTION: &str = "openservicemesh.io/sidecar-injection";
/// Annotation of pods with the ports that are excluded from traffic capture.
pub(crate) const EXCLUDED_PORTS: &str = "openservicemesh.io/inbound-port-exclusion-list";

/// The ports of the proxy and their purposes.
pub(super) const PORTS: [(i64, &str); 7] = [
    (15000, "the administration of Envoy"),
    (15003, "inbound traffic"),
    (15010, "metrics"),
    (15901, "liveness probes"),
    (15902, "readiness probes"),
    (15903, "startup probes"),
    (HEALTHCHECK_PORT, "tcpSocket probes"),
];

/// Returns the listener port for probes of a kind; hooks have none.
#[must_use]
pub(crate) const fn listener_port(slot: Slot) -> Option<i64> {
    match slot {
        Slot::Liveness => Some(15901),
        Slot::Readiness => Some(15902),
        Slot::Startup => Some(15903),
        Slot::PostStart | Slot::PreStop => None,
    }
}

/// Returns the name of a kind of probe in paths, listeners and clusters.
#[must_use]
pub(crate) const fn probe_kind(slot: Slot) -> &'static str {
    match slot {
        Slot::Liveness => "liveness",
        Slot::Readiness => "readiness",
        _ => "startup",
    }
}

/// Returns whether any release of OSM uses a path for rewritten probes.
#[must_use]
pub(crate) fn is_own_path(path: &str) -> bool {
    let kinds = [Slot::Liveness, Slot::Readiness, Slot::Startup];
    let is_kind = |slot: &Slot| {
        let rest = path.strip_prefix(&format!("/osm-{}-probe", probe_kind(*slot)));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path == HEALTHCHECK_PATH || kinds.iter().any(is_kind)
}

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: MONITORED,
        map: Labels,
        owners: &[Namespace],
        values: &[],
        meaning: "Names the mesh that monitors the namespace.",
        rules: &[],
    },
    KnownKey {
        name: IGNORE,
        map: Labels,
        owners: &[Namespace],
        values: &["true"],
        meaning: "Keeps the webhook from injecting the pods of the namespace.",
        rules: &[],
    },
    KnownKey {
        name: INJECTION,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the sidecar on or off.",
        rules: &["osm-annotation-value"],
    },
    KnownKey {
        name: EXCLUDED_PORTS,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports whose inbound traffic the sidecar does not capture.",
        rules: &["osm-annotation-value"],
    },
];

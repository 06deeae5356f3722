//! The labels and annotations of OSM, with what editors offer for each.

use crate::kube::Slot;
use crate::mesh::description::{KnownKey, known_keys};

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

pub(super) static KEYS: &[KnownKey] = known_keys! {
    MONITORED, Labels of Namespace, &[], [],
        "Names the mesh that monitors the namespace.";
    IGNORE, Labels of Namespace, &["true"], [],
        "Keeps the webhook from injecting the pods of the namespace.";
    INJECTION, Annotations of Pod Namespace, &["enabled", "disabled"], ["osm-annotation-value"],
        "Switches the injection of the sidecar on or off.";
    EXCLUDED_PORTS, Annotations of Pod, &[], ["osm-annotation-value"],
        "Lists the ports whose inbound traffic the sidecar does not capture.";
};

/// The ways in which Open Service Mesh breaks a handler.
pub mod faults {
    crate::mesh::fault::faults! {
        /// A probe of the same kind in another container is checked instead.
        ANSWERED_BY_OTHER: ChecksOther at Proxy, "a probe of another container is checked instead";
        /// A probe of the same kind in another container removes its listener.
        LISTENER_TAKEN: Fails at Proxy, "a probe of another container removes its listener";
        /// A probe of the same kind in another container removes the helper.
        HELPER_TAKEN: Fails at Helper, "a probe of another container removes the helper";
        /// Only one of several HTTPS probes of a kind is forwarded.
        TLS_ANSWERED_BY_OTHER: ChecksOther at Proxy, "an HTTPS probe of another container is checked instead";
        /// HTTP and HTTPS probes of a kind share one listener, which supports only one of them.
        TLS_MIXED: Fails at Proxy, "HTTP and HTTPS share one listener, which supports only one of them";
        /// The rewrite drops `tcpSocket.host`.
        HOST_LOST: ChecksOther at Helper, "the pod itself is checked instead of `host`";
        /// The handler targets a listener of the proxy, which would send requests to itself.
        TARGETS_ITSELF: Fails at Proxy, "already targets the proxy, which would send requests to itself without end";
        /// The handler targets a proxy that does not exist.
        WITHOUT_PROXY: Fails at Proxy, "targets a proxy that does not exist";
        /// The pod has the proxy, but the probe does not target it.
        NOT_CHANGED: Fails at Proxy, "the pod has the proxy, but the probe was not rewritten";
        /// The probe targets the proxy, which has no listener for it.
        NO_LISTENER: Fails at Proxy, "targets the proxy, which has no listener for it";
        /// The probe targets the helper, which does not exist or does not get the port.
        NO_HELPER: Fails at Helper, "targets the helper, which cannot perform the check";
        /// The webhook drops `restartPolicy`: the init containers of the pod never complete.
        NEVER_STARTS: Fails at Webhook, "the webhook drops `restartPolicy`: the pod never starts";
    }
}

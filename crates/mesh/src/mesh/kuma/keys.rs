//! The labels and annotations of Kuma, with what editors offer for each.

use crate::mesh::description::{KnownKey, known_keys};

/// Label of pods and Namespaces that switches injection on or off; before 2.2 also an annotation.
pub const INJECTION: &str = "kuma.io/sidecar-injection";
/// Annotation with the port of the probe proxy; 0 switches it off.
pub const PROXY_PORT: &str = "kuma.io/application-probe-proxy-port";
/// Annotation that makes a pod a gateway.
pub const GATEWAY: &str = "kuma.io/gateway";
/// Annotation with variables for the sidecar.
pub const SIDECAR_ENV: &str = "kuma.io/sidecar-env-vars";
/// Annotation that switches virtual probes on or off (up to 2.14).
pub const VIRTUAL_PROBES: &str = "kuma.io/virtual-probes";
/// Annotation with the port of virtual probes.
pub const VIRTUAL_PORT: &str = "kuma.io/virtual-probes-port";
/// Annotation with ports that are excluded from traffic capture.
pub const EXCLUDED_PORTS: &str = "traffic.kuma.io/exclude-inbound-ports";
/// The name of the sidecar container.
pub(crate) const SIDECAR: &str = "kuma-sidecar";

/// Variable of the sidecar with the port of its probe proxy.
pub(super) const PORT_ENV: &str = "KUMA_APPLICATION_PROBE_PROXY_PORT";
/// The default port of the probe proxy.
pub(super) const DEFAULT_PORT: i64 = 9001;

pub(super) static KEYS: &[KnownKey] = known_keys! {
    INJECTION, Labels of Pod Namespace, &["enabled", "disabled"], ["kuma-label-not-annotation"],
        "Switches the injection of the sidecar on or off. As an annotation it has no effect since Kuma 2.2.";
    PROXY_PORT, Annotations of Pod, &[], ["kuma-probe-port-unprotected"],
        "Sets the port of the probe proxy; 9001 by default. With 0, probes are not rewritten.";
    GATEWAY, Annotations of Pod, &["enabled"], ["kuma-gateway-annotation-false"],
        "Makes the pod a gateway, whose probes are not rewritten.";
    SIDECAR_ENV, Annotations of Pod, &[], [],
        "Sets variables of the sidecar.";
    VIRTUAL_PROBES, Annotations of Pod, &["enabled", "disabled"], [],
        "Switches virtual probes on or off, up to Kuma 2.14.";
    VIRTUAL_PORT, Annotations of Pod, &[], [],
        "Sets the port of virtual probes.";
    EXCLUDED_PORTS, Annotations of Pod, &[], [],
        "Lists the ports whose inbound traffic the sidecar does not capture, separated by commas.";
};

/// The ways in which Kuma breaks a handler.
pub mod faults {
    crate::mesh::fault::faults! {
        /// The mesh sends the request to the application with another `Host` header.
        HOST_HEADER_LOST: ChecksOther at Helper, "the application receives the request without the `Host` header";
        /// The mesh sends the request to the pod itself instead of `httpGet.host`.
        HTTP_HOST_LOST: ChecksOther at Helper, "the pod itself receives the request instead of `host`";
        /// The probe targets the agent, which is switched off.
        AGENT_OFF: Fails at Helper, "targets an agent that is switched off";
        /// The webhook rejects the pod because of the port of the probe.
        POD_REFUSED: Fails at Webhook, "the webhook rejects the pod because of the port of the probe";
        /// The webhook does not rewrite probes of native sidecars.
        SIDECAR_LEFT: Fails at Proxy, "the webhook does not rewrite probes of native sidecars";
    }
}

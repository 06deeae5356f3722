//! Names and numbers that Kuma defines.

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

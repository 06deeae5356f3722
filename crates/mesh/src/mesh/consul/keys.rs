//! The labels and annotations of Consul, with what editors offer for each.

use crate::mesh::description::{KnownKey, known_keys};

/// Annotation of pods that enables injection.
pub(crate) const INJECT: &str = "consul.hashicorp.com/connect-inject";
/// Annotation of pods that the webhook has processed.
pub const STATUS: &str = "consul.hashicorp.com/connect-inject-status";
/// Annotation of pods with the names of their services.
pub const SERVICE: &str = "consul.hashicorp.com/connect-service";
/// Annotation of pods with the ports of their services: numbers or names.
pub const SERVICE_PORT: &str = "consul.hashicorp.com/connect-service-port";
/// Annotation of pods with the port of their metrics, instead of that of their service.
pub(crate) const METRICS_PORT: &str = "consul.hashicorp.com/service-metrics-port";
/// Annotation of pods and label of Namespaces that switches traffic capture.
pub const TRANSPARENT: &str = "consul.hashicorp.com/transparent-proxy";
/// Annotation of pods that switches the rewrite of probes.
pub const OVERWRITE: &str = "consul.hashicorp.com/transparent-proxy-overwrite-probes";
/// Annotation of pods with ports that are excluded from traffic capture.
pub(crate) const EXCLUDED_PORTS: &str =
    "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports";
/// Annotations of pods that the webhook reads as booleans, if they are not empty.
pub(crate) const SWITCHES: [&str; 4] = [
    "consul.hashicorp.com/enable-metrics",
    "consul.hashicorp.com/enable-metrics-merging",
    LIFECYCLE,
    AS_SIDECAR,
];
/// Annotation of pods that switches the management of the proxy's life cycle (since 1.3).
pub(crate) const LIFECYCLE: &str = "consul.hashicorp.com/enable-sidecar-proxy-lifecycle";
/// Annotation of pods that makes the proxy a native sidecar (since 1.9).
pub(crate) const AS_SIDECAR: &str = "consul.hashicorp.com/enable-consul-dataplane-as-sidecar";
/// Annotation of pods with the number of threads of the proxy.
pub const CONCURRENCY: &str = "consul.hashicorp.com/consul-envoy-proxy-concurrency";
/// The user of the proxy.
pub(crate) const USER: i64 = 5995;
/// The name of the proxy container.
pub(crate) const DATAPLANE: &str = "consul-dataplane";
/// The name of the init container.
pub(crate) const INIT: &str = "consul-connect-inject-init";

pub(super) static KEYS: &[KnownKey] = known_keys! {
    INJECT, Annotations of Pod, &["true", "false"], [],
        "Switches the injection of the proxy on or off.";
    SERVICE, Annotations of Pod, &[], ["consul-multiport-tproxy"],
        "Names the services of the pod.";
    SERVICE_PORT, Annotations of Pod, &[], ["consul-port-name-shared"],
        "Lists the ports of the services of the pod: numbers or names.";
    METRICS_PORT, Annotations of Pod, &[], [],
        "Sets the port of the metrics, instead of that of the service.";
    TRANSPARENT, Annotations of Pod, &["true", "false"], [],
        "Switches the capture of traffic on or off.";
    TRANSPARENT, Labels of Namespace, &["true", "false"], [],
        "Switches the capture of traffic of the pods of the namespace on or off.";
    OVERWRITE, Annotations of Pod, &["true", "false"], ["consul-probe-not-rewritten"],
        "Switches the rewrite of probes on or off.";
    EXCLUDED_PORTS, Annotations of Pod, &[], [],
        "Lists the ports whose inbound traffic the proxy does not capture.";
    LIFECYCLE, Annotations of Pod, &["true", "false"], [],
        "Switches the management of the proxy's life cycle on or off, since consul-k8s 1.3.";
    AS_SIDECAR, Annotations of Pod, &["true", "false"], [],
        "Makes the proxy a native sidecar, since consul-k8s 1.9.";
};

/// The ways in which Consul breaks a handler.
pub mod faults {
    crate::mesh::fault::faults! {
        /// HTTP in plain text to a port with mutual TLS: the mesh did not rewrite the probe.
        PLAIN_AT_MTLS: Fails at Proxy, "plain text to a port that requires mutual TLS";
        /// The mesh resolves the port name to the port of another container.
        PORT_NAME_OF_OTHER_CONTAINER: ChecksOther at Proxy, "the port name refers to the port of another container";
        /// The path is exposed literally, including its query.
        QUERY_IN_PATH: Fails at Proxy, "the path is exposed literally, including its query";
    }
}

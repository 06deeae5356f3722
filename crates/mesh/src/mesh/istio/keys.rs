//! Names of Istio's labels, annotations, containers and ports.
//!
//! Source: `istio.io/api/annotation/annotations.gen.go`, `istio.io/api/label/labels.gen.go`,
//! `pilot/cmd/pilot-agent/status/server.go`.

use core::net::{IpAddr, Ipv4Addr};

/// Pod annotation that switches the probe rewrite on or off.
pub const REWRITE_PROBERS: &str = "sidecar.istio.io/rewriteAppHTTPProbers";
/// Pod label (1.12+) and annotation that decides about injection.
pub const INJECT: &str = "sidecar.istio.io/inject";
/// Namespace label that switches injection on (`enabled`) or off.
pub const NAMESPACE_INJECTION: &str = "istio-injection";
/// Namespace and pod label that names a revision.
pub const REVISION: &str = "istio.io/rev";
/// Label of a webhook configuration that names a tag of a revision.
pub(crate) const TAG: &str = "istio.io/tag";
/// Namespace and pod label that puts pods into the ambient mesh.
pub const DATAPLANE_MODE: &str = "istio.io/dataplane-mode";
/// Pod annotation that names the injection templates.
pub const TEMPLATES: &str = "inject.istio.io/templates";
/// Pod annotation written by the injector.
pub const STATUS: &str = "sidecar.istio.io/status";
/// Pod annotation with the proxy's configuration as YAML.
pub const PROXY_CONFIG: &str = "proxy.istio.io/config";
/// Pod annotation with the port of the agent's status server.
pub const STATUS_PORT: &str = "status.sidecar.istio.io/port";
/// Pod annotation with the ports to capture.
pub const INCLUDE_INBOUND_PORTS: &str = "traffic.sidecar.istio.io/includeInboundPorts";
/// Pod annotation with the ports not to capture.
pub const EXCLUDE_INBOUND_PORTS: &str = "traffic.sidecar.istio.io/excludeInboundPorts";
/// Pod annotation with the ports of other hosts not to capture.
pub const EXCLUDE_OUTBOUND_PORTS: &str = "traffic.sidecar.istio.io/excludeOutboundPorts";
/// Pod annotation with the address ranges to capture.
pub const INCLUDE_OUTBOUND_RANGES: &str = "traffic.sidecar.istio.io/includeOutboundIPRanges";
/// Pod annotation with the address ranges not to capture.
pub const EXCLUDE_OUTBOUND_RANGES: &str = "traffic.sidecar.istio.io/excludeOutboundIPRanges";
/// Pod annotation that switches the merging of metrics on or off.
pub const MERGE_METRICS: &str = "prometheus.istio.io/merge-metrics";
/// Pod annotation that switches native sidecars on or off (1.24+).
pub const NATIVE_SIDECAR: &str = "sidecar.istio.io/nativeSidecar";
/// Pod annotation with the interception mode.
pub const INTERCEPTION_MODE: &str = "sidecar.istio.io/interceptionMode";
/// Pod label that the injector sets: evidence of an injected pod.
pub const TLS_MODE: &str = "security.istio.io/tlsMode";
/// Pod annotation that excludes inbound traffic of an ambient pod from ztunnel (1.23+).
pub const BYPASS_INBOUND: &str = "ambient.istio.io/bypass-inbound-capture";
/// Port on which ambient pods receive the traffic of the mesh (HBONE).
pub const HBONE_PORT: i64 = 15008;
/// The name of the sidecar container.
pub const PROXY_CONTAINER: &str = "istio-proxy";
/// The name of the container that sets up traffic capture.
pub const INIT_CONTAINER: &str = "istio-init";
/// The name of the container that waits for the CNI plugin to set up traffic capture.
pub const VALIDATION_CONTAINER: &str = "istio-validation";
/// Env variable of the sidecar that contains the original probes.
pub const PROBERS_ENV: &str = "ISTIO_KUBE_APP_PROBERS";
/// Env variable of the agent that makes it send requests to the application on 127.0.0.1, as before 1.10.
pub(crate) const LOCALHOST_PROBES: &str = "REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION";
/// Port of the agent's status server unless configured otherwise.
pub const DEFAULT_STATUS_PORT: u16 = 15020;
/// Namespace of the control plane unless configured otherwise.
pub const DEFAULT_ROOT_NAMESPACE: &str = "istio-system";

/// Namespaces that are never injected (`pkg/kube/inject/initializer.go`).
pub const SYSTEM_NAMESPACES: [&str; 4] = [
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "local-path-storage",
];

/// The address of the kubelet's probes in ambient mode (`HOST_PROBE_SNAT_IP`,
/// `cni/pkg/config/config.go`, since 1.21).
pub const HOST_PROBE_SNAT: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 7, 127));

//! The labels and annotations of Istio that users write.

use super::keys;
use crate::mesh::description::{KnownKey, known_keys};

pub(super) static KEYS: &[KnownKey] = known_keys! {
    keys::REWRITE_PROBERS, Annotations of Pod, &["true", "false"], ["annotation-bad-boolean", "strict-probe-not-rewritten"],
        "Switches the rewrite of probes on or off: the kubelet sends rewritten probes to the agent, which passes them on without mutual TLS.";
    keys::INJECT, Labels of Pod, &["true", "false"], ["inject-label-invalid", "inject-label-blocked-by-namespace"],
        "Switches the injection of the sidecar on or off, since Istio 1.12.";
    keys::INJECT, Annotations of Pod, &["true", "false"], ["inject-annotation-never-seen", "inject-value-changed-in-1-27"],
        "Switches the injection of the sidecar on or off. The label of the same name takes precedence.";
    keys::NAMESPACE_INJECTION, Labels of Namespace, &["enabled", "disabled"], ["namespace-two-injection-labels"],
        "Switches the injection of the sidecar into the pods of the namespace on or off.";
    keys::REVISION, Labels of Pod Namespace, &[], ["revision-not-installed", "rev-label-with-disabled-inject"],
        "Names the revision, or the tag of a revision, of the control plane that injects the pods.";
    keys::DATAPLANE_MODE, Labels of Pod Namespace, &["ambient", "none"], ["ambient-and-injection-labels"],
        "Puts pods into the ambient mesh, or keeps them out of it.";
    keys::TEMPLATES, Annotations of Pod, TEMPLATES, ["injection-template-unknown", "proxyless-template-no-rewrite"],
        "Names the injection templates, separated by commas. Templates for gateways and for gRPC without a proxy do not rewrite probes.";
    keys::PROXY_CONFIG, Annotations of Pod, &[], ["proxy-config-invalid", "status-port-per-pod-proxyconfig"],
        "Contains the configuration of the proxy of the pod, as YAML.";
    keys::STATUS_PORT, Annotations of Pod, &[], ["status-port-invalid", "status-port-zero"],
        "Sets the port on which the agent answers probes; 15020 by default. With 0, probes are not rewritten.";
    keys::INCLUDE_INBOUND_PORTS, Annotations of Pod, &["*"], ["exclude-ignored-with-include-list", "status-port-in-include-list"],
        "Lists the ports whose inbound traffic the sidecar captures, separated by commas.";
    keys::EXCLUDE_INBOUND_PORTS, Annotations of Pod, &[], ["exclude-ignored-with-include-list", "probe-port-excluded-cleartext"],
        "Lists the ports whose inbound traffic the sidecar does not capture, separated by commas.";
    keys::EXCLUDE_OUTBOUND_PORTS, Annotations of Pod, &[], ["invalid-traffic-annotation"],
        "Lists the ports of other hosts whose traffic the sidecar does not capture, separated by commas.";
    keys::INCLUDE_OUTBOUND_RANGES, Annotations of Pod, &["*"], ["invalid-traffic-annotation"],
        "Lists the address ranges whose outbound traffic the sidecar captures, separated by commas.";
    keys::EXCLUDE_OUTBOUND_RANGES, Annotations of Pod, &[], ["invalid-traffic-annotation"],
        "Lists the address ranges whose outbound traffic the sidecar does not capture, separated by commas.";
    keys::MERGE_METRICS, Annotations of Pod, &["true", "false"], ["prometheus-port-refused"],
        "Switches the merging of the metrics of the application and of the sidecar on or off.";
    keys::NATIVE_SIDECAR, Annotations of Pod, &["true", "false"], ["native-sidecar-startup-deadlock"],
        "Makes the sidecar an init container that is always restarted, since Istio 1.24.";
    keys::INTERCEPTION_MODE, Annotations of Pod, &["REDIRECT", "TPROXY", "NONE"], ["interception-none-no-ingress"],
        "Selects how traffic reaches the sidecar. With NONE, it captures no traffic.";
    keys::BYPASS_INBOUND, Annotations of Pod, &["true", "false"], ["ambient-inbound-bypass"],
        "Excludes the inbound traffic of an ambient pod from ztunnel, since Istio 1.23.";
};

/// Every annotation and label that Istio knows, sorted.
pub const KNOWN: &[&str] = &[
    "alpha.istio.io/canonical-serviceaccounts",
    "alpha.istio.io/kubernetes-serviceaccounts",
    "ambient.istio.io/bypass-inbound-capture",
    "ambient.istio.io/dns-capture",
    "ambient.istio.io/redirection",
    "ambient.istio.io/waypoint-inbound-binding",
    "galley.istio.io/analyze-suppress",
    "gateway.istio.io/controller-version",
    "gateway.istio.io/managed",
    "gateway.istio.io/name-override",
    "gateway.istio.io/service-account",
    "inject.istio.io/templates",
    "istio.io/autoRegistrationGroup",
    "istio.io/connectedAt",
    "istio.io/dataplane-mode",
    "istio.io/disconnectedAt",
    "istio.io/dry-run",
    "istio.io/ingress-use-waypoint",
    "istio.io/reroute-virtual-interfaces",
    "istio.io/rev",
    "istio.io/tag",
    "istio.io/use-waypoint",
    "istio.io/use-waypoint-canary",
    "istio.io/use-waypoint-canary-namespace",
    "istio.io/use-waypoint-canary-weight",
    "istio.io/use-waypoint-namespace",
    "istio.io/waypoint-for",
    "istio.io/workloadController",
    "networking.istio.io/enable-autoallocate-ip",
    "networking.istio.io/exportTo",
    "networking.istio.io/gatewayPort",
    "networking.istio.io/service-type",
    "networking.istio.io/traffic-distribution",
    "operator.istio.io/component",
    "operator.istio.io/managed",
    "operator.istio.io/version",
    "prometheus.istio.io/merge-metrics",
    "proxy.istio.io/config",
    "proxy.istio.io/overrides",
    "readiness.status.sidecar.istio.io/applicationPorts",
    "readiness.status.sidecar.istio.io/failureThreshold",
    "readiness.status.sidecar.istio.io/initialDelaySeconds",
    "readiness.status.sidecar.istio.io/periodSeconds",
    "security.istio.io/tlsMode",
    "service.istio.io/canonical-name",
    "service.istio.io/canonical-revision",
    "service.istio.io/workload-name",
    "sidecar.istio.io/agentLogLevel",
    "sidecar.istio.io/bootstrapOverride",
    "sidecar.istio.io/componentLogLevel",
    "sidecar.istio.io/discoveryAddress",
    "sidecar.istio.io/extraStatTags",
    "sidecar.istio.io/inject",
    "sidecar.istio.io/interceptionMode",
    "sidecar.istio.io/logLevel",
    "sidecar.istio.io/nativeSidecar",
    "sidecar.istio.io/proxyCPU",
    "sidecar.istio.io/proxyCPULimit",
    "sidecar.istio.io/proxyImage",
    "sidecar.istio.io/proxyImageType",
    "sidecar.istio.io/proxyMemory",
    "sidecar.istio.io/proxyMemoryLimit",
    "sidecar.istio.io/rewriteAppHTTPProbers",
    "sidecar.istio.io/statsCompression",
    "sidecar.istio.io/statsEvictionInterval",
    "sidecar.istio.io/statsFlushInterval",
    "sidecar.istio.io/statsHistogramBins",
    "sidecar.istio.io/statsHistogramBuckets",
    "sidecar.istio.io/statsInclusionPrefixes",
    "sidecar.istio.io/statsInclusionRegexps",
    "sidecar.istio.io/statsInclusionSuffixes",
    "sidecar.istio.io/status",
    "sidecar.istio.io/userVolume",
    "sidecar.istio.io/userVolumeMount",
    "status.sidecar.istio.io/port",
    "topology.istio.io/cluster",
    "topology.istio.io/controlPlaneClusters",
    "topology.istio.io/locality",
    "topology.istio.io/network",
    "topology.istio.io/subzone",
    "traffic.istio.io/nodeSelector",
    "traffic.sidecar.istio.io/excludeInboundPorts",
    "traffic.sidecar.istio.io/excludeInterfaces",
    "traffic.sidecar.istio.io/excludeOutboundIPRanges",
    "traffic.sidecar.istio.io/excludeOutboundPorts",
    "traffic.sidecar.istio.io/includeInboundPorts",
    "traffic.sidecar.istio.io/includeOutboundIPRanges",
    "traffic.sidecar.istio.io/includeOutboundPorts",
    "traffic.sidecar.istio.io/kubevirtInterfaces",
];

/// Prefixes of the annotations that Istio reads only from Pods.
/// Source: Istio 1.31, `annotations.gen.go` (Resources: Pod).
pub const POD_KEYS: [&str; 6] = [
    "sidecar.istio.io/",
    "traffic.sidecar.istio.io/",
    "status.sidecar.istio.io/",
    "readiness.status.sidecar.istio.io/",
    "inject.istio.io/",
    keys::PROXY_CONFIG,
];

/// Iterates over the annotations of Pods that users write. The injector writes `sidecar.istio.io/status`.
pub fn pod_annotations() -> impl Iterator<Item = &'static str> {
    let names = KNOWN.iter().copied().filter(|name| *name != keys::STATUS);
    names.filter(|name| POD_KEYS.iter().any(|prefix| name.starts_with(prefix)))
}

/// Common wrong names with the correct ones; they differ too much to be recognized as typing errors.
pub const MISTAKEN: &[(&str, &str)] = &[
    ("istio.io/revision", keys::REVISION),
    ("istio.io/rewriteAppHTTPProbers", keys::REWRITE_PROBERS),
    ("sidecar.istio.io/injected", keys::INJECT),
    ("sidecar.istio.io/injection", keys::INJECT),
    ("sidecar.istio.io/rewriteAppProbers", keys::REWRITE_PROBERS),
];

/// Injection templates that every installation has.
/// Source: Istio 1.31, `manifests/charts/istio-control/istio-discovery/files`.
pub const TEMPLATES: &[&str] = &[
    "agentgateway",
    "agentgateway-waypoint",
    "gateway",
    "grpc-agent",
    "grpc-simple",
    "kube-gateway",
    "sidecar",
    "waypoint",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_templates_are_sorted() {
        assert!(KNOWN.is_sorted() && TEMPLATES.is_sorted());
    }
}

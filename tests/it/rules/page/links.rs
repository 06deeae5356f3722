//! Adds the addresses to the titles under "References".
//!
//! Each address was found in the sources of its site; `.ci/nightly` checks them online.

use regex::Regex;

/// The first word of a reference, the title of a page, and its address.
const PAGES: &[(&str, &str, &str)] = &[
    (
        "Istio",
        "Add workloads to the mesh",
        "https://istio.io/latest/docs/ambient/usage/add-workloads/",
    ),
    (
        "Istio",
        "Ambient and Kubernetes NetworkPolicy",
        "https://istio.io/latest/docs/ambient/usage/networkpolicy/",
    ),
    (
        "Istio",
        "Application Requirements",
        "https://istio.io/latest/docs/ops/deployment/application-requirements/",
    ),
    (
        "Istio",
        "Authorization Policy",
        "https://istio.io/latest/docs/reference/config/security/authorization-policy/",
    ),
    (
        "Istio",
        "Canary Upgrades",
        "https://istio.io/latest/docs/setup/upgrade/canary/",
    ),
    (
        "Istio",
        "Envoy Filter",
        "https://istio.io/latest/docs/reference/config/networking/envoy-filter/",
    ),
    (
        "Istio",
        "Global Mesh Options",
        "https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/",
    ),
    (
        "Istio",
        "Health Checking of Istio Services",
        "https://istio.io/latest/docs/ops/configuration/mesh/app-health-check/",
    ),
    (
        "Istio",
        "Install Multiple Istio Control Planes in a Single Cluster",
        "https://istio.io/latest/docs/setup/install/multiple-controlplanes/",
    ),
    (
        "Istio",
        "Install the Istio CNI node agent",
        "https://istio.io/latest/docs/setup/additional-setup/cni/",
    ),
    (
        "Istio",
        "Installing the Sidecar",
        "https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/",
    ),
    (
        "Istio",
        "PeerAuthentication",
        "https://istio.io/latest/docs/reference/config/security/peer_authentication/",
    ),
    (
        "Istio",
        "Platform-Specific Prerequisites",
        "https://istio.io/latest/docs/ambient/install/platform-prerequisites/",
    ),
    (
        "Istio",
        "Prometheus",
        "https://istio.io/latest/docs/ops/integrations/prometheus/",
    ),
    (
        "Istio",
        "Protocol Selection",
        "https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/",
    ),
    (
        "Istio",
        "Resource Annotations",
        "https://istio.io/latest/docs/reference/config/annotations/",
    ),
    (
        "Istio",
        "Resource Labels",
        "https://istio.io/latest/docs/reference/config/labels/",
    ),
    (
        "Istio",
        "Sidecar",
        "https://istio.io/latest/docs/reference/config/networking/sidecar/",
    ),
    (
        "Istio",
        "Sidecar Injection Problems",
        "https://istio.io/latest/docs/ops/common-problems/injection/",
    ),
    (
        "Istio",
        "Traffic Routing",
        "https://istio.io/latest/docs/ops/configuration/traffic-management/traffic-routing/",
    ),
    (
        "Istio",
        "Virtual Machine Installation",
        "https://istio.io/latest/docs/setup/install/virtual-machine/",
    ),
    (
        "Istio",
        "Workload Entry",
        "https://istio.io/latest/docs/reference/config/networking/workload-entry/",
    ),
    (
        "Istio",
        "Workload Group",
        "https://istio.io/latest/docs/reference/config/networking/workload-group/",
    ),
    (
        "Istio",
        "gRPC Proxyless Service Mesh",
        "https://istio.io/latest/blog/2021/proxyless-grpc/",
    ),
    (
        "Istio",
        "istioctl",
        "https://istio.io/latest/docs/reference/commands/istioctl/",
    ),
    (
        "Kubernetes",
        "Annotations",
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/",
    ),
    (
        "Kubernetes",
        "Container Lifecycle Hooks",
        "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
    ),
    (
        "Kubernetes",
        "Dynamic Admission Control",
        "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/",
    ),
    (
        "Kubernetes",
        "Labels and Selectors",
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
    ),
    (
        "Kubernetes",
        "Object Names and IDs",
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
    ),
    (
        "Kubernetes",
        "Sidecar Containers",
        "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
    ),
    (
        "Linkerd",
        "Authorization Policy",
        "https://linkerd.io/2-edge/reference/authorization-policy/",
    ),
    (
        "Linkerd",
        "Automatic Proxy Injection",
        "https://linkerd.io/2-edge/features/proxy-injection/",
    ),
];

/// The first words of a reference, and the address of the folder that contains the paths of files in it.
const FILES: &[(&str, &str)] = &[
    (
        "Istio 1.31,",
        "https://github.com/istio/istio/blob/release-1.31",
    ),
    (
        "Linkerd 2.20,",
        "https://github.com/linkerd/linkerd2/blob/version-2.20",
    ),
    (
        "linkerd2,",
        "https://github.com/linkerd/linkerd2/blob/version-2.20",
    ),
    (
        "OSM v0.8,",
        "https://github.com/openservicemesh/osm/blob/v0.8.0",
    ),
    (
        "OSM v1.2.4,",
        "https://github.com/openservicemesh/osm/blob/v1.2.4",
    ),
    (
        "consul-k8s,",
        "https://github.com/hashicorp/consul-k8s/blob/v2.0.3",
    ),
];

/// Returns the text of the section "References" with the addresses of the pages and files in the tables.
pub(super) fn with_links(references: &str) -> String {
    let written = Regex::new(r"\[([^\]]+)\]\(https://[^)]+\)").unwrap();
    let title = Regex::new(r#""([^"]+)""#).unwrap();
    let file = Regex::new(r"`([^`\s]+/[^`\s]+)`").unwrap();
    let lines = references.lines().map(|line| {
        let line = written.replace_all(line, "$1").into_owned();
        let project = line
            .trim_start_matches("- ")
            .split(' ')
            .next()
            .unwrap_or_default();
        let linked = title.replace_all(&line, |found: &regex::Captures<'_>| {
            let page = PAGES
                .iter()
                .find(|(of, title, _)| *of == project && *title == &found[1]);
            page.map_or_else(
                || found[0].to_owned(),
                |(_, title, url)| format!("[\"{title}\"]({url})"),
            )
        });
        let folder = FILES
            .iter()
            .find(|(words, _)| line.trim_start_matches("- ").starts_with(words));
        let linked = file.replace_all(&linked, |found: &regex::Captures<'_>| match folder {
            Some((_, url)) => format!("[`{}`]({url}/{})", &found[1], &found[1]),
            None => found[0].to_owned(),
        });
        linked.into_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

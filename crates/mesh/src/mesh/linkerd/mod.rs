//! Linkerd: it does not change probes. They go through its proxy, which has a policy for each port.
//!
//! Sources, linkerd2 b24cd405, read: `policy-controller/k8s/index/src/inbound/{index,workload}.rs`
//! (the routes that are created for probes; pull request 9008, since 2.12. In 2.11, probes are rejected
//! like all other requests: issues 7050, 7143), `pkg/inject/inject.go` (the ports of a pod) and
//! `pkg/inject/report.go` and `pkg/healthcheck/sidecar.go` (which pods are injected, edge-26.8.3, run); the
//! documentation, "Authorization Policy". Nothing else was run.
//!
//! What Linkerd is registered with: its names and setups.
//!
//! Source of the markers: `pkg/k8s/labels.go`.

mod injection;
mod keys;
mod policy;
mod treatment;

use meshprobe_yaml::NodeRef;
use treatment::Linkerd;

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource, SharedKind};
use super::model::MeshDefinition;

pub use keys::faults;

/// Linkerd as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::LINKERD,
    model: Some(&Linkerd),
    markers: MeshMarkers {
        prefixes: &["linkerd.io/", "config.linkerd.io/"],
        switches: &["linkerd.io/inject"],
        containers: &["linkerd-proxy"],
        groups: &["linkerd.io", "policy.linkerd.io"],
        shared: &[
            SharedKind {
                group: GATEWAY_API,
                kind: "HTTPRoute",
                is_fact: is_route_of_linkerd,
            },
            SharedKind {
                group: GATEWAY_API,
                kind: "GRPCRoute",
                is_fact: is_route_of_linkerd,
            },
        ],
        ..MeshMarkers::NONE
    },
    keys: keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: include_str!("proven.csv"),
};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// Returns whether a route belongs to a `Server` of Linkerd.
fn is_route_of_linkerd(spec: NodeRef<'_>) -> bool {
    let mut groups = spec
        .get("parentRefs")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|parent| parent.get("group")?.text());
    groups.any(|group| group == "policy.linkerd.io")
}

impl Mesh {
    /// Linkerd.
    pub const LINKERD: Self = Self::new(&MeshInfo {
        id: "linkerd",
        title: "Linkerd",
        summary: "Linkerd",
        settle_release: "--mesh linkerd --mesh-version N.N",
    });
}

const SOURCE: SetupSource = SetupSource::Code(
    "linkerd2 b24cd405, policy-controller/k8s/index/src/inbound/{index,workload}.rs",
);

/// A `Server` of all pods, and a route to it for one path.
const SERVER_ROUTE: &str = "\
apiVersion: policy.linkerd.io/v1beta3
kind: Server
metadata: {name: web, namespace: shop}
spec: {podSelector: {}, port: 8080}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: shop}
spec:
  parentRefs: [{group: policy.linkerd.io, kind: Server, name: web}]
  rules: [{matches: [{path: {type: PathPrefix, value: /api}}]}]
---
";

pub(super) const SETUPS: &[MeshSetup] = &[
    MeshSetup {
        title: "Linkerd, default policy",
        releases: &[(2, 11), (2, 20)],
        annotations: "linkerd.io/inject: enabled",
        source: SOURCE,
        ..MeshSetup::NONE
    },
    MeshSetup {
        title: "Linkerd, `all-authenticated`",
        releases: &[(2, 11), (2, 20)],
        annotations: "linkerd.io/inject: enabled, \
                      config.linkerd.io/default-inbound-policy: all-authenticated",
        source: SOURCE,
        ..MeshSetup::NONE
    },
    MeshSetup {
        title: "Linkerd, a `Server` with an `HTTPRoute` for `/api`",
        releases: &[(2, 12), (2, 20)],
        annotations: "linkerd.io/inject: enabled",
        objects: SERVER_ROUTE,
        source: SOURCE,
        ..MeshSetup::NONE
    },
];

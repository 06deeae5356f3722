//! The configurations of Linkerd that `docs/meshes.md` shows.

use crate::mesh::setup::{MeshSetup, SetupSource};

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

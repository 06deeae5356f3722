//! The configurations of AWS App Mesh that `docs/meshes.md` shows.

use crate::mesh::setup::{MeshSetup, SetupSource};

const SOURCE: SetupSource = SetupSource::Documentation(
    "AWS App Mesh, API reference of ListenerTls; its controller, pkg/inject/proxy.go",
);

/// Namespace `shop` with injection, and a listener that accepts plaintext.
const PERMISSIVE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: web, namespace: shop}
spec:
  podSelector: {}
  listeners: [{portMapping: {port: 8080, protocol: http}, tls: {mode: PERMISSIVE}}]
---
";

/// Namespace `shop` with injection, and a listener that requires TLS.
const STRICT: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: web, namespace: shop}
spec:
  podSelector: {}
  listeners: [{portMapping: {port: 8080, protocol: http}, tls: {mode: STRICT}}]
---
";

pub(super) const SETUPS: &[MeshSetup] = &[
    MeshSetup {
        title: "App Mesh, listener `PERMISSIVE`",
        releases: &[(1, 13)],
        objects: PERMISSIVE,
        source: SOURCE,
        ..MeshSetup::NONE
    },
    MeshSetup {
        title: "App Mesh, listener `STRICT`",
        releases: &[(1, 13)],
        objects: STRICT,
        source: SOURCE,
        ..MeshSetup::NONE
    },
];

//! The configurations of Istio that `docs/meshes.md` shows.

use crate::mesh::setup::MeshSetup;

/// Namespace `shop` with injection and STRICT mutual TLS.
const STRICT: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
---
";

/// Namespace `shop` in ambient mode with STRICT mutual TLS.
const AMBIENT_STRICT: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio.io/dataplane-mode: ambient}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
---
";

pub(super) const SETUPS: &[MeshSetup] = &[
    MeshSetup {
        title: "Istio, sidecar, STRICT",
        releases: &[(1, 5), (1, 9), (1, 11), (1, 12), (1, 13), (1, 25), (1, 28)],
        objects: STRICT,
        ..MeshSetup::NONE
    },
    MeshSetup {
        title: "Istio, sidecar, STRICT, rewrite switched off",
        releases: &[(1, 28)],
        annotations: "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"",
        objects: STRICT,
        ..MeshSetup::NONE
    },
    MeshSetup {
        title: "Istio, ambient, STRICT",
        releases: &[(1, 28)],
        objects: AMBIENT_STRICT,
        ..MeshSetup::NONE
    },
];

//! AWS App Mesh: it does not change probes, which reach the listeners of a `VirtualNode`.
//!
//! Sources: the controller of App Mesh, `pkg/inject` (`sidecar_utils.go`: which pods are injected;
//! `proxy.go`: which ports are redirected) and `docs/guide/troubleshooting.md`; the API reference of AWS App
//! Mesh, `ListenerTls` (STRICT only accepts TLS, `validation` concerns the client's certificate).
//! Nothing was run.
//!
//! What App Mesh is registered with: its names and setups.
//!
//! Source of the markers: `pkg/inject` of its controller.

mod model;

use model::AppMesh;

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource};
use super::model::MeshDefinition;

pub use model::{INJECT, faults};

/// App Mesh as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::APP_MESH,
    model: Some(&AppMesh),
    markers: MeshMarkers {
        prefixes: &["appmesh.k8s.aws/"],
        switches: &[INJECT],
        groups: &["appmesh.k8s.aws"],
        ..MeshMarkers::NONE
    },
    keys: model::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};

impl Mesh {
    /// AWS App Mesh.
    pub const APP_MESH: Self = Self::new(&MeshInfo {
        id: "app-mesh",
        // As its own tools write it.
        title: "App Mesh",
        summary: "AWS App Mesh",
        settle_release: "--mesh app-mesh --mesh-version N.N",
    });
}

const SOURCE: SetupSource = SetupSource::Documentation(
    "AWS App Mesh, API reference of ListenerTls; its controller, pkg/inject/proxy.go",
);

/// Namespace `shop` with injection, and a listener with a TLS mode.
macro_rules! with_listener {
    ($mode:literal) => {
        concat!(
            "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: web, namespace: shop}
spec:
  podSelector: {}
  listeners: [{portMapping: {port: 8080, protocol: http}, tls: {mode: ",
            $mode,
            "}}]
---
"
        )
    };
}

pub(super) const SETUPS: &[MeshSetup] = &[
    MeshSetup {
        title: "App Mesh, listener `PERMISSIVE`",
        releases: &[(1, 13)],
        objects: with_listener!("PERMISSIVE"),
        source: SOURCE,
        ..MeshSetup::NONE
    },
    MeshSetup {
        title: "App Mesh, listener `STRICT`",
        releases: &[(1, 13)],
        objects: with_listener!("STRICT"),
        source: SOURCE,
        ..MeshSetup::NONE
    },
];

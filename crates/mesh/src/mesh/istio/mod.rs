//! Istio: sidecars of the releases 1.10 to 1.31.
//!
//! What Istio is registered with: its names and setups.
//!
//! Source of the markers: the labels, annotations, containers and API groups that Istio documents.

pub mod admission;
pub mod annotations;
pub mod authz;
pub mod capture;
mod config_schema;
pub mod injection;
pub mod install;
pub mod keys;
pub mod known_keys;
pub mod mtls;
pub mod network_plugin;
pub mod prober_json;
pub mod prometheus;
mod proto_type;
pub mod proxy_config;
pub mod recorded;
pub mod rewrite;
pub mod vm;

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup};
use super::model::MeshDefinition;

/// Istio as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::ISTIO,
    model: None,
    markers: MeshMarkers {
        prefixes: &[
            "sidecar.istio.io/",
            "traffic.sidecar.istio.io/",
            "proxy.istio.io/",
            "inject.istio.io/",
            "security.istio.io/",
            "istio.io/",
            "istio-injection",
        ],
        switches: &[
            "istio-injection",
            "istio.io/rev",
            "istio.io/dataplane-mode",
            "sidecar.istio.io/inject",
        ],
        values: &[
            ("istio-injection", "enabled"),
            ("istio.io/dataplane-mode", "ambient"),
        ],
        containers: &["istio-proxy"],
        groups: &["networking.istio.io", "security.istio.io"],
        ..MeshMarkers::NONE
    },
    keys: known_keys::KEYS,
    faults: &[],
    setups: SETUPS,
    proven: include_str!("proven.csv"),
};

impl Mesh {
    /// Istio.
    pub const ISTIO: Self = Self::new(&MeshInfo {
        id: "istio",
        title: "Istio",
        summary: "Istio",
        settle_release: "--mesh-version 1.N",
    });
}

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

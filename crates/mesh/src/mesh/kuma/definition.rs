//! What Kuma is registered with: its names and setups.
//!
//! Source of the markers: `pkg/plugins/runtime/k8s/metadata` (v3 development).

use super::faults;
use super::model::Kuma;
use crate::mesh::definition::MeshDefinition;
use crate::mesh::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource};

/// Kuma as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::KUMA,
    model: Some(&Kuma),
    markers: MeshMarkers {
        prefixes: &["kuma.io/", "traffic.kuma.io/"],
        switches: &["kuma.io/sidecar-injection"],
        containers: &["kuma-sidecar"],
        groups: &["kuma.io"],
        ..MeshMarkers::NONE
    },
    keys: super::keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};

impl Mesh {
    /// Kuma, and Kong Mesh on top of it.
    pub const KUMA: Self = Self::new(&MeshInfo {
        id: "kuma",
        title: "Kuma",
        summary: "Kuma, and Kong Mesh",
        settle_release: "--mesh kuma --mesh-version 2.N",
    });
}

const SOURCE: SetupSource = SetupSource::Code(
    "Kuma v2.14.3 and 348b6528, pkg/plugins/runtime/k8s/probes/probe.go and webhooks/injector",
);

/// Namespace `shop` with injection.
const INJECTED: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}
---
";

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Kuma",
    releases: &[(2, 8), (2, 9), (2, 13), (3, 0)],
    unreleased: Some((3, 0)),
    objects: INJECTED,
    source: SOURCE,
    ..MeshSetup::NONE
}];

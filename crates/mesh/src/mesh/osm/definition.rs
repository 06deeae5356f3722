//! What OSM is registered with: its names and setups.
//!
//! Source of the markers: `pkg/constants` and `pkg/injector/webhook.go` (v1.2.4).

use super::faults;
use super::keys::BOOTSTRAP_VOLUME;
use super::model::Osm;
use crate::mesh::definition::MeshDefinition;
use crate::mesh::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource};

/// OSM as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::OSM,
    model: Some(&Osm),
    markers: MeshMarkers {
        prefixes: &["openservicemesh.io/"],
        switches: &[
            "openservicemesh.io/monitored-by",
            "openservicemesh.io/sidecar-injection",
        ],
        containers: &["osm-healthcheck", "osm-init"],
        volumes: &[BOOTSTRAP_VOLUME],
        groups: &["config.openservicemesh.io", "policy.openservicemesh.io"],
        ..MeshMarkers::NONE
    },
    keys: super::keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: "",
};

impl Mesh {
    /// Open Service Mesh.
    pub const OSM: Self = Self::new(&MeshInfo {
        id: "osm",
        title: "OSM",
        summary: "Open Service Mesh",
        settle_release: "--mesh osm --mesh-version 1.N",
    });
}

const SOURCE: SetupSource =
    SetupSource::Code("Open Service Mesh v1.2.4, pkg/injector/{health_probes,patch,iptables}.go");

/// Namespace `shop` with injection.
const MONITORED: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {openservicemesh.io/monitored-by: osm}
  annotations: {openservicemesh.io/sidecar-injection: enabled}
---
";

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "OSM",
    releases: &[(0, 8), (1, 0), (1, 2), (1, 3)],
    unreleased: Some((1, 3)),
    objects: MONITORED,
    source: SOURCE,
    ..MeshSetup::NONE
}];

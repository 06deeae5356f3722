//! Open Service Mesh: releases 1.1 and 1.2, the development head after them, and the faults of earlier
//! releases. The project was archived in July 2023.
//!
//! Sources, of v1.2.4 unless another release is named: `pkg/injector/health_probes.go`,
//! `patch.go`, `webhook.go`, `iptables.go`, and `pkg/envoy/bootstrap/envoy_config_health_probes.go`.
//!
//! What OSM is registered with: its names and setups.
//!
//! Source of the markers: `pkg/constants` and `pkg/injector/webhook.go` (v1.2.4).

mod injected_pod;
pub mod injection;
mod keys;
mod model;
mod probes;

use keys::BOOTSTRAP_VOLUME;
use model::Osm;

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource};
use super::model::MeshDefinition;

pub use keys::{HEALTHCHECK_PORT, INJECTION, MONITORED, faults};
pub use probes::Era;

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
    keys: keys::KEYS,
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
const MONITORED_SHOP: &str = "\
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
    objects: MONITORED_SHOP,
    source: SOURCE,
    ..MeshSetup::NONE
}];

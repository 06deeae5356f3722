//! The configurations of OSM that `docs/meshes.md` shows.

use crate::mesh::setup::{MeshSetup, SetupSource};

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

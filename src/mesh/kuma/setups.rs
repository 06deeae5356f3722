//! The configurations of Kuma that `docs/meshes.md` shows.

use crate::mesh::setup::MeshSetup;

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
    ..MeshSetup::NONE
}];

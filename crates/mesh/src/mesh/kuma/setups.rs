//! The configurations of Kuma that `docs/meshes.md` shows.

use crate::mesh::setup::{MeshSetup, SetupSource};

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

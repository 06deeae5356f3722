//! Kuma: the application probe proxy (2.9 and later) and the virtual probes before it.
//!
//! Sources: `pkg/plugins/runtime/k8s/probes`, `pkg/plugins/runtime/k8s/webhooks/injector` and
//! `app/kuma-dp/pkg/dataplane/probes` of the v3 development head (348b6528), run; the earlier
//! releases from their tags.
//!
//! What Kuma is registered with: its names and setups.
//!
//! Source of the markers: `pkg/plugins/runtime/k8s/metadata` (v3 development).

mod injection;
mod keys;
mod model;
mod proxy;

use model::Kuma;

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource};
use super::model::MeshDefinition;

pub use injection::{is_switch, reads_annotation, switches_off};
pub use keys::{
    EXCLUDED_PORTS, GATEWAY, INJECTION, PROXY_PORT, SIDECAR_ENV, VIRTUAL_PORT, VIRTUAL_PROBES,
    faults,
};

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
    keys: keys::KEYS,
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

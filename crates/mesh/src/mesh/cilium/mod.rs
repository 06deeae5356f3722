//! Cilium with mutual authentication or ztunnel: it adds no proxy to pods and does not change probes.
//!
//! Sources: the documentation of Cilium, "Mutual Authentication" (agents authenticate out of band,
//! the data path does not change) and "Policy Enforcement Modes" (`allow-localhost: auto` accepts
//! connections from the node). Nothing was run.
//!
//! What Cilium is registered with: its names and setups.
//!
//! Source of the markers: the kinds of policies that Cilium documents.

mod model;

use meshprobe_yaml::NodeRef;
use model::{Cilium, MTLS_ENABLED};

use super::description::{Mesh, MeshInfo, MeshMarkers, MeshSetup, SetupSource, SharedKind};
use super::model::MeshDefinition;

pub use model::{HBONE_PORT, drops_unselected, enrolled};

/// Cilium as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::CILIUM,
    model: Some(&Cilium),
    // Without authentication, Cilium is not a mesh but the network of many clusters.
    markers: MeshMarkers {
        prefixes: &[MTLS_ENABLED],
        switches: &[MTLS_ENABLED],
        values: &[(MTLS_ENABLED, "true")],
        shared: &[
            SharedKind {
                group: "cilium.io",
                kind: "CiliumNetworkPolicy",
                is_fact: demands_authentication,
            },
            SharedKind {
                group: "cilium.io",
                kind: "CiliumClusterwideNetworkPolicy",
                is_fact: demands_authentication,
            },
        ],
        ..MeshMarkers::NONE
    },
    keys: model::KEYS,
    faults: &[],
    setups: SETUPS,
    proven: "",
};

/// Returns whether a policy requires mutual authentication.
fn demands_authentication(spec: NodeRef<'_>) -> bool {
    let rules = ["ingress", "egress"]
        .into_iter()
        .filter_map(|key| spec.get(key))
        .flat_map(NodeRef::items);
    rules
        .filter_map(|rule| rule.get("authentication")?.get("mode")?.text())
        .any(|mode| mode == "required")
}

impl Mesh {
    /// Cilium with mutual authentication.
    pub const CILIUM: Self = Self::new(&MeshInfo {
        id: "cilium",
        title: "Cilium",
        summary: "Cilium with mutual authentication",
        settle_release: "--mesh cilium --mesh-version N.N",
    });
}

const SOURCE: SetupSource = SetupSource::Documentation(
    "Cilium, \"Mutual Authentication\" and \"Policy Enforcement Modes\"",
);

pub(super) const SETUPS: &[MeshSetup] = &[MeshSetup {
    title: "Cilium, mutual authentication",
    releases: &[(1, 18)],
    source: SOURCE,
    ..MeshSetup::NONE
}];

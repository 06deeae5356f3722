//! What Cilium is registered with.
//!
//! Source of the markers: the kinds of policies that Cilium documents.

use meshprobe_yaml::NodeRef;

use super::keys::MTLS_ENABLED;
use super::model::Cilium;
use super::setups::SETUPS;
use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::{MeshMarkers, SharedKind};
use crate::mesh::name::Mesh;

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
    keys: super::known_keys::KEYS,
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

//! What Linkerd is registered with.
//!
//! Source of the markers: `pkg/k8s/labels.go`.

use meshprobe_yaml::NodeRef;

use super::faults;
use super::model::Linkerd;
use super::setups::SETUPS;
use crate::mesh::definition::MeshDefinition;
use crate::mesh::markers::{MeshMarkers, SharedKind};
use crate::mesh::name::Mesh;

/// Linkerd as the registry lists it.
pub(in crate::mesh) static DEFINITION: MeshDefinition = MeshDefinition {
    mesh: Mesh::LINKERD,
    model: Some(&Linkerd),
    markers: MeshMarkers {
        prefixes: &["linkerd.io/", "config.linkerd.io/"],
        switches: &["linkerd.io/inject"],
        containers: &["linkerd-proxy"],
        groups: &["linkerd.io", "policy.linkerd.io"],
        shared: &[
            SharedKind {
                group: GATEWAY_API,
                kind: "HTTPRoute",
                is_fact: is_route_of_linkerd,
            },
            SharedKind {
                group: GATEWAY_API,
                kind: "GRPCRoute",
                is_fact: is_route_of_linkerd,
            },
        ],
        ..MeshMarkers::NONE
    },
    keys: super::known_keys::KEYS,
    faults: faults::ALL,
    setups: SETUPS,
    proven: include_str!("proven.csv"),
};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// Returns whether a route belongs to a `Server` of Linkerd.
fn is_route_of_linkerd(spec: NodeRef<'_>) -> bool {
    let mut groups = spec
        .get("parentRefs")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|parent| parent.get("group")?.text());
    groups.any(|group| group == "policy.linkerd.io")
}

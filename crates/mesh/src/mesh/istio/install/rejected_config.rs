//! Values because of which istiod rejects a mesh configuration.
//!
//! Source: Istio 1.31, `ApplyMeshConfig` in `pkg/config/mesh/mesh.go` and `NewCollection` in
//! `pkg/config/mesh/meshwatcher/collection.go`; Istio 1.10, `pkg/config/mesh/kubemesh/watcher.go`.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::installation::Install;
use super::values::Values;
use super::values::{Descent, Layer};
use crate::finding::Label;
use crate::mesh::ReleaseChange;
use crate::mesh::istio::config_schema::MESH_CONFIG;
use crate::mesh::istio::proto_type::{TypeFault, faults};

/// The key of the mesh configuration in the values.
const KEY: &str = "meshConfig";

/// Records the first value of a wrong type in `meshConfig`. istiod then rejects the whole configuration and keeps the
/// last valid one, so none of its facts apply.
pub(super) fn reject_wrong_types(install: &mut Install, values: &Values<'_>) {
    let Some(rejected) = first_fault(install, values) else {
        return;
    };
    install.rejected_config = Some(rejected);
    install.root_namespace = None;
    install.mesh_status_port = None;
    install.interception_mode = None;
    install.inbound_traffic_policy = None;
    install.prometheus_merge = None;
    install.hold_application = None;
    install.probe_localhost = None;
    install.discovery_selectors = None;
}

/// Returns the first value that istiod rejects. A value that a stronger layer replaces is ignored.
fn first_fault(install: &Install, values: &Values<'_>) -> Option<Label> {
    let release = install.version.as_ref().map(|version| version.value);
    // A field of a later release is checked only if the release is known.
    let is_checked = |change: &ReleaseChange| release.is_some() && change.is_in(release);
    for (index, layer) in values.layers.iter().enumerate() {
        let Descent::Node(node) = layer.descend(&[KEY]) else {
            continue;
        };
        let stronger = values.layers.get(..index).unwrap_or_default();
        let fault = config_faults(node).into_iter().find(|fault| {
            fault.since.is_none_or(is_checked) && !is_replaced(&fault.path, stronger)
        });
        if let Some(fault) = fault {
            let message = format!(
                "Istio rejects the whole mesh configuration: {}",
                fault.message
            );
            let found = layer.found(node);
            return Some(found.label_within(fault.span, message));
        }
    }
    None
}

/// Returns the values of a wrong type in a mesh configuration.
fn config_faults(node: NodeRef<'_>) -> Vec<TypeFault> {
    if node.is_mapping() {
        return faults(node, MESH_CONFIG);
    }
    if placeholder::contains(node.source()) {
        return Vec::new();
    }
    vec![TypeFault {
        path: String::new(),
        span: node.span(),
        message: "it must be a mapping".to_owned(),
        since: None,
    }]
}

/// Returns whether one of the layers also contains the value at a path, or the list that the path leads into.
fn is_replaced(path: &str, layers: &[Layer<'_>]) -> bool {
    let outer = path.split('[').next().unwrap_or_default();
    let fields = outer.split('.').filter(|key| !key.is_empty());
    let keys: Vec<&str> = [KEY].into_iter().chain(fields).collect();
    let contains = |layer: &Layer<'_>| !matches!(layer.descend(&keys), Descent::Absent);
    layers.iter().any(contains)
}

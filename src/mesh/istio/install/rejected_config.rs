//! Values because of which istiod rejects a mesh configuration.
//!
//! Source: Istio 1.31, `ApplyMeshConfig` in `pkg/config/mesh/mesh.go` and `NewCollection` in
//! `pkg/config/mesh/meshwatcher/collection.go`; Istio 1.10, `pkg/config/mesh/kubemesh/watcher.go`.

use std::collections::BTreeSet;

use crate::finding::Label;
use crate::mesh::ReleaseChange;
use crate::mesh::istio::proto_type::faults;
use crate::mesh::istio::proxy_config_schema::FIELDS;
use crate::yaml::NodeRef;

use super::installation::Install;
use super::layer::{Descent, Layer};
use super::values::Values;

/// The path of the mesh-wide `ProxyConfig` in the values, in both spellings that the decoder accepts.
const PATHS: [[&str; 2]; 2] = [
    ["meshConfig", "defaultConfig"],
    ["meshConfig", "default_config"],
];

/// Records the first value of a wrong type in `meshConfig.defaultConfig`. istiod then rejects the whole configuration
/// and keeps the last valid one, so none of its facts apply.
pub(super) fn reject_wrong_types(install: &mut Install, values: &Values<'_>) {
    let Some(rejected) = first_fault(install, values) else {
        return;
    };
    install.rejected_config = Some(rejected);
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
    let mut replaced: BTreeSet<String> = BTreeSet::new();
    for layer in &values.layers {
        for (path, node) in configs(layer) {
            if !node.is_mapping() && !node.is_null() {
                let message = format!(
                    "Istio rejects the whole mesh configuration: `{}` must be a mapping",
                    path[1]
                );
                let found = layer.found(node, &values.bindings);
                return Some(found.label_within(node.span(), message));
            }
            let mut faults = faults(node, FIELDS).into_iter();
            let fault = faults.find(|fault| {
                let key = fault.path.split(['.', '[']).next().unwrap_or_default();
                fault.since.is_none_or(is_checked) && !replaced.contains(key)
            });
            if let Some(fault) = fault {
                let [_, config] = path;
                let message = format!(
                    "Istio rejects the whole mesh configuration: in `{config}`, {}",
                    fault.message
                );
                let found = layer.found(node, &values.bindings);
                return Some(found.label_within(fault.span, message));
            }
            let keys = node.effective_entries().into_iter();
            replaced.extend(keys.filter_map(|entry| entry.key.text().map(str::to_owned)));
        }
    }
    None
}

/// Returns the configurations that a layer contains.
fn configs<'t>(layer: &Layer<'t>) -> impl Iterator<Item = ([&'static str; 2], NodeRef<'t>)> {
    let found = PATHS.iter().filter_map(|path| match layer.descend(path) {
        Descent::Node(node) => Some((*path, node)),
        Descent::Absent | Descent::Null => None,
    });
    found.collect::<Vec<_>>().into_iter()
}

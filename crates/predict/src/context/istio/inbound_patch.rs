//! Finds the patches of `EnvoyFilter`s that change inbound filter chains.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::NodeRef;

/// Patches of these decide which filter chain handles a connection, and what it does.
pub(in crate::context) const CHAINS: [&str; 3] = ["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER"];

/// Returns the first patch of an `EnvoyFilter` that changes inbound filter chains of sidecars: its
/// place in the list, and what it applies to.
#[must_use]
pub fn inbound_patch<'t>(filter: &Object<'t>) -> Option<(usize, NodeRef<'t>)> {
    let spec = filter.node.get("spec")?;
    // Filters with `targetRefs` apply to gateways and waypoints.
    if spec.get("targetRefs").is_some() {
        return None;
    }
    spec.get("configPatches")?
        .items()
        .enumerate()
        .find_map(|(index, patch)| {
            let context = patch.get("match").and_then(|one| one.get("context"));
            let inbound = context.and_then(NodeRef::text);
            let applies = patch.get("applyTo")?;
            let is_inbound = matches!(inbound, None | Some("ANY" | "SIDECAR_INBOUND"))
                && CHAINS.contains(&applies.text()?);
            is_inbound.then_some((index, applies))
        })
}

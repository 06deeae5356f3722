//! `EnvoyFilter`s, whose patches no static tool can judge.

use crate::kube::{Object, Workload, selects_workload};
use crate::mesh::Fact;
use crate::yaml::NodeRef;

use super::{Context, Reach};

/// Patches of these decide which filter chain a connection meets, and what it does.
const CHAINS: [&str; 3] = ["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER"];

/// No option speaks of patches.
const SETTLE: &str = "no option settles it: try the probe in a cluster";

impl<'t> Context<'t> {
    /// Tells whether an `EnvoyFilter` patches what connections to the pods of `workload` meet at their
    /// sidecar. The fact that it lets them be is an assumption.
    #[must_use]
    pub fn inbound_filter(&self, workload: &Workload<'t>) -> Option<Fact<()>> {
        let labels = workload.template.labels();
        let filters = self
            .inventory
            .inbound_filters
            .selecting_in_either("", "", labels);
        let mut filters = filters
            .into_iter()
            .filter(|filter| self.filters(filter, workload));
        let filter = filters.next()?;
        let (_, place) = inbound_patch(filter)?;
        let said = format!("EnvoyFilter `{}` patches inbound traffic", filter.name());
        let harmless = "the EnvoyFilter lets the filter chains of the probe be";
        let harmless = Fact::assumed((), harmless, Some(SETTLE));
        Some(Fact::known((), filter.label_at(place.span(), said)).resting_on(&harmless))
    }

    /// Tells whether an `EnvoyFilter` is for the pods of `workload`: those of its namespace, or all
    /// where it stands in the root namespace, with the labels that it asks for.
    #[must_use]
    pub fn filters(&self, filter: &Object<'t>, workload: &Workload<'t>) -> bool {
        let reach = if self.is_in_root_namespace(filter) {
            Reach::Mesh
        } else {
            Reach::Namespace
        };
        self.reaches(filter, reach, workload) && selects_workload(filter, workload)
    }
}

/// Returns the first patch of an `EnvoyFilter` that changes inbound filter chains of sidecars: its
/// place in the list, and what it applies to.
#[must_use]
pub fn inbound_patch<'t>(filter: &Object<'t>) -> Option<(usize, NodeRef<'t>)> {
    let spec = filter.node.get("spec")?;
    // Those with `targetRefs` are for gateways and waypoints.
    if spec.get("targetRefs").is_some() {
        return None;
    }
    let mut patches = spec.get("configPatches")?.items().enumerate();
    patches.find_map(|(index, patch)| {
        let context = patch.get("match").and_then(|one| one.get("context"));
        let inbound = context.and_then(NodeRef::text);
        let applies = patch.get("applyTo")?;
        let is_meant = matches!(inbound, None | Some("ANY" | "SIDECAR_INBOUND"))
            && CHAINS.contains(&applies.text()?);
        is_meant.then_some((index, applies))
    })
}

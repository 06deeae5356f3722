//! Finds `EnvoyFilter`s that may affect probes. A static tool cannot evaluate their patches.

use meshprobe_mesh::kube::{Workload, selects_workload};
use meshprobe_mesh::mesh::Fact;

use crate::context::istio::facets::{Istio, IstioPolicy};
use crate::context::istio::inbound_patch::inbound_patch;
use crate::context::istio::policy_scope::PolicyScope;

/// What settles the effect of a patch, because no option does.
const SETTLE: &str = "no option settles this: test the probe in a cluster";

impl<'c, 't> Istio<'c, 't> {
    /// Returns the first `EnvoyFilter` that patches inbound filter chains of the pods of `workload`. It is
    /// assumed not to change the filter chains of the probe.
    #[must_use]
    pub fn inbound_filter(self) -> Option<Fact<()>> {
        let labels = self.workload.template.labels();
        let filters = self
            .context
            .inventory
            .inbound_filters
            .selecting_in_either("", "", labels);
        let filter = filters
            .into_iter()
            .find(|filter| self.context.istio_policy(filter).filters(self.workload))?;
        let (_, place) = inbound_patch(filter)?;
        let message = format!("EnvoyFilter `{}` patches inbound traffic", filter.name());
        let harmless = "the EnvoyFilter does not change the filter chains of the probe";
        let harmless = Fact::assumed((), harmless, Some(SETTLE));
        Some(Fact::known((), filter.label_at(place.span(), message)).depending_on(&harmless))
    }
}

impl<'c, 't> IstioPolicy<'c, 't> {
    /// Returns whether an `EnvoyFilter` applies to the pods of `workload`: to those of its namespace, or
    /// to all pods if it is in the root namespace, that its selector matches.
    #[must_use]
    pub fn filters(self, workload: &Workload<'t>) -> bool {
        let policy_scope = if self.is_in_root_namespace() {
            PolicyScope::Mesh
        } else {
            PolicyScope::Namespace
        };
        self.applies_to(policy_scope, workload) && selects_workload(self.policy, workload)
    }
}

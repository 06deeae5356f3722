//! The annotations about metrics for which the injector refuses a pod.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::prometheus::{
    PORTS_CHECKED, ScrapeFault, merge_of_pod, scrape_fault,
};

use crate::context::istio::facets::Ports;

impl<'c, 't> Ports<'c, 't> {
    /// Returns the annotation about metrics for which the injector refuses the pods; `None` if it accepts them. The
    /// certainty is that of the release, of the setting of the mesh, and of the port of the agent.
    #[must_use]
    pub fn scrape_fault(self) -> Option<Fact<ScrapeFault<'t>>> {
        let version = self.istio().version();
        if version.value.is_some_and(|version| version < PORTS_CHECKED) {
            return None;
        }
        let agent = self.mesh_status();
        let fault = scrape_fault(&self.workload.template, agent.value)?;
        let merge = self.merges_metrics();
        if !merge.value {
            return None;
        }
        let message = format!(
            "the injector refuses the pod: annotation `{}` is invalid ({})",
            fault.entry.key.text().unwrap_or_default(),
            fault.reason
        );
        let object = &self.workload.object;
        let place = object.label_at(fault.entry.value.span(), message);
        let is_of_agent = fault.is_of_agent;
        let fact = Fact::known(fault, place)
            .depending_on(&version)
            .depending_on(&merge);
        Some(if is_of_agent {
            fact.depending_on(&agent)
        } else {
            fact
        })
    }

    /// Returns whether the agent merges the metrics of the application with those of the sidecar.
    fn merges_metrics(self) -> Fact<bool> {
        let template = &self.workload.template;
        if let (Some(merge), Some(entry)) = (
            merge_of_pod(template),
            template.annotation(keys::MERGE_METRICS),
        ) {
            let message = format!("metrics are merged: {merge}");
            let place = self.workload.object.label_at(entry.value.span(), message);
            return Fact::known(merge, place);
        }
        let view = self.istio().installation();
        if let Some(fact) = view.fact(keys::MERGE_METRICS, |plane| plane.prometheus_merge.as_ref())
        {
            return fact;
        }
        let default = Fact {
            certainty: Certainty::Default,
            ..Fact::settled(true, "metrics are merged (default)")
        };
        match view.unread() {
            Some(unread) => default.depending_on(&unread),
            None => default,
        }
    }
}

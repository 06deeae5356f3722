//! Lists the handlers that are predicted.

use crate::kube::{Container, ContainerList, Probe, Workload};
use crate::mesh::istio::keys;

/// Returns the handlers that are predicted: those of the workload's own containers.
#[must_use]
pub fn predicted_handlers<'t>(workload: &Workload<'t>) -> Vec<(Container<'t>, Probe<'t>)> {
    workload
        .template
        .containers()
        .into_iter()
        .filter(|container| {
            container.name() != keys::PROXY_CONTAINER && container.list != ContainerList::Ephemeral
        })
        .flat_map(|container| {
            container
                .handlers()
                .into_iter()
                .map(move |handler| (container.clone(), handler))
        })
        .collect()
}

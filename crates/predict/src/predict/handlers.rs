//! Lists the handlers that are predicted.

use meshprobe_mesh::kube::{Container, ContainerList, Probe, Workload};
use meshprobe_mesh::mesh::istio::keys;

use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::HandlerPrediction;
use crate::predict::verdict_builder::VerdictBuilder;

/// Returns the handlers that the mesh can affect: those of the workload's own containers, except ephemeral ones.
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

/// Returns the handlers of ephemeral containers, all of which the API server refuses.
pub(in crate::predict) fn ephemeral_handlers<'t>(
    workload: &Workload<'t>,
) -> Vec<HandlerPrediction<'t>> {
    let containers = workload.template.containers_in(ContainerList::Ephemeral);
    let handlers = containers.into_iter().flat_map(|container| {
        let handlers = container.handlers();
        handlers.into_iter().map(move |handler| HandlerPrediction {
            container: container.clone(),
            handler,
            rewritten: false,
            unsupported: None,
            port: None,
            captured: None,
            mtls: None,
            rewritten_to: None,
            explanation: Vec::new(),
            by_other_release: None,
            verdict: VerdictBuilder::new().verdict(Outcome::Refused, Cause::Malformed),
        })
    });
    handlers.collect()
}

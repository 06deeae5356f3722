//! Predicts the prober env that the agent reads, after the injector has changed it.

use meshprobe_mesh::kube::{Port, ProbeHandler};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::rewrite::{HOOKS, is_hook_path};
use meshprobe_mesh::mesh::istio::{keys, prober_json};

use crate::context::{PodFacts, UnreadableProberEnv};
use crate::predict::model::resolve;
use crate::predict::prediction::{ProberEnvFault, Reinjection, WorkloadPrediction, is_supported};

/// The first release that adds recorded probes to the env of a pod that is marked as injected.
const MERGES: Version = Version::new(1, 17);

/// The first release that also adds them if there is no env.
const APPENDS: Version = Version::new(1, 27);

/// Predicts how the injector changes the prober env.
///
/// Source: Istio 1.10 to 1.31, `pkg/kube/inject/webhook.go` (`mergeOrAppendProbers`); measured with
/// 18 releases.
pub(in crate::predict) fn reinjection<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Reinjection {
    if !(pod.passes_injector && pod.rewrite.value && records_any_handler(facts, pod)) {
        return Reinjection::Untouched;
    }
    let release = pod.release.value;
    let is_marked = pod.workload.template.annotation(keys::STATUS).is_some();
    if !is_marked || release.is_some_and(|release| release < MERGES) {
        return Reinjection::Replaced;
    }
    if pod.prober_env.is_none() && release.is_some_and(|release| release < APPENDS) {
        return Reinjection::Dropped;
    }
    Reinjection::Merged
}

/// Returns whether the injector records any handler. It considers a probe as rewritten only if its port
/// is the number of the mesh's status port; it does not compare names and gRPC ports.
///
/// Source: Istio 1.31, `pkg/kube/inject/app_probe.go`.
fn records_any_handler<'t>(facts: &PodFacts<'_, 't>, pod: &WorkloadPrediction<'t>) -> bool {
    let mesh_port = facts.mesh_status_port().value;
    let containers = pod.workload.template.containers();
    containers
        .iter()
        .filter(|container| container.name() != keys::PROXY_CONTAINER)
        .any(|container| {
            container.handlers().into_iter().any(|handler| {
                let Ok(action) = &handler.action else {
                    return false;
                };
                let is_done = match action.port() {
                    None => return false,
                    Some(Port::Number(number)) => {
                        number == mesh_port && !matches!(action, ProbeHandler::Grpc { .. })
                    }
                    Some(name) => resolve(&name, container, &pod.workload).is_err(),
                };
                !is_done && is_supported(facts, pod, container, &handler)
            })
        })
}

/// Returns why the agent of a pod refuses its prober env; `None` if it starts. Of several entries, the
/// first by path is returned.
pub(in crate::predict) fn prober_env_fault(pod: &WorkloadPrediction<'_>) -> Option<ProberEnvFault> {
    let env = pod.prober_env.as_ref()?;
    if pod.reinjection == Reinjection::Replaced {
        return None;
    }
    let probers = match &env.probers {
        Ok(probers) => probers,
        Err(UnreadableProberEnv::Elsewhere(_)) => return None,
        Err(UnreadableProberEnv::Invalid(error)) => {
            let why = format!("it is not a JSON object ({error})");
            return Some(ProberEnvFault::Invalid { path: None, why });
        }
    };
    let invalid = probers.iter().find_map(|(path, json)| {
        let why = prober_json::rejection_reason(path, json)?.to_owned();
        let path = Some(path.clone());
        Some(ProberEnvFault::Invalid { path, why })
    });
    let is_old = pod.release.value.is_some_and(|release| release < HOOKS);
    invalid.or_else(|| {
        let path = probers.keys().find(|path| is_hook_path(path))?.clone();
        is_old.then_some(ProberEnvFault::Hook { path })
    })
}

//! What the agent reads its probers from, after the injector has had its say.

use crate::context::{Context, Unread};
use crate::kube::{Action, Port};
use crate::mesh::Version;
use crate::mesh::istio::rewrite::{HOOKS, is_hook_path};
use crate::mesh::istio::{keys, prober_json};

use super::verdict::resolve;
use super::{WorkloadPrediction, is_supported};

/// The first release that adds what it records to the env of a pod which is marked as injected.
const MERGES: Version = Version::new(1, 17);

/// The first release that does so also where there is no env.
const APPENDS: Version = Version::new(1, 27);

/// What the injector does to the prober env of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reinjection {
    /// The env stays as it is.
    Untouched,
    /// What it records is added to the env; entries that are there win.
    Merged,
    /// It appends an env of its own, and of two the last one counts.
    Replaced,
    /// What it records is thrown away: there is no env to add it to.
    Dropped,
}

/// Source: Istio 1.10 to 1.31, `pkg/kube/inject/webhook.go` (`mergeOrAppendProbers`); measured with
/// 18 releases.
pub(super) fn reinjection<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Reinjection {
    if !(pod.is_asked && pod.rewrite.value && records(context, pod)) {
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

/// Tells whether the injector records any handler. It takes a number for the agent's, and the
/// probe for done, only if it is the port of the mesh; names and gRPC are not compared.
/// Source: Istio 1.31, `pkg/kube/inject/app_probe.go`.
fn records<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> bool {
    let mesh_port = context.mesh_status_port(&pod.workload).value;
    let containers = pod.workload.template.containers();
    let mut applications = containers
        .iter()
        .filter(|container| container.name() != keys::PROXY_CONTAINER);
    applications.any(|container| {
        container.handlers().into_iter().any(|handler| {
            let Ok(action) = &handler.action else {
                return false;
            };
            let is_done = match action.port() {
                None => return false,
                Some(Port::Number(number)) => {
                    number == mesh_port && !matches!(action, Action::Grpc { .. })
                }
                Some(name) => resolve(&name, container, &pod.workload).is_err(),
            };
            !is_done && is_supported(context, pod, container, &handler)
        })
    })
}

/// Why the agent does not start: it refuses its prober env.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvRefusal {
    /// An entry is not acceptable, or the whole value is none.
    Invalid {
        /// The path of the entry; `None` for the whole value.
        path: Option<String>,
        /// What is wrong with it: "its entry `path`" followed by this, or a sentence of its own.
        why: String,
    },
    /// The path of a hook, which the release does not know.
    Hook {
        /// The path.
        path: String,
    },
}

/// Returns why the agent of a pod does not start, if it does not: the first entry in the order of
/// their paths.
pub(super) fn refusal(pod: &WorkloadPrediction<'_>) -> Option<EnvRefusal> {
    let env = pod.prober_env.as_ref()?;
    if pod.reinjection == Reinjection::Replaced {
        return None;
    }
    let probers = match &env.probers {
        Ok(probers) => probers,
        Err(Unread::Elsewhere(_)) => return None,
        Err(Unread::Invalid(error)) => {
            let why = format!("it is no JSON object ({error})");
            return Some(EnvRefusal::Invalid { path: None, why });
        }
    };
    let mut entries = probers.iter();
    let invalid = entries.find_map(|(path, json)| {
        let why = prober_json::refused(path, json)?.to_owned();
        let path = Some(path.clone());
        Some(EnvRefusal::Invalid { path, why })
    });
    let is_old = pod.release.value.is_some_and(|release| release < HOOKS);
    invalid.or_else(|| {
        let path = probers.keys().find(|path| is_hook_path(path))?.clone();
        is_old.then_some(EnvRefusal::Hook { path })
    })
}

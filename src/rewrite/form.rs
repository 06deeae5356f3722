//! The forms of a rewrite: what carries the prober env, and whether the rewrite also opts out of the webhook's own.

mod annotation;
mod container;
mod container_only;
mod partial_container;

use std::collections::BTreeMap;

use crate::context::{Context, ProberEnvPlace, proxy_container};
use crate::kube::ContainerList;
use crate::mesh::istio::{keys, prober_json};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::settings::Form;
use crate::yaml::{Change, NodeRef, Value};

use super::guard::Refusal;

/// How one pod is written: the form asked for, or the one it is written in already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writing {
    /// The form.
    pub(super) form: Form,
    /// What carries the env.
    pub(super) place: Place,
    /// Whether the rewritten pod opts out of the webhook's own rewrite.
    pub(super) opts_out: bool,
}

/// What carries the prober env.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The annotation `proxy.istio.io/config`.
    Annotation,
    /// The `istio-proxy` container that the manifest holds.
    Container,
    /// An `istio-proxy` container that is added.
    NewContainer,
}

impl Writing {
    /// Decides how `pod` is written when `asked` is the form that the user wants. A pod that is
    /// written already keeps its carrier: two of them would give the sidecar two envs.
    pub(super) fn of(asked: Form, pod: &WorkloadPrediction<'_>) -> Self {
        let form = match written(pod) {
            Some(Form::Annotation) => Form::Annotation,
            Some(Form::Container) if asked == Form::ContainerOnly => Form::Container,
            _ => asked,
        };
        let in_annotation = pod
            .prober_env
            .as_ref()
            .is_some_and(|env| env.place == ProberEnvPlace::ProxyMetadata);
        let place = if in_annotation {
            Place::Annotation
        } else if proxy_container(&pod.workload).is_some() {
            Place::Container
        } else if form == Form::Annotation {
            Place::Annotation
        } else {
            Place::NewContainer
        };
        Self {
            form,
            place,
            opts_out: form != Form::ContainerOnly || !pod.rewrite.value,
        }
    }

    /// Returns the port that the written probes name. Beside the opt-out they stay as they are
    /// written, so it is the agent's; else the injector points them there itself, and only knows
    /// those at the port of the mesh for rewritten.
    pub(super) fn port(self, context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> i64 {
        if self.opts_out {
            pod.status_port.value
        } else {
            context.mesh_status_port(&pod.workload).value
        }
    }

    /// Returns what is wrong with the probes that ask the agent already, in this form.
    pub(super) fn loops(self, context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Vec<Refusal> {
        if self.opts_out {
            return Vec::new();
        }
        container_only::loops(context, pod)
    }

    /// Returns the guards of this form alone. `wanted` are the handlers that are rewritten.
    pub(super) fn refusals(
        self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
        wanted: &[&HandlerPrediction<'_>],
    ) -> Vec<Refusal> {
        if self.opts_out {
            return Vec::new();
        }
        container_only::refusals(context, pod, wanted)
    }

    /// Returns the changes that give the sidecar `probers` beside those it has, and that switch
    /// the webhook's own rewrite off where the form asks for it.
    pub(super) fn carry(
        self,
        pod: &WorkloadPrediction<'_>,
        probers: BTreeMap<String, String>,
    ) -> Result<Vec<Change>, Refusal> {
        let json = prober_json::object(&merged(pod, probers)?);
        let mut changes = Vec::new();
        if self.form != Form::ContainerOnly {
            changes.push(opt_out(pod));
        }
        changes.push(match (self.place, proxy_container(&pod.workload)) {
            (Place::Annotation, _) => annotation::carry(pod, &json)?,
            (_, Some(proxy)) => container::carry(&proxy, json),
            (_, None) => partial_container::carry(pod, json),
        });
        Ok(changes)
    }
}

/// Returns the form that a pod is written in, where its manifest shows that it is one of ours.
pub(super) fn written(pod: &WorkloadPrediction<'_>) -> Option<Form> {
    let env = pod.prober_env.as_ref()?;
    if env.place == ProberEnvPlace::ProxyMetadata {
        return Some(Form::Annotation);
    }
    let containers = pod.workload.template.containers_in(ContainerList::Main);
    let last = containers.last()?;
    let keys: Vec<&str> = last
        .node
        .entries()
        .filter_map(|entry| entry.key.text())
        .collect();
    let alone = last.node.get("env").map(NodeRef::items)?.count() == 1;
    let is_ours = last.name() == keys::PROXY_CONTAINER
        && last.image() == Some(partial_container::IMAGE)
        && keys == ["name", "image", "env"]
        && alone;
    let form = if pod.rewrite.value {
        Form::ContainerOnly
    } else {
        Form::Container
    };
    is_ours.then_some(form)
}

fn opt_out(pod: &WorkloadPrediction<'_>) -> Change {
    Change::Set {
        route: pod
            .workload
            .template
            .annotation_route(keys::REWRITE_PROBERS),
        value: Value::from("false"),
    }
}

/// Existing entries are kept; one that says something else is a conflict.
fn merged(
    pod: &WorkloadPrediction<'_>,
    probers: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(env) = &pod.prober_env else {
        return Ok(probers);
    };
    let mut all = env.probers.clone().unwrap_or_default();
    for (key, json) in probers {
        match all.get(&key) {
            Some(existing) if *existing != json => {
                let said = format!("its {} already holds another {key}", keys::PROBERS_ENV);
                return Err(Refusal::new("prober-env-conflict", env.span, said));
            }
            _ => {
                all.insert(key, json);
            }
        }
    }
    Ok(all)
}

//! The form of a rewrite.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::istio::{keys, prober_json};
use meshprobe_mesh::settings::{Form, FormChoice};
use meshprobe_predict::context::{Context, ProberEnvPlace, proxy_container};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, NodeRef, Value};

use crate::rewrite::form::choice::{ChosenForm, ContainerReason};
use crate::rewrite::form::{annotation, container, container_only, partial_container};
use crate::rewrite::guard::failure::GuardFailure;

/// How one pod is written: in the requested form, or in the form that it already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rewrite) struct RewriteForm {
    pub(in crate::rewrite) form: Form,
    /// What carries the env.
    pub(in crate::rewrite) place: EnvCarrier,
    /// Whether the rewritten pod opts out of the webhook's rewrite.
    pub(in crate::rewrite) opts_out: bool,
    /// Why `auto` chose a new container.
    pub(in crate::rewrite) reason: Option<ContainerReason>,
}

/// What carries the prober env.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rewrite) enum EnvCarrier {
    /// The annotation `proxy.istio.io/config`.
    Annotation,
    /// The `istio-proxy` container of the manifest.
    Container,
    /// An `istio-proxy` container that is added.
    NewContainer,
}

impl RewriteForm {
    /// Decides how to write `pod`. The user requests a form with `choice`; a pod that is already rewritten keeps its
    /// carrier, because two carriers would give the sidecar two prober envs.
    pub(in crate::rewrite) fn of(
        choice: FormChoice,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Self {
        let chosen = ChosenForm::of(choice, context, pod);
        let form = match existing_form(pod) {
            Some(Form::Annotation) => Form::Annotation,
            Some(existing) if choice == FormChoice::Auto => existing,
            Some(Form::Container) if chosen.form == Form::ContainerOnly => Form::Container,
            _ => chosen.form,
        };
        let in_annotation = pod
            .prober_env
            .as_ref()
            .is_some_and(|env| env.place == ProberEnvPlace::ProxyMetadata);
        let place = if in_annotation {
            EnvCarrier::Annotation
        } else if proxy_container(&pod.workload).is_some() {
            EnvCarrier::Container
        } else if form == Form::Annotation {
            EnvCarrier::Annotation
        } else {
            EnvCarrier::NewContainer
        };
        Self {
            form,
            place,
            opts_out: form != Form::ContainerOnly || !pod.rewrite.value,
            reason: chosen.reason.filter(|_| place == EnvCarrier::NewContainer),
        }
    }

    /// Returns the port that the rewritten probes target. With the opt-out the injector does not change them, so it is
    /// the port of the agent. Without it, the injector sets the port itself, and treats only probes at the status port
    /// of the mesh as rewritten.
    pub(in crate::rewrite) fn port(
        self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> i64 {
        if self.opts_out {
            pod.status_port.value
        } else {
            context.istio(&pod.workload).ports().mesh_status().value
        }
    }

    /// Returns a refusal for each probe that already targets the agent and would break in this form.
    pub(in crate::rewrite) fn loops(
        self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> Vec<GuardFailure> {
        if self.opts_out {
            return Vec::new();
        }
        container_only::loops(context, pod)
    }

    /// Returns the refusals that apply only to this form. `wanted` are the handlers to rewrite.
    pub(in crate::rewrite) fn refusals(
        self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
        wanted: &[&HandlerPrediction<'_>],
    ) -> Vec<GuardFailure> {
        if self.opts_out {
            return Vec::new();
        }
        container_only::refusals(context, pod, wanted)
    }

    /// Returns the changes that add `probers` to the prober env of the sidecar and, if the form requires it, switch off
    /// the webhook's rewrite.
    pub(in crate::rewrite) fn set_prober_env(
        self,
        pod: &WorkloadPrediction<'_>,
        probers: BTreeMap<String, String>,
    ) -> Result<Vec<Change>, GuardFailure> {
        let json = prober_json::object(&merged(pod, probers)?);
        let mut changes = Vec::new();
        if self.form != Form::ContainerOnly {
            changes.push(opt_out(pod));
        }
        changes.push(match (self.place, proxy_container(&pod.workload)) {
            (EnvCarrier::Annotation, _) => annotation::set_prober_env(pod, &json)?,
            (_, Some(proxy)) => container::set_prober_env(&proxy, json),
            (_, None) => partial_container::set_prober_env(pod, json),
        });
        Ok(changes)
    }
}

/// Returns the form of a pod whose manifest shows that meshprobe rewrote it.
pub(in crate::rewrite) fn existing_form(pod: &WorkloadPrediction<'_>) -> Option<Form> {
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
    let is_only_variable = last.node.get("env").map(NodeRef::items)?.count() == 1;
    let is_ours = last.name() == keys::PROXY_CONTAINER
        && last.image() == Some(partial_container::IMAGE)
        && keys == ["name", "image", "env"]
        && is_only_variable;
    let form = if pod.rewrite.value {
        Form::ContainerOnly
    } else {
        Form::Container
    };
    is_ours.then_some(form)
}

/// Returns the change that sets the opt-out.
pub(in crate::rewrite) fn opt_out(pod: &WorkloadPrediction<'_>) -> Change {
    Change::Set {
        route: pod
            .workload
            .template
            .annotation_route(keys::REWRITE_PROBERS),
        value: Value::from("false"),
    }
}

/// Adds `probers` to the entries of the pod's prober env.
///
/// # Errors
/// A refusal if an existing entry has another value.
pub(in crate::rewrite) fn merged(
    pod: &WorkloadPrediction<'_>,
    probers: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, GuardFailure> {
    let Some(env) = &pod.prober_env else {
        return Ok(probers);
    };
    let mut all = env.probers.clone().unwrap_or_default();
    for (key, json) in probers {
        match all.get(&key) {
            Some(existing) if *existing != json => {
                let message = format!(
                    "its `{}` already contains another entry `{key}`",
                    keys::PROBERS_ENV
                );
                return Err(GuardFailure::new(
                    GuardId::PROBER_ENV_CONFLICT,
                    env.span,
                    message,
                ));
            }
            _ => {
                all.insert(key, json);
            }
        }
    }
    Ok(all)
}

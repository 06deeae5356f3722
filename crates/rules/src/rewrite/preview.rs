//! Previews of pods of other meshes than Istio: the output of their webhook, to read.
//!
//! These meshes store the originals outside of manifests, so a rewrite in the manifests and the rewrite of the webhook
//! are not compatible: without `--preview`, such pods are refused.

use meshprobe_mesh::finding::{Finding, GuardId, Severity};
use meshprobe_mesh::kube::{ProbeHandler, Unreadable, Workload};
use meshprobe_mesh::mesh::model::{Addition, HandlerRef, Membership, RewriteSupport};
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::{Cause, HandlerPrediction, RewrittenHandler, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rewrite::guards;
use crate::rewrite::injection_guards::injection_unproven;
use crate::rewrite::plan::{GuardFailure, PodOutcome, refuse};

/// The configuration of one pod's proxy for its probes.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyConfiguration {
    /// `shop/Deployment/web`.
    pub title: String,
    /// The assumptions, each with the option that settles it.
    pub assumed: Vec<String>,
    /// Listeners and clusters in the format of the proxy.
    pub resources: serde_json::Value,
}

/// The configurations of the proxies of a tree for the probes of their pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProxyConfigurations {
    /// The proxies that have such a configuration.
    pub proxies: Vec<ProxyConfiguration>,
    /// Why the configuration of other proxies cannot be determined.
    pub findings: Vec<Finding>,
}

/// Plans one pod; returns `None` for a pod of Istio. `injected_as` is the workload as it is injected, with the facts
/// that apply there.
pub(super) fn rewrite<'t>(
    context: &Context<'t>,
    injected_as: (&Context<'t>, &Workload<'t>),
    pod: &WorkloadPrediction<'t>,
) -> Option<PodOutcome> {
    let mesh = pod.mesh.value.filter(|mesh| *mesh != Mesh::ISTIO)?;
    let left = |refusal: GuardFailure| PodOutcome::left([refusal.finding(pod)]);
    let Some(other) = injected_as.0.mesh_of(injected_as.1).pod() else {
        return Some(PodOutcome::default());
    };
    let uses_network = pod.handlers.iter().any(uses_network_port);
    match other.membership.value {
        Membership::Refused if uses_network => return Some(left(refused(pod, mesh))),
        Membership::Unknown if uses_network => return Some(left(injection_unproven(context, pod))),
        Membership::Injected => {}
        _ => return Some(PodOutcome::default()),
    }
    if !pod.handlers.iter().any(|handler| handler.rewritten) {
        return Some(PodOutcome::default());
    }
    let mut refusals: Vec<GuardFailure> = guards::document(context, pod).into_iter().collect();
    refusals.extend(too_old(pod, mesh, other.input.release, other.model.shape()));
    refusals.extend(pod.handlers.iter().filter_map(unreadable));
    if !context.settings.preview {
        refusals.push(preview_only(pod, mesh, other.model.shape()));
    }
    let additions = other.model.additions(&other.input, &handler_refs(pod));
    if let Err((place, why)) = &additions {
        let object = &pod.workload.object;
        let span = match *place.path == **object.path() {
            true => place.span,
            false => object.name_span(),
        };
        refusals.push(refuse(GuardId::ANNOTATION_TAKEN, span, why.clone()));
    }
    if !refusals.is_empty() {
        let findings = refusals.into_iter().map(|refusal| refusal.finding(pod));
        return Some(PodOutcome::left(findings));
    }
    let mut changes: Vec<Change> = pod.handlers.iter().flat_map(handler_changes).collect();
    let additions = additions.into_iter().flatten();
    changes.extend(additions.map(|addition| addition_change(pod, addition)));
    let findings = vec![note(pod, mesh, other.model.caution(other.input.release))];
    Some(PodOutcome { changes, findings })
}

/// Returns the configuration of the proxies of injected pods for their probes, if the mesh writes it into the
/// bootstrap configuration, and a finding for each pod whose configuration cannot be determined.
#[must_use]
pub fn proxies(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> ProxyConfigurations {
    let mut configurations = ProxyConfigurations::default();
    let targets = predictions.iter().filter(|prediction| prediction.is_target);
    for pod in targets.filter(|pod| pod.handlers.iter().any(uses_network_port)) {
        let (Some(mesh), Some(other)) = (pod.mesh.value, context.mesh_of(&pod.workload).pod())
        else {
            continue;
        };
        let (release, shape) = (other.input.release, other.model.shape());
        let refusal = match other.membership.value {
            _ if !other.model.has_bootstrap() => continue,
            Membership::Refused => Some(refused(pod, mesh)),
            Membership::Unknown => Some(injection_unproven(context, pod)),
            Membership::Injected => too_old(pod, mesh, release, shape),
            Membership::AlreadyInjected | Membership::Outside => continue,
        };
        if let Some(refusal) = refusal {
            configurations.findings.push(refusal.finding(pod));
            continue;
        }
        let resources = other
            .model
            .bootstrap_config(&other.input, &handler_refs(pod));
        let namespace = pod.namespace.as_ref().map(|name| format!("{name}/"));
        configurations
            .proxies
            .extend(resources.map(|resources| ProxyConfiguration {
                title: format!("{}{}", namespace.unwrap_or_default(), pod.workload.title()),
                assumed: assumed(pod),
                resources,
            }));
    }
    configurations
}

/// Returns the assumptions that the membership of a pod depends on.
fn assumed(pod: &WorkloadPrediction<'_>) -> Vec<String> {
    pod.dataplane
        .because
        .iter()
        .filter(|reason| reason.place.is_none())
        .filter_map(|reason| Some(format!("{} [{}]", reason.message, reason.settle?)))
        .collect()
}

fn handler_refs<'t>(pod: &WorkloadPrediction<'t>) -> Vec<HandlerRef<'t>> {
    pod.handlers
        .iter()
        .map(|prediction| (prediction.container.clone(), prediction.handler.clone()))
        .collect()
}

fn uses_network_port(prediction: &HandlerPrediction<'_>) -> bool {
    let action = prediction.handler.action.as_ref();
    action.is_ok_and(|action| action.port().is_some())
}

fn refused(pod: &WorkloadPrediction<'_>, mesh: Mesh) -> GuardFailure {
    let reason = pod.dataplane.because.first();
    let reason = reason.map_or("the reason is not known", |reason| reason.message.as_str());
    refuse(
        GuardId::ADMISSION_REFUSED,
        pod.workload.object.name_span(),
        format!("{} would reject it ({reason})", mesh.title()),
    )
    .with_help("`meshprobe check` shows the cause; fix it first")
}

fn too_old(
    pod: &WorkloadPrediction<'_>,
    mesh: Mesh,
    release: Option<Version>,
    shape: RewriteSupport,
) -> Option<GuardFailure> {
    let release = release.filter(|release| *release < shape.oldest)?;
    let message = format!(
        "`rewrite` does not support {} {release}; the oldest supported release is {}",
        mesh.title(),
        shape.oldest
    );
    Some(refuse(
        GuardId::RELEASE_TOO_OLD,
        pod.workload.object.name_span(),
        message,
    ))
}

fn unreadable(prediction: &HandlerPrediction<'_>) -> Option<GuardFailure> {
    let span = prediction.handler.kind_span();
    match (&prediction.handler.action, prediction.verdict.cause) {
        (Err(Unreadable::Malformed(error)), _) => {
            let message = format!(
                "{}: the API server would reject it: {}",
                prediction.title(),
                error.message
            );
            Some(refuse(GuardId::INVALID_HANDLER, span, message))
        }
        (Err(Unreadable::Placeholder(_)), _) | (_, Cause::Placeholder) => {
            let message = format!("{}: a value is a placeholder", prediction.title());
            Some(refuse(GuardId::PLACEHOLDER, span, message))
        }
        _ => None,
    }
}

fn preview_only(pod: &WorkloadPrediction<'_>, mesh: Mesh, shape: RewriteSupport) -> GuardFailure {
    let message = format!(
        "{} injects it and rewrites its probes itself; {}",
        mesh.title(),
        shape.not_deployable
    );
    refuse(
        GuardId::PREVIEW_ONLY,
        pod.workload.object.name_span(),
        message,
    )
    .with_help("`--preview` shows the output of the webhook; do not deploy it")
}

fn note(pod: &WorkloadPrediction<'_>, mesh: Mesh, caution: &str) -> Finding {
    let message = format!(
        "{} is shown as {} would rewrite it: {}",
        pod.workload.title(),
        mesh.title(),
        caution
    );
    let object = &pod.workload.object;
    let id = (GuardId::PREVIEW, Severity::Note);
    Finding::on_object(object, object.name_span(), id, message)
}

/// Returns the changes that the webhook makes to a handler.
fn handler_changes(prediction: &HandlerPrediction<'_>) -> Vec<Change> {
    let (Some(rewritten_to), Ok(action)) = (&prediction.rewritten_to, &prediction.handler.action)
    else {
        return Vec::new();
    };
    let ProbeHandler::HttpGet(http) = action else {
        return vec![Change::replace(
            prediction.handler.route.child(action.key()),
            "httpGet".to_owned(),
            http_get_value(rewritten_to),
        )];
    };
    let route = prediction.handler.route.child("httpGet");
    let set = |key: &'static str, value: Value| Change::set(route.child(key), value);
    let mut changes = Vec::new();
    if http.path != rewritten_to.path {
        changes.push(set("path", Value::Str(rewritten_to.path.clone())));
    }
    changes.push(set("port", Value::Int(rewritten_to.port)));
    if let Some(headers) = rewritten_to
        .headers
        .as_ref()
        .filter(|new| **new != http.headers)
    {
        changes.push(set("httpHeaders", header_list(headers)));
    }
    if rewritten_to.drops_origin {
        let node = prediction.handler.node.get("httpGet");
        let present = ["host", "scheme"]
            .into_iter()
            .filter(|key| node.is_some_and(|node| node.get(key).is_some()));
        changes.extend(present.map(|key| Change::remove(route.child(key))));
    }
    changes
}

fn http_get_value(rewritten_to: &RewrittenHandler) -> Value {
    let mut fields = vec![
        ("path".to_owned(), Value::Str(rewritten_to.path.clone())),
        ("port".to_owned(), Value::Int(rewritten_to.port)),
    ];
    let headers = rewritten_to.headers.as_ref().filter(|all| !all.is_empty());
    if let Some(headers) = headers {
        fields.push(("httpHeaders".to_owned(), header_list(headers)));
    }
    Value::Map(fields)
}

fn header_list(headers: &[(String, String)]) -> Value {
    let header = |(name, value): &(String, String)| {
        Value::Map(vec![
            ("name".to_owned(), Value::Str(name.clone())),
            ("value".to_owned(), Value::Str(value.clone())),
        ])
    };
    Value::Seq(headers.iter().map(header).collect())
}

fn addition_change(pod: &WorkloadPrediction<'_>, addition: Addition) -> Change {
    let template = &pod.workload.template;
    match addition {
        Addition::Container(value) => {
            Change::push(template.route.child("spec").child("containers"), value)
        }
        Addition::Removal(route) => Change::remove(template.route.join(&route)),
        Addition::Annotation(key, value) => Change::set(template.annotation_route(key), value),
    }
}

/// Returns whether a rewrite would change a pod of another mesh; `None` for a pod of Istio.
pub(super) fn needs_rewrite(pod: &WorkloadPrediction<'_>) -> Option<bool> {
    pod.mesh.value.filter(|mesh| *mesh != Mesh::ISTIO)?;
    let rewritten = pod.handlers.iter().any(|handler| handler.rewritten);
    Some(rewritten && pod.dataplane.value == Dataplane::Other)
}

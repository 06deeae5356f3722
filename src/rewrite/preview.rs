//! Pods of a mesh that is not Istio: what its webhook would make of them, to be looked at.
//!
//! These meshes keep the originals where no manifest reaches, so a rewrite in the manifests and the
//! webhook's own do not go together: without `--preview` such pods are refused.

use crate::context::{Context, Dataplane};
use crate::finding::{Finding, Severity};
use crate::kube::{Action, Unreadable, Workload};
use crate::mesh::other::{Addition, Each, Membership, Shape};
use crate::mesh::{Mesh, Version};
use crate::predict::{Becomes, Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Value};

use super::guard::{self, Refusal};
use super::pod::Outcome;

/// What the proxy of one pod is told of its probes.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// `shop/Deployment/web`.
    pub title: String,
    /// What had to be taken for granted, each with the option that settles it.
    pub assumed: Vec<String>,
    /// Listeners and clusters, as the proxy reads them.
    pub resources: serde_json::Value,
}

/// What the proxies of a tree are told of the probes of their pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Those that are told something.
    pub proxies: Vec<Proxy>,
    /// Why nobody can say what others are told.
    pub findings: Vec<Finding>,
}

/// Plans one pod; `None` where it is Istio's. `there` is where it is injected.
pub(super) fn rewrite<'t>(
    context: &Context<'t>,
    there: (&Context<'t>, &Workload<'t>),
    pod: &WorkloadPrediction<'t>,
) -> Option<Outcome> {
    let mesh = pod.mesh.value.filter(|mesh| *mesh != Mesh::Istio)?;
    let left = |refusal: Refusal| Outcome::left([refusal.finding(pod)]);
    let Some(other) = there.0.other_pod(there.1) else {
        return Some(Outcome::default());
    };
    let asks = pod.handlers.iter().any(goes_over_the_network);
    match other.membership.value {
        Membership::Refused if asks => return Some(left(refused(pod, mesh))),
        Membership::Unknown if asks => return Some(left(unproven(pod))),
        Membership::Injected => {}
        _ => return Some(Outcome::default()),
    }
    if !pod.handlers.iter().any(|one| one.rewritten) {
        return Some(Outcome::default());
    }
    let mut refusals: Vec<Refusal> = guard::document(context, pod).into_iter().collect();
    refusals.extend(too_old(pod, mesh, other.asked.release, other.model.shape()));
    refusals.extend(pod.handlers.iter().filter_map(unreadable));
    if !context.settings.preview {
        refusals.push(preview_only(pod, mesh, other.model.shape()));
    }
    let additions = other.model.additions(&other.asked, &each(pod));
    if let Err((place, why)) = &additions {
        let object = &pod.workload.object;
        let span = match *place.path == **object.path() {
            true => place.span,
            false => object.name_span(),
        };
        refusals.push(Refusal::new("annotation-taken", span, why.clone()));
    }
    if !refusals.is_empty() {
        let findings = refusals.into_iter().map(|one| one.finding(pod));
        return Some(Outcome::left(findings));
    }
    let mut changes: Vec<Change> = pod.handlers.iter().flat_map(point).collect();
    let additions = additions.into_iter().flatten();
    changes.extend(additions.map(|one| add(pod, one)));
    let findings = vec![note(pod, mesh, other.model.shape())];
    Some(Outcome { changes, findings })
}

/// Returns what the proxies of injected pods are told of their probes, where that is written into
/// their configuration, and for which pods nobody can say it.
#[must_use]
pub(crate) fn proxies(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Told {
    let mut told = Told::default();
    let targets = predictions.iter().filter(|one| one.is_target);
    for pod in targets.filter(|pod| pod.handlers.iter().any(goes_over_the_network)) {
        let (Some(mesh), Some(other)) = (pod.mesh.value, context.other_pod(&pod.workload)) else {
            continue;
        };
        let (release, shape) = (other.asked.release, other.model.shape());
        let refusal = match other.membership.value {
            _ if !other.model.has_bootstrap() => continue,
            Membership::Refused => Some(refused(pod, mesh)),
            Membership::Unknown => Some(unproven(pod)),
            Membership::Injected => too_old(pod, mesh, release, shape),
            Membership::Brought | Membership::Outside => continue,
        };
        if let Some(refusal) = refusal {
            told.findings.push(refusal.finding(pod));
            continue;
        }
        let resources = other.model.proxy(&other.asked, &each(pod));
        let namespace = pod.namespace.as_ref().map(|name| format!("{name}/"));
        told.proxies.extend(resources.map(|resources| Proxy {
            title: format!("{}{}", namespace.unwrap_or_default(), pod.workload.title()),
            assumed: assumed(pod),
            resources,
        }));
    }
    told
}

/// What the membership of a pod rests on, beside what is written.
fn assumed(pod: &WorkloadPrediction<'_>) -> Vec<String> {
    let reasons = pod.dataplane.because.iter();
    reasons
        .filter(|reason| reason.place.is_none())
        .filter_map(|reason| Some(format!("{} [{}]", reason.message, reason.settle?)))
        .collect()
}

fn each<'t>(pod: &WorkloadPrediction<'t>) -> Vec<Each<'t>> {
    let handlers = pod.handlers.iter();
    handlers
        .map(|one| (one.container.clone(), one.handler.clone()))
        .collect()
}

fn goes_over_the_network(one: &HandlerPrediction<'_>) -> bool {
    let action = one.handler.action.as_ref();
    action.is_ok_and(|action| action.port().is_some())
}

fn refused(pod: &WorkloadPrediction<'_>, mesh: Mesh) -> Refusal {
    let reason = pod.dataplane.because.first();
    let said = reason.map_or("it does not say why", |reason| reason.message.as_str());
    Refusal::new(
        "admission-refused",
        pod.workload.object.name_span(),
        format!("{} would not admit it ({said})", mesh.title()),
    )
    .with_help("`meshprobe check` names the place; mend it first")
}

fn unproven(pod: &WorkloadPrediction<'_>) -> Refusal {
    let because: Vec<&str> = pod
        .dataplane
        .because
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    let said = format!(
        "nothing proves that it will be injected ({})",
        because.join("; ")
    );
    Refusal::new("injection-unproven", pod.workload.object.name_span(), said).with_help(
        "add the Namespace manifest to the run (`--context`), or say `--assume injection=all`",
    )
}

fn too_old(
    pod: &WorkloadPrediction<'_>,
    mesh: Mesh,
    release: Option<Version>,
    shape: Shape,
) -> Option<Refusal> {
    let release = release.filter(|release| *release < shape.oldest)?;
    let said = format!(
        "{} {release} is only linted, rewriting starts at {}",
        mesh.title(),
        shape.oldest
    );
    Some(Refusal::new(
        "release-too-old",
        pod.workload.object.name_span(),
        said,
    ))
}

fn unreadable(one: &HandlerPrediction<'_>) -> Option<Refusal> {
    let span = one.handler.kind_span();
    match (&one.handler.action, one.verdict.cause) {
        (Err(Unreadable::Malformed(error)), _) => {
            let said = format!(
                "{}: the API server would refuse it: {}",
                one.title(),
                error.message
            );
            Some(Refusal::new("invalid-handler", span, said))
        }
        (Err(Unreadable::Placeholder(_)), _) | (_, Cause::Placeholder) => {
            let said = format!("{}: a value is a placeholder", one.title());
            Some(Refusal::new("placeholder", span, said))
        }
        _ => None,
    }
}

fn preview_only(pod: &WorkloadPrediction<'_>, mesh: Mesh, shape: Shape) -> Refusal {
    let said = format!(
        "{} injects it and rewrites its probes itself; {}",
        mesh.title(),
        shape.why_not
    );
    Refusal::new("preview-only", pod.workload.object.name_span(), said)
        .with_help("`--preview` shows what the webhook makes of it; do not deploy that")
}

fn note(pod: &WorkloadPrediction<'_>, mesh: Mesh, shape: Shape) -> Finding {
    let object = &pod.workload.object;
    let label = object.label_at(object.name_span(), String::new());
    let said = format!(
        "{} is shown as {} would have it: {}",
        pod.workload.title(),
        mesh.title(),
        shape.caution
    );
    let mut finding = Finding::new("preview", Severity::Note, label, said);
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding
}

/// The changes that make of a handler what the webhook makes of it.
fn point(one: &HandlerPrediction<'_>) -> Vec<Change> {
    let (Some(becomes), Ok(action)) = (&one.becomes, &one.handler.action) else {
        return Vec::new();
    };
    let Action::HttpGet(http) = action else {
        return vec![Change::Replace {
            route: one.handler.route.child(action.key()),
            key: "httpGet".to_owned(),
            value: whole(becomes),
        }];
    };
    let route = one.handler.route.child("httpGet");
    let set = |key: &'static str, value: Value| Change::Set {
        route: route.child(key),
        value,
    };
    let mut changes = Vec::new();
    if http.path != becomes.path {
        changes.push(set("path", Value::Str(becomes.path.clone())));
    }
    changes.push(set("port", Value::Int(becomes.port)));
    if let Some(headers) = becomes.headers.as_ref().filter(|new| **new != http.headers) {
        changes.push(set("httpHeaders", header_list(headers)));
    }
    if becomes.drops_origin {
        let node = one.handler.node.get("httpGet");
        let there = ["host", "scheme"]
            .into_iter()
            .filter(|key| node.is_some_and(|node| node.get(key).is_some()));
        changes.extend(there.map(|key| Change::Remove {
            route: route.child(key),
        }));
    }
    changes
}

fn whole(becomes: &Becomes) -> Value {
    let mut fields = vec![
        ("path".to_owned(), Value::Str(becomes.path.clone())),
        ("port".to_owned(), Value::Int(becomes.port)),
    ];
    let headers = becomes.headers.as_ref().filter(|all| !all.is_empty());
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

fn add(pod: &WorkloadPrediction<'_>, addition: Addition) -> Change {
    let template = &pod.workload.template;
    match addition {
        Addition::Container(value) => Change::Push {
            route: template.route.child("spec").child("containers"),
            value,
        },
        Addition::Removal(route) => Change::Remove {
            route: template.route.join(&route),
        },
        Addition::Annotation(key, value) => Change::Set {
            route: template.annotation_route(key),
            value: Value::Str(value),
        },
    }
}

/// Tells whether a pod is another mesh's, and would be rewritten.
pub(super) fn has_work(pod: &WorkloadPrediction<'_>) -> Option<bool> {
    pod.mesh.value.filter(|mesh| *mesh != Mesh::Istio)?;
    let rewritten = pod.handlers.iter().any(|one| one.rewritten);
    Some(rewritten && pod.dataplane.value == Dataplane::Other)
}

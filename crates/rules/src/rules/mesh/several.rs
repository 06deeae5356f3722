//! Rules about several meshes.

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::{Mesh, consul, kuma};
use meshprobe_predict::context::MeshClaim;
use meshprobe_predict::predict::{
    WorkloadPrediction, how_to_judge_for_rivals, injecting_meshes, predict_workload,
};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::RuleContext;

crate::rules::rule::rules! {
    SEVERAL_MESHES = "several-meshes", Warning, fix: None, scope: Workloads, several_meshes;
    MESH_VALUE_REFUSED = "mesh-value-refused", Error, fix: None, scope: Tree, mesh_value_refused;
}

fn several_meshes(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter(|pod| pod.claims.len() > 1);
    pods.map(|pod| report(cx, pod)).collect()
}

fn report(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Finding {
    let title = pod.workload.title();
    let mut message = format!("{} into the pods of {title}", injecting_meshes(pod));
    if let (Some(first), false) = (pod.claims.first(), pod.handlers.is_empty()) {
        let first = first.mesh.title();
        message.push_str(&format!(", whose probes are judged for {first} only"));
    }
    let other_claims = pod.claims.iter().skip(1);
    let certain = other_claims.filter(|claim| claim.is_certain);
    message.extend(certain.filter_map(|claim| other_outcomes(cx, pod, claim)));
    let object = &pod.workload.object;
    let mut finding =
        SEVERAL_MESHES.finding_on_workload(&pod.workload, object.name_span(), message);
    finding.related = pod.claims.iter().map(|claim| claim.place.clone()).collect();
    finding.help = Some(how_to_judge_for_rivals(pod));
    finding
}

/// Returns the end of the message that names the outcomes which only another mesh causes.
fn other_outcomes(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    claim: &MeshClaim,
) -> Option<String> {
    let context = cx.context.assuming_mesh(claim.mesh);
    let other = predict_workload(&context, &pod.workload);
    let handlers = pod.handlers.iter().zip(&other.handlers);
    let outcomes: Vec<String> = handlers
        .filter(|(now, other)| now.verdict.outcome != other.verdict.outcome)
        .map(|(_, other)| format!("{} is `{}`", other.title(), other.verdict.outcome.as_str()))
        .collect();
    let (first, others) = outcomes.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        count => format!(" (and {count} more like this)"),
    };
    Some(format!(
        "; for {}, the outcome of {first}{more}",
        claim.mesh.title()
    ))
}

fn mesh_value_refused(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = cx.namespaces().filter_map(report_namespace).collect();
    let pods = cx.pods().filter(|pod| {
        [Some(Mesh::KUMA), Some(Mesh::CONSUL)].contains(&pod.mesh.value)
            && cx.context.mesh_of(&pod.workload).is_refused()
    });
    for pod in pods {
        // A Namespace is reported once for each environment, regardless of the number of its pods.
        let new_finding = report_pod(cx, pod).filter(|finding| {
            findings.iter().all(|reported| {
                reported.primary != finding.primary || reported.overlays != finding.overlays
            })
        });
        findings.extend(new_finding);
    }
    findings
}

/// Reports a Namespace whose injection label is invalid: the webhook refuses all its pods, except those that set the
/// label themselves.
fn report_namespace(namespace: &Object<'_>) -> Option<Finding> {
    let entry = namespace.label(kuma::INJECTION)?;
    let text = entry.value.text().unwrap_or_default();
    let is_valid = kuma::is_switch(text) || placeholder::contains(text);
    (!is_valid).then(|| {
        let why = format!(
            "the webhook refuses the pod: `{text}` is not a value of `{}`",
            kuma::INJECTION
        );
        about_namespace(namespace, &entry, &why)
    })
}

fn report_pod(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let place = pod
        .dataplane
        .because
        .iter()
        .find_map(|reason| reason.place.as_ref())?;
    let namespace = cx.context.namespace_of(&workload.object).manifest();
    let in_namespace = namespace.and_then(|namespace| {
        let labels = namespace.metadata()?.get("labels");
        Some((namespace, entry_at(place, namespace, labels)?))
    });
    if let Some((namespace, entry)) = in_namespace {
        if cx.is_target(namespace) {
            return Some(about_namespace(namespace, &entry, &place.message));
        }
        let span = workload.object.name_span();
        let mut finding = about_pod(workload, &entry, span, &place.message);
        finding.relate(place.clone());
        return Some(finding);
    }
    let template = &workload.template;
    let Some(entry) = [template.annotations(), template.labels()]
        .into_iter()
        .find_map(|entries| entry_at(place, &workload.object, entries))
    else {
        let is_consul = pod.mesh.value == Some(Mesh::CONSUL);
        let by_user = || report_user(workload, place).filter(|_| is_consul);
        return report_container(workload, place).or_else(by_user);
    };
    // Rule `consul-multiport-tproxy` reports several services.
    let is_reported_here = entry.key.text() != Some(consul::SERVICE);
    is_reported_here.then(|| about_pod(workload, &entry, entry.value.span(), &place.message))
}

/// Reports a container that has the name of one that the webhook adds.
fn report_container(workload: &Workload<'_>, place: &Label) -> Option<Finding> {
    let span = workload
        .template
        .containers()
        .iter()
        .filter_map(|container| Some(container.node.get("name")?.span()))
        .find(|span| workload.object.label_at(*span, "").is_at(place))?;
    let message = format!(
        "{} never starts because {}",
        workload.title(),
        place.message
    );
    let mut finding = MESH_VALUE_REFUSED.finding_on_workload(workload, span, message);
    finding.help = Some(format!(
        "rename the container, or keep the annotation `{}` of an injected pod",
        consul::STATUS
    ));
    Some(finding)
}

/// Reports the user of a pod or of a container.
fn report_user(workload: &Workload<'_>, place: &Label) -> Option<Finding> {
    if place.path != *workload.object.path() {
        return None;
    }
    let message = format!(
        "{} never starts because {}",
        workload.title(),
        place.message
    );
    let mut finding = MESH_VALUE_REFUSED.finding_on_workload(workload, place.span, message);
    finding.help = Some("set another `runAsUser`".to_owned());
    Some(finding)
}

/// Returns the entry whose value is at a place.
fn entry_at<'t>(
    place: &Label,
    object: &Object<'t>,
    entries: Option<NodeRef<'t>>,
) -> Option<Entry<'t>> {
    entries?
        .entries()
        .find(|entry| object.label_at(entry.value.span(), "").is_at(place))
}

fn about_pod(
    workload: &Workload<'_>,
    entry: &Entry<'_>,
    span: meshprobe_yaml::Span,
    why: &str,
) -> Finding {
    let message = format!("{} never starts because {why}", workload.title());
    let mut finding = MESH_VALUE_REFUSED.finding_on_workload(workload, span, message);
    finding.help = Some(help(entry));
    finding
}

fn about_namespace(namespace: &Object<'_>, entry: &Entry<'_>, why: &str) -> Finding {
    let message = format!(
        "pods of Namespace `{}` never start because {why}",
        namespace.name()
    );
    let mut finding =
        MESH_VALUE_REFUSED.finding_on_deployed(namespace, entry.value.span(), message);
    finding.help = Some(help(entry));
    finding
}

fn help(entry: &Entry<'_>) -> String {
    let text = entry.value.text().unwrap_or_default();
    match entry.key.text() {
        Some(kuma::INJECTION) => "set it to `enabled` or `disabled`".to_owned(),
        Some(consul::SERVICE_PORT) => {
            "declare the port in a container, or set the annotation to a port number".to_owned()
        }
        Some(kuma::PROXY_PORT) if text.parse::<u16>().is_ok() => {
            format!(
                "remove the annotation, or `{}`: a gateway does not have a probe proxy",
                kuma::GATEWAY
            )
        }
        Some(kuma::PROXY_PORT) => {
            "set it to a port number, or to `\"0\"` to disable the probe proxy".to_owned()
        }
        Some(consul::CONCURRENCY) => "set it to a whole number, or remove it".to_owned(),
        Some(kuma::SIDECAR_ENV) => "set it to `KEY=VALUE;KEY=VALUE`, or remove it".to_owned(),
        Some(kuma::GATEWAY) => "set it to `enabled`, or remove it".to_owned(),
        Some(kuma::VIRTUAL_PROBES) => "set it to `disabled`, or remove it".to_owned(),
        Some(kuma::VIRTUAL_PORT) => "set it to a port number, or remove it".to_owned(),
        Some(kuma::EXCLUDED_PORTS) => {
            "set it to port numbers from 1 to 65535, separated by commas".to_owned()
        }
        _ => "set it to `\"true\"` or `\"false\"`".to_owned(),
    }
}

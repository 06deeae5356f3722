//! Rules for the installation of the mesh, and for configuration that it refuses.

use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_mesh::kube::{ContainerList, Object};
use meshprobe_mesh::mesh::istio::admission::{self, Rejection};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{Conflict, Dataplane, inbound_patch};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::Rule;

crate::rules::rule::rules! {
    POLICY_INVALID = "policy-invalid", Error, fix: None, scope: Tree, policy_invalid;
    CNI_INIT_MISMATCH = "cni-init-mismatch", Note, fix: None, scope: Workloads,
        |cx| cx.pods().filter_map(|pod| cni_init_mismatch(cx, pod)).collect();
    ENVOYFILTER_UNKNOWN = "envoyfilter-unknown", Note, fix: None, scope: Tree,
        |cx| cx.context.inventory.envoy_filters.iter()
            .filter_map(|filter| envoyfilter_unknown(cx, filter)).collect();
    MESH_CONFIG_CONFLICT = "mesh-config-conflict", Note, fix: None, scope: Tree, check_mesh_config_conflict;
    MESH_CONFIG_INVALID = "mesh-config-invalid", Error, fix: None, scope: Tree, check_mesh_config_invalid;
    REWRITE_DISABLED_GLOBALLY = "rewrite-disabled-globally", Warning, fix: None, scope: Tree,
        check_rewrite_disabled_globally;
}

fn policy_invalid(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let inventory = &cx.context.inventory;
    let peer = inventory.peer_authentications.iter().flat_map(|policy| {
        let rejections = admission::peer_authentication(policy).into_iter();
        rejections.map(move |rejection| (policy, "PeerAuthentication", rejection))
    });
    let authorization = inventory.authorization_policies.iter().flat_map(|policy| {
        let rejections = admission::authorization_policy(policy).into_iter();
        rejections.map(move |rejection| (policy, "AuthorizationPolicy", rejection))
    });
    peer.chain(authorization)
        .map(|(policy, kind, rejection)| {
            finding_on_rejection(&POLICY_INVALID, policy, (kind, "policy"), &rejection)
        })
        .collect()
}

fn cni_init_mismatch<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let containers = workload.template.containers_in(ContainerList::Init);
    let init = containers
        .iter()
        .find(|container| container.name() == keys::INIT_CONTAINER)?;
    let cni = cx.context.pod_facts(workload).cni();
    if !cni.value {
        return None;
    }
    let message = format!(
        "the CNI plugin skips {}: the pod has its own `{}`, so only that container sets up traffic \
         capture",
        workload.title(),
        init.name(),
    );
    let span = init.node.get("name")?.span();
    let mut finding = CNI_INIT_MISMATCH.finding_on_workload(workload, span, message);
    finding.container = Some(init.name().to_owned());
    finding.field = Some(init.field("name").to_string());
    finding.depend_on(&cni);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(
        "let the webhook inject the pod, or inject it manually with the values of this mesh"
            .to_owned(),
    );
    Some(finding)
}

fn envoyfilter_unknown<'t>(cx: &RuleContext<'_, 't>, filter: &Object<'t>) -> Option<Finding> {
    let (index, apply_to) = inbound_patch(filter)?;
    let (pod, handler) = cx
        .workloads_in_scope(filter)
        .into_iter()
        .filter(|pod| cx.context.istio_policy(filter).filters(&pod.workload))
        .flat_map(|pod| pod.handlers.iter().map(move |handler| (pod, handler)))
        .find(|(_, handler)| {
            !handler.rewritten
                && handler
                    .captured
                    .as_ref()
                    .is_some_and(|captured| captured.value)
        })?;
    let message = format!(
        "EnvoyFilter `{}` patches inbound traffic of {}: the verdicts for its probes are correct \
         only if the patch does not affect them",
        filter.name(),
        pod.workload.title(),
    );
    let mut finding = ENVOYFILTER_UNKNOWN.finding_on_object(filter, apply_to.span(), message);
    finding.field = Some(format!("spec.configPatches[{index}].applyTo"));
    let object = &pod.workload.object;
    let label = "this probe reaches the sidecar";
    finding.relate(object.label_at(handler.handler.key.span(), label));
    finding.depend_on(&pod.dataplane);
    let help = "test the probe in a cluster, or let the mesh rewrite it, so that it bypasses the \
                filter";
    finding.help = Some(help.to_owned());
    Some(finding)
}

fn check_mesh_config_conflict(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for pod in cx.pods().filter(|pod| !pod.handlers.is_empty()) {
        for conflict in cx
            .context
            .pod_facts(&pod.workload)
            .installation()
            .conflicts()
        {
            let sides = 0..conflict.sides.len();
            let all: Vec<Finding> = sides
                .filter_map(|side| mesh_config_conflict(&conflict, side, pod))
                .collect();
            let reported = all.iter().find(|finding| cx.context.reports(finding));
            let Some(finding) = reported.or(all.first()).cloned() else {
                continue;
            };
            // The same conflict affects every workload of the cluster.
            let is_same = |reported: &Finding| {
                reported.primary == finding.primary && reported.message == finding.message
            };
            if !findings.iter().any(is_same) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// Reports a conflict at the place of one of its sides.
fn mesh_config_conflict(
    conflict: &Conflict,
    side: usize,
    pod: &WorkloadPrediction<'_>,
) -> Option<Finding> {
    let mut others = conflict.sides.clone();
    let (value, place) = &(side < others.len()).then(|| others.remove(side))?;
    let (other, _) = others.iter().find(|(other, _)| other != value)?;
    let key = conflict.key;
    let message = format!(
        "several installations may apply to the pods: {key} is {} here and {} in another one; the verdict is \
         computed for each",
        shown(value),
        shown(other),
    );
    // The places are in another object than the workload.
    let mut finding = MESH_CONFIG_CONFLICT.finding_on_workload(
        &pod.workload,
        pod.workload.object.name_span(),
        message,
    );
    finding.object = None;
    finding.document = 0;
    finding.primary = Label {
        path: Arc::clone(&place.path),
        span: place.span,
        message: String::new(),
    };
    // One installation shows each other value.
    let mut values = vec![value];
    let related = others
        .iter()
        .filter(|(other, _)| {
            let is_new = !values.contains(&other);
            values.push(other);
            is_new
        })
        .map(|(value, place)| Label {
            message: format!("{key} = {value}"),
            ..place.clone()
        });
    finding.related.extend(related);
    finding.help =
        Some("keep the files of one cluster in one folder, or set the value with an option".into());
    Some(finding)
}

/// Returns a value for a message.
fn shown(value: &str) -> String {
    match value {
        "unknown" => "not known".to_owned(),
        value => format!("`{value}`"),
    }
}

fn check_mesh_config_invalid(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for plane in cx.context.control_planes.iter() {
        let Some(place) = &plane.rejected_config else {
            continue;
        };
        if findings.iter().all(|finding| !finding.primary.is_at(place)) {
            findings.push(mesh_config_invalid(cx, place));
        }
    }
    let planes = cx.context.inventory.installations.iter();
    let planes = planes.filter(|object| admission::is_control_plane(object));
    findings.extend(planes.flat_map(|plane| {
        let names = (plane.kind, "control plane");
        let finding = move |rejection: Rejection| {
            finding_on_rejection(&MESH_CONFIG_INVALID, plane, names, &rejection)
        };
        admission::control_plane(plane).into_iter().map(finding)
    }));
    findings
}

fn mesh_config_invalid(cx: &RuleContext<'_, '_>, place: &Label) -> Finding {
    let message = format!(
        "{}; istiod keeps the last valid configuration, or uses its defaults",
        place.message
    );
    let label = Label {
        message: String::new(),
        ..place.clone()
    };
    let mut finding = Finding::new(
        MESH_CONFIG_INVALID.id,
        MESH_CONFIG_INVALID.severity,
        label,
        message,
    );
    finding.document = cx.document_of(place);
    finding.help =
        Some("correct the value; Istio applies none of the others until then".to_owned());
    finding
}

fn check_rewrite_disabled_globally(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for plane in cx.context.control_planes.iter() {
        let off = plane.rewrite.as_ref().filter(|fact| !fact.value);
        let place = off.and_then(|fact| fact.because.first()?.place.as_ref());
        let Some(place) = place.filter(|place| !is_disputed(cx, place)) else {
            continue;
        };
        if findings.iter().all(|finding| !finding.primary.is_at(place)) {
            findings.push(rewrite_disabled_globally(cx, place));
        }
    }
    findings
}

/// Returns whether another installation, equally near, sets the opposite. A separate rule reports that.
fn is_disputed(cx: &RuleContext<'_, '_>, place: &Label) -> bool {
    let disputes = |conflict: &Conflict| {
        let is_here = |(_, side): &(String, Label)| side.is_at(place);
        conflict.sides.iter().any(is_here)
    };
    cx.predictions.iter().any(|pod| {
        let install = cx.context.pod_facts(&pod.workload).installation();
        install.conflicts().iter().any(disputes)
    })
}

fn rewrite_disabled_globally(cx: &RuleContext<'_, '_>, place: &Label) -> Finding {
    let (effect, is_used) = match dependents(cx, place) {
        0 => ("no workload of this tree depends on it".to_owned(), false),
        1 => (
            "the probes of 1 workload reach the sidecar unchanged".to_owned(),
            true,
        ),
        count => (
            format!("the probes of {count} workloads reach the sidecar unchanged"),
            true,
        ),
    };
    let message = format!("the probe rewrite is off for the whole mesh: {effect}");
    let mut finding = Finding::new(
        REWRITE_DISABLED_GLOBALLY.id,
        REWRITE_DISABLED_GLOBALLY.severity,
        place.clone(),
        message,
    );
    if !is_used {
        finding.severity = finding.severity.lowered();
    }
    finding.document = cx.document_of(place);
    finding.help = Some(
        "turn it on; a workload that needs its original probes can opt out by annotation"
            .to_owned(),
    );
    finding
}

/// Returns the number of workloads whose probes are not rewritten because of the setting at `place`.
fn dependents(cx: &RuleContext<'_, '_>, place: &Label) -> usize {
    let has_port = |handler: &HandlerPrediction<'_>| handler.port.is_some();
    let dependents = cx.predictions.iter().filter(|pod| {
        let mut reasons = pod.rewrite.because.iter();
        pod.dataplane.value == Dataplane::Sidecar
            && pod.handlers.iter().any(has_port)
            && reasons.any(|reason| reason.place.as_ref().is_some_and(|at| at.is_at(place)))
    });
    dependents.count()
}

/// Returns the finding at the rejected field. `kind` and `noun` name the object in the message and in the help.
fn finding_on_rejection(
    rule: &Rule,
    object: &Object<'_>,
    (kind, noun): (&str, &str),
    rejection: &Rejection,
) -> Finding {
    let message = format!(
        "{} rejects {kind} `{}`: `{}` {}",
        rejection.by.as_str(),
        object.name(),
        rejection.route,
        rejection.reason
    );
    let mut finding = rule.finding_on_object(object, rejection.span, message);
    finding.field = Some(rejection.route.to_string());
    finding.help = Some(format!(
        "correct the field; until then, the cluster keeps the previous version of the {noun}"
    ));
    finding
}

//! Rules for Namespaces: their injection labels and revisions.

use std::collections::{BTreeMap, BTreeSet};

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Fix, Label};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::paths::folder;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, Span};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap, keep_selected, keeping_comment};
use crate::rules::support::similar_names::is_close;

crate::rules::rule::rules! {
    NAMESPACE_TWO_INJECTION_LABELS = "namespace-two-injection-labels", Error, fix: Sometimes, scope: Tree,
        |cx| cx.mesh_namespaces().filter_map(namespace_two_injection_labels).collect();
    NAMESPACE_UNKNOWN = "namespace-unknown", Note, fix: None, scope: Tree, namespace_unknown;
    REVISION_NOT_INSTALLED = "revision-not-installed", Warning, fix: None, scope: Tree, check_revision_not_installed;
    SYSTEM_NAMESPACE_NEVER_INJECTED = "system-namespace-never-injected", Note, fix: Always, scope: Tree,
        system_namespace_never_injected;
}

fn namespace_two_injection_labels(namespace: &Object<'_>) -> Option<Finding> {
    let injection = namespace.label(keys::NAMESPACE_INJECTION)?;
    let revision = namespace.label(keys::REVISION)?;
    let (word, name) = (injection.value.text()?, revision.value.text()?);
    let has_placeholder = placeholder::contains(word) || placeholder::contains(name);
    let enabled = word == "enabled";
    if has_placeholder || name.is_empty() || (enabled && name == "default") {
        return None;
    }
    let instead = if enabled {
        "the default control plane injects instead, if it exists"
    } else {
        "no control plane injects"
    };
    let message = format!(
        "label `{}={name}` on namespace `{}` is ignored because `{}={word}` takes precedence: \
         {instead}",
        keys::REVISION,
        namespace.name(),
        keys::NAMESPACE_INJECTION,
    );
    let mut finding = NAMESPACE_TWO_INJECTION_LABELS.finding_on_deployed(
        namespace,
        revision.value.span(),
        message,
    );
    if !enabled {
        // Injection may be disabled intentionally.
        finding.severity = finding.severity.lowered();
    }
    let labels = FieldPath::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(keys::REVISION).to_string());
    finding.relate(namespace.label_at(
        injection.value.span(),
        "this label takes precedence over revisions",
    ));
    finding.help = Some("remove one of the two labels".to_owned());
    finding.fix = enabled.then(|| {
        let wanted = Applicability::unsafe_because(format!(
            "the control plane of revision `{name}` then injects the pods, instead of the default one"
        ));
        let degree = keeping_comment(injection, wanted);
        let route = namespace
            .route
            .join(&labels)
            .child(keys::NAMESPACE_INJECTION);
        let title = format!(
            "remove `{}`, so that the revision applies",
            keys::NAMESPACE_INJECTION
        );
        Fix::of_object(namespace, title, degree, vec![Change::Remove { route }])
    });
    Some(finding)
}

/// The option that sets whether the namespace is injected.
const NAMESPACE_UNKNOWN_SETTLE: &str = "--assume injection=all|none";

/// Workloads of one namespace, and what is assumed about it.
struct UnknownNamespace {
    finding: Finding,
    /// Why the namespace seems to be in the mesh; empty if nothing shows that.
    evidence: BTreeSet<String>,
    workloads: usize,
}

fn namespace_unknown(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut namespaces: BTreeMap<(String, bool), UnknownNamespace> = BTreeMap::new();
    // The first workload is the place of the finding.
    let (targets, others): (Vec<_>, Vec<_>) = cx.pods().partition(|pod| pod.is_target);
    let pods = targets.into_iter().chain(others);
    for pod in pods.filter(|pod| depends_on_mesh(pod)) {
        let injection = cx.context.pod_facts(&pod.workload);
        // A member of a mesh of OpenShift Service Mesh needs no label.
        let Some(assumed) = injection
            .assumed_namespace()
            .filter(|_| !injection.is_per_pod())
        else {
            continue;
        };
        let key = (assumed.name, assumed.evidence.is_none());
        let unknown = namespaces.entry(key).or_insert_with(|| UnknownNamespace {
            finding: NAMESPACE_UNKNOWN.finding_on_object(
                &pod.workload.object,
                namespace_span(pod),
                String::new(),
            ),
            evidence: BTreeSet::new(),
            workloads: 0,
        });
        unknown.workloads += 1;
        unknown.evidence.extend(assumed.evidence);
    }
    namespaces
        .into_iter()
        .map(|((name, _), unknown)| complete(unknown, &name))
        .collect()
}

fn namespace_span(pod: &WorkloadPrediction<'_>) -> Span {
    let object = &pod.workload.object;
    object
        .metadata()
        .and_then(|metadata| metadata.get("namespace"))
        .map_or_else(|| object.name_span(), |namespace| namespace.span())
}

/// Adds the message, the certainty and the help to the finding about a namespace.
fn complete(unknown: UnknownNamespace, name: &str) -> Finding {
    let affected = match unknown.workloads {
        1 => "1 workload depends on it".to_owned(),
        count => format!("{count} workloads depend on it"),
    };
    let evidence: Vec<String> = unknown.evidence.into_iter().collect();
    let (assumption, certainty) = match evidence.as_slice() {
        [] => (
            "it is not known whether it is injected".to_owned(),
            Certainty::Unknown,
        ),
        evidence => (
            format!("assumed to be injected, because {}", evidence.join(", or ")),
            Certainty::Assumed,
        ),
    };
    let mut finding = unknown.finding;
    finding.message =
        format!("no Namespace manifest for `{name}` in scope: {assumption} ({affected})");
    finding.certainty = certainty;
    finding.help = Some(format!(
        "add the manifest with `--context`, or set `{NAMESPACE_UNKNOWN_SETTLE}`"
    ));
    finding
}

/// Returns whether the labels of the Namespace can change the outcome of a handler. They do not matter for a pod that
/// opts out.
fn depends_on_mesh(pod: &WorkloadPrediction<'_>) -> bool {
    pod.dataplane.value != Dataplane::None && pod.handlers.iter().any(depends_on_namespace)
}

/// Returns whether the labels of the Namespace can change the outcome of a handler.
fn depends_on_namespace(handler: &HandlerPrediction<'_>) -> bool {
    let verdict = &handler.verdict;
    verdict.cause != Cause::NoNetwork && !verdict.outcome.is_invalid()
}

/// The maximum number of control planes that a finding shows.
const MAX_SHOWN: usize = 3;

/// The revision that `istio-injection: enabled` selects.
const DEFAULT: &str = "default";

/// The option that names revisions and tags outside of the tree.
const REVISION_NOT_INSTALLED_SETTLE: &str = "--assume revision=NAME";

fn check_revision_not_installed(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    let context = cx.context;
    let served: Vec<(&str, &Label)> = context.served_names();
    let has_more_names = context
        .control_planes
        .iter()
        .any(|plane| plane.more_names.is_some() || !plane.unread.is_empty());
    if served.is_empty() || has_more_names {
        return Vec::new();
    }
    let settings = &context.settings;
    let set_by_user: Vec<&str> = [&settings.assume.revisions, &settings.overrides.revisions]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let has_default_role = context.may_have_default_role();
    let is_served = |name: &str| {
        served.iter().any(|(served, _)| *served == name)
            || set_by_user.contains(&name)
            || name == DEFAULT && has_default_role
    };
    let namespace_labels = cx.namespaces().filter_map(|namespace| {
        let entry = deciding_label(namespace)?;
        Some((namespace, entry, FieldPath::keys(&["metadata", "labels"])))
    });
    let pod_labels = cx.pods().filter_map(|pod| {
        let entry = pod.workload.template.label(keys::REVISION)?;
        let object = &pod.workload.object;
        let namespace = context.namespace_of(object).manifest()?;
        let is_read = [keys::NAMESPACE_INJECTION, keys::REVISION]
            .iter()
            .all(|key| namespace.label(key).is_none());
        let opts_out = pod
            .workload
            .template
            .label(keys::INJECT)
            .is_some_and(|entry| entry.value.text() == Some("false"));
        let route = pod
            .workload
            .template
            .within
            .child("metadata")
            .child("labels");
        (is_read && !opts_out).then_some((object, entry, route))
    });
    namespace_labels
        .chain(pod_labels)
        .filter(|(object, entry, _)| {
            let name = revision_of(entry);
            let is_final = !placeholder::contains(name) && !is_set_by_kpt(entry);
            !name.is_empty() && is_final && !object.document.patch && !is_served(name)
        })
        .map(|(object, entry, route)| revision_not_installed(object, entry, &route, &served))
        .collect()
}

/// Returns the label of a Namespace that selects a revision: `istio-injection` takes precedence, and its value `enabled`
/// selects the revision `default`.
fn deciding_label<'t>(namespace: &Object<'t>) -> Option<Entry<'t>> {
    match namespace.label(keys::NAMESPACE_INJECTION) {
        Some(entry) => (entry.value.text() == Some("enabled")).then_some(entry),
        None => namespace.label(keys::REVISION),
    }
}

/// Returns the revision that a label selects.
fn revision_of<'t>(entry: &Entry<'t>) -> &'t str {
    match entry.key.text() {
        Some(keys::NAMESPACE_INJECTION) => DEFAULT,
        _ => entry.value.text().unwrap_or_default(),
    }
}

fn revision_not_installed(
    object: &Object<'_>,
    entry: Entry<'_>,
    labels: &FieldPath,
    served: &[(&str, &Label)],
) -> Finding {
    let name = revision_of(&entry);
    let subject = match object.kind {
        "Namespace" => format!("the pods of namespace `{}` get", object.name()),
        kind => format!("{kind}/{} gets", object.name()),
    };
    let message =
        format!("{subject} no sidecar: no control plane in the tree serves revision `{name}`");
    let mut finding =
        REVISION_NOT_INSTALLED.finding_on_deployed(object, entry.value.span(), message);
    let key = entry.key.text().unwrap_or(keys::REVISION).to_owned();
    finding.field = Some(labels.child(key).to_string());
    for (served, place) in served.iter().take(MAX_SHOWN) {
        finding.relate(Label {
            message: format!("serves `{served}`"),
            ..(*place).clone()
        });
    }
    // The name of another release is not a typo.
    let is_release = name.starts_with(|c: char| c.is_ascii_digit());
    let closest = served
        .iter()
        .find(|(served, _)| is_close(name, served))
        .filter(|_| !is_release);
    // `istioctl tag set` creates tags that Git may not contain. A similar name, or an installation next to the object,
    // shows which one is meant.
    let severity = finding.severity;
    finding.depend_on(&Fact::assumed(
        (),
        format!("no tag `{name}` was created outside of the tree"),
        Some(REVISION_NOT_INSTALLED_SETTLE),
    ));
    let is_next = |(_, place): &(&str, &Label)| folder(&place.path) == folder(object.path());
    if closest.is_some() || served.iter().any(is_next) {
        finding.severity = severity;
    }
    finding.help = Some(match closest {
        Some((closest, _)) => format!("did you mean `{closest}`?"),
        None => "use a revision or tag that is installed".to_owned(),
    });
    finding
}

/// Returns whether a setter of kpt sets the value before it is deployed: `name: value # kpt-set: ${setter}`.
///
/// Source: kpt functions catalog, `apply-setters` (`functions/go/apply-setters/applysetters/apply_setters.go`).
fn is_set_by_kpt(entry: &Entry<'_>) -> bool {
    let text = entry.key.tree().text();
    let rest = text.get(entry.value.span().end..).unwrap_or_default();
    let comment = rest.lines().next().and_then(|rest| rest.split_once('#'));
    comment.is_some_and(|(_, comment)| comment.trim_start().starts_with("kpt-set:"))
}

fn system_namespace_never_injected(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = cx
        .namespaces()
        .filter(|namespace| keys::SYSTEM_NAMESPACES.contains(&namespace.name()))
        .filter_map(|namespace| report_namespace(cx, namespace))
        .collect();
    findings.extend(cx.pods().filter_map(|pod| report_pod(cx, pod)));
    findings
}

fn report_namespace(cx: &RuleContext<'_, '_>, namespace: &Object<'_>) -> Option<Finding> {
    let injection = namespace.label(keys::NAMESPACE_INJECTION);
    let entry = injection
        .filter(|entry| entry.value.text() == Some("enabled"))
        .or_else(|| {
            namespace
                .label(keys::REVISION)
                .filter(|_| injection.is_none())
        })?;
    let key = entry.key.text()?;
    let message = format!(
        "label `{key}` has no effect: Istio never injects namespace `{}`",
        namespace.name()
    );
    let mut finding =
        SYSTEM_NAMESPACE_NEVER_INJECTED.finding_on_object(namespace, entry.value.span(), message);
    let labels = FieldPath::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(key.to_owned()).to_string());
    finding.help =
        Some("remove the label, or run pods that need a sidecar in another namespace".to_owned());
    let degree = keeping_comment(entry, Applicability::Safe);
    let holder = namespace.node.at(&labels)?;
    let route = namespace.route.join(&labels);
    let route = if holder.entries().len() == 1 && !holder.has_merge_key() {
        route
    } else {
        route.child(key.to_owned())
    };
    let changes = vec![Change::Remove { route }];
    finding.fix = Some(Fix::of_object(
        namespace,
        format!("remove `{key}`"),
        degree,
        changes,
    ));
    keep_selected(cx.context, key, &mut finding);
    Some(finding)
}

fn report_pod(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let namespace = pod.namespace.as_deref()?;
    let entry = workload.template.label(keys::INJECT)?;
    let requests_sidecar = entry.value.text() == Some("true");
    let has_own_sidecar = pod.dataplane.value == Dataplane::Sidecar;
    if !requests_sidecar || has_own_sidecar || !keys::SYSTEM_NAMESPACES.contains(&namespace) {
        return None;
    }
    let message = format!(
        "{} gets no sidecar: Istio never injects namespace `{namespace}`",
        workload.title()
    );
    let mut finding = pod_metadata::finding_on_entry(
        &SYSTEM_NAMESPACE_NEVER_INJECTED,
        workload,
        MetadataMap::Label,
        entry,
        message,
    );
    finding.help = Some("remove the label, or run the pod in another namespace".to_owned());
    finding.fix = Some(pod_metadata::removal_fix(
        pod,
        MetadataMap::Label,
        keys::INJECT,
        format!("remove `{}`", keys::INJECT),
        Applicability::Safe,
    ));
    keep_selected(cx.context, keys::INJECT, &mut finding);
    Some(finding)
}

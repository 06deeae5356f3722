//! Rules for the labels and annotations of a pod that request a sidecar.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Fix};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::context::{Dataplane, proxy_container};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap, keep_selected};

crate::rules::rule::rules! {
    HOSTNETWORK_NOT_IN_MESH = "hostnetwork-not-in-mesh", Note, fix: Always, scope: Workloads,
        |cx| cx.mesh_pods().filter_map(|pod| hostnetwork_not_in_mesh(cx, pod)).collect();
    INJECT_ANNOTATION_NEVER_SEEN = "inject-annotation-never-seen", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.mesh_pods().filter_map(|pod| inject_annotation_never_seen(cx, pod)).collect();
    INJECT_LABEL_BLOCKED_BY_NAMESPACE = "inject-label-blocked-by-namespace", Error, fix: None, scope: Workloads,
        |cx| cx.mesh_pods().filter_map(|pod| inject_label_blocked_by_namespace(cx, pod)).collect();
    INJECT_LABEL_INVALID = "inject-label-invalid", Warning, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().filter_map(inject_label_invalid).collect();
    INJECT_VALUE_CHANGED_IN_1_27 = "inject-value-changed-in-1-27", Warning, fix: Always, scope: Workloads,
        |cx| cx.pods().filter_map(|pod| inject_value_changed_in_1_27(cx, pod)).collect();
    REV_LABEL_WITH_DISABLED_INJECT = "rev-label-with-disabled-inject", Note, fix: None, scope: Workloads,
        |cx| cx.mesh_pods().filter_map(|pod| rev_label_with_disabled_inject(cx, pod)).collect();
}

fn hostnetwork_not_in_mesh(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let network = template.host_network()?;
    if pod.dataplane.value == Dataplane::Sidecar {
        return None;
    }
    let annotations = matching_entries(template.annotations(), is_setting);
    let is_inject_label =
        |key: &str, entry: &Entry<'_>| key == keys::INJECT && entry.value.text() == Some("true");
    let labels = matching_entries(template.labels(), is_inject_label);
    let place = if annotations.is_empty() {
        MetadataMap::Label
    } else {
        MetadataMap::Annotation
    };
    let ineffective: Vec<Entry<'_>> = annotations.iter().chain(&labels).copied().collect();
    let first = ineffective.first()?;
    let message = format!(
        "{} no effect: {} uses the host network, where it gets no sidecar",
        subject(&ineffective),
        workload.title(),
    );
    let mut finding =
        pod_metadata::finding_on_entry(&HOSTNETWORK_NOT_IN_MESH, workload, place, *first, message);
    finding.primary = workload.object.label_at(first.key.span(), "");
    let label = "pods on the host network get no sidecar";
    finding.relate(workload.object.label_at(network.key.span(), label));
    finding.help = Some("remove the setting, or stop using the host network".to_owned());
    let mut changes = Vec::new();
    for (place, entries) in [
        (MetadataMap::Annotation, &annotations),
        (MetadataMap::Label, &labels),
    ] {
        let keys: Vec<&str> = entries
            .iter()
            .filter_map(|entry| entry.key.text())
            .collect();
        if !keys.is_empty() {
            changes.extend(pod_metadata::removal_changes(template, place, &keys));
        }
    }
    let degree = pod_metadata::removal_applicability(pod, &ineffective, Applicability::Safe);
    let title = "remove the settings that have no effect";
    finding.fix = Some(Fix::of_object(&workload.object, title, degree, changes));
    if !labels.is_empty() {
        keep_selected(cx.context, keys::INJECT, &mut finding);
    }
    Some(finding)
}

/// Returns the names of entries and the verb that agrees with their number, such as "`a` and `b` have".
fn subject(entries: &[Entry<'_>]) -> String {
    let mut names: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.key.text())
        .map(|key| format!("`{key}`"))
        .collect();
    match (names.pop(), names.is_empty()) {
        (Some(last), false) => format!("{} and {last} have", names.join(", ")),
        (last, _) => format!("{} has", last.unwrap_or_default()),
    }
}

fn matching_entries<'t>(
    holder: Option<NodeRef<'t>>,
    is_wanted: impl Fn(&str, &Entry<'t>) -> bool,
) -> Vec<Entry<'t>> {
    holder
        .into_iter()
        .flat_map(NodeRef::effective_entries)
        .filter(|entry| entry.key.text().is_some_and(|key| is_wanted(key, entry)))
        .collect()
}

/// Returns whether an annotation sets something of the sidecar. The status that the injector writes does not count,
/// nor does an opt-out: it matches what happens anyway.
fn is_setting(key: &str, entry: &Entry<'_>) -> bool {
    let sidecar_prefixes = [
        "sidecar.istio.io/",
        "traffic.sidecar.istio.io/",
        "status.sidecar.istio.io/",
    ];
    let value = entry.value.text();
    let opts_out = matches!(key, keys::INJECT | keys::REWRITE_PROBERS)
        && value.and_then(parse_bool) != Some(true);
    sidecar_prefixes
        .iter()
        .any(|prefix| key.starts_with(prefix))
        && key != keys::STATUS
        && !opts_out
}

fn inject_annotation_never_seen<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::INJECT)?;
    let requests_sidecar =
        entry.value.text() == Some("true") && template.label(keys::INJECT).is_none();
    let is_outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    if !requests_sidecar || !is_outside || pod.passes_injector || never_injected(pod) {
        return None;
    }
    let namespace = cx.context.namespace_of(&workload.object).manifest()?;
    let message = format!(
        "{} gets no sidecar: Istio reads annotation `{}` only if a label sends the pod to the \
         injector, and no label of the pod or of namespace `{}` does",
        workload.title(),
        keys::INJECT,
        namespace.name(),
    );
    let mut finding = pod_metadata::finding_on_entry(
        &INJECT_ANNOTATION_NEVER_SEEN,
        workload,
        MetadataMap::Annotation,
        entry,
        message,
    );
    finding.depend_on(&pod.dataplane);
    let blocking_label = [keys::NAMESPACE_INJECTION, keys::REVISION]
        .into_iter()
        .find(|key| namespace.label(key).is_some());
    finding.help = Some(match blocking_label {
        Some(label) => format!("change the label `{label}` of the Namespace"),
        None => "turn the annotation into a label of the pod, or label the Namespace".to_owned(),
    });
    finding.fix = blocking_label.is_none().then(|| fix(pod, entry));
    Some(finding)
}

/// Returns whether Istio never injects a pod, regardless of labels: it uses the host network, or its namespace is a
/// system namespace.
fn never_injected(pod: &WorkloadPrediction<'_>) -> bool {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    pod.workload.template.host_network().is_some() || keys::SYSTEM_NAMESPACES.contains(&namespace)
}

fn fix(pod: &WorkloadPrediction<'_>, entry: Entry<'_>) -> Fix {
    let template = &pod.workload.template;
    let mut changes =
        pod_metadata::removal_changes(template, MetadataMap::Annotation, &[keys::INJECT]);
    changes.push(Change::set(
        pod_metadata::route(template, MetadataMap::Label, keys::INJECT),
        "true",
    ));
    let wanted = Applicability::unsafe_because("Istio then injects the pod");
    let degree = pod_metadata::removal_applicability(pod, &[entry], wanted);
    Fix::of_object(
        &pod.workload.object,
        "turn the annotation into a label of the pod",
        degree,
        changes,
    )
}

fn inject_label_blocked_by_namespace<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let entry = workload.template.label(keys::INJECT)?;
    let namespace = cx.context.namespace_of(&workload.object).manifest()?;
    let label = namespace.label(keys::NAMESPACE_INJECTION)?;
    let value = label.value.text()?;
    let is_outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    let requests_sidecar = entry.value.text() == Some("true");
    if !requests_sidecar
        || value == "enabled"
        || !is_outside
        || pod.passes_injector
        || never_injected(pod)
    {
        return None;
    }
    let message = format!(
        "{} gets no sidecar: label `{}={value}` on namespace `{}` takes precedence over the labels \
         of its pods",
        workload.title(),
        keys::NAMESPACE_INJECTION,
        namespace.name(),
    );
    let mut finding = pod_metadata::finding_on_entry(
        &INJECT_LABEL_BLOCKED_BY_NAMESPACE,
        workload,
        MetadataMap::Label,
        entry,
        message,
    );
    if pod.dataplane.certainty != Certainty::Known {
        finding.depend_on(&pod.dataplane);
    }
    finding.relate(namespace.label_at(
        label.value.span(),
        "this label prevents the injection of single pods",
    ));
    finding.help = Some(
        "remove that label: without it, Istio injects only the pods that request a sidecar"
            .to_owned(),
    );
    Some(finding)
}

/// The first release that accepts only "true" and "false" (Istio 1.27, `pkg/kube/inject/inject.go`; measured).
const STRICT_SINCE: Version = Version::new(1, 27);

fn inject_label_invalid(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    // Istio does not read the annotation if there is a label.
    let (place, entry) = match template.label(keys::INJECT) {
        Some(entry) => (MetadataMap::Label, entry),
        None => (MetadataMap::Annotation, template.annotation(keys::INJECT)?),
    };
    let word = entry.value.as_str()?;
    let is_old = pod
        .release
        .value
        .is_some_and(|release| release < STRICT_SINCE);
    let is_fine = matches!(word, "" | "true" | "false") || placeholder::contains(word);
    if is_fine || is_old || never_injected(pod) {
        return None;
    }
    let outcome = match pod.dataplane.value {
        Dataplane::Sidecar | Dataplane::Uncaptured | Dataplane::Other => "the pod gets a sidecar",
        Dataplane::None | Dataplane::Ambient => "the pod gets no sidecar",
        Dataplane::Unknown => "the injection policy of the mesh decides",
    };
    let message = format!(
        "`{}: \"{word}\"` is neither `\"true\"` nor `\"false\"`, so Istio ignores it: {outcome}",
        keys::INJECT,
    );
    let mut finding =
        pod_metadata::finding_on_entry(&INJECT_LABEL_INVALID, workload, place, entry, message);
    let is_outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    if is_outside && intended_value(word) == Some("false") {
        // The pod has no sidecar, as intended, although Istio ignores the value.
        finding.severity = finding.severity.lowered();
    }
    finding.depend_on(&pod.release);
    finding.depend_on(&pod.dataplane);
    finding.help = Some("set it to `\"true\"` or `\"false\"`, in quotes".to_owned());
    finding.fix = intended_value(word).map(|intended| {
        let change = Change::set(pod_metadata::route(template, place, keys::INJECT), intended);
        let title = format!("set the value to `\"{intended}\"`, the evident meaning of `{word}`");
        Fix::of_object(
            &workload.object,
            title,
            Applicability::unsafe_because(format!(
                "the {} then decides whether the pod is injected",
                place.word()
            )),
            vec![change],
        )
    });
    Some(finding)
}

/// Returns the value that the author of a word evidently intended.
fn intended_value(word: &str) -> Option<&'static str> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" | "enabled" => Some("true"),
        "false" | "no" | "n" | "off" | "0" | "disabled" => Some("false"),
        _ => None,
    }
}

fn inject_value_changed_in_1_27<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let release = pod
        .release
        .value
        .filter(|release| *release < STRICT_SINCE)?;
    let (place, entry) = deciding_entry(pod, release)?;
    let word = entry.value.as_str()?;
    let is_fine = matches!(word, "" | "true" | "false") || placeholder::contains(word);
    if is_fine || never_injected(pod) {
        return None;
    }
    let meaning = if is_true(word) { "true" } else { "false" };
    let dataplane_after = cx
        .context
        .assuming_release(STRICT_SINCE)
        .pod_facts(&pod.workload)
        .dataplane();
    let has_sidecar_now = pod.dataplane.value.has_agent();
    let has_sidecar_after = dataplane_after.value.has_agent();
    let outcome = match (has_sidecar_now, has_sidecar_after) {
        (false, true) => "the upgrade adds a sidecar to the pod",
        (true, false) => "the upgrade removes the sidecar of the pod",
        (true, true) => "after the upgrade, the pod has its sidecar only by default",
        (false, false) => "the pod has no sidecar before or after the upgrade",
    };
    let message = format!(
        "`{}: \"{word}\"` means {meaning} in Istio {release}, but is ignored since 1.27: {outcome}",
        keys::INJECT,
    );
    let workload = &pod.workload;
    let mut finding = pod_metadata::finding_on_entry(
        &INJECT_VALUE_CHANGED_IN_1_27,
        workload,
        place,
        entry,
        message,
    );
    if has_sidecar_now == has_sidecar_after {
        finding.severity = finding.severity.lowered();
    }
    finding.depend_on(&pod.release);
    finding.depend_on(&pod.dataplane);
    let applicability = if has_sidecar_now != (meaning == "true") {
        let change = if has_sidecar_now {
            "loses its"
        } else {
            "gets a"
        };
        Applicability::unsafe_because(format!("the pod then {change} sidecar"))
    } else if is_selected_by(cx, place) {
        Applicability::unsafe_because("a selector in this tree uses the label")
    } else {
        Applicability::Safe
    };
    let change = Change::set(
        pod_metadata::route(&workload.template, place, keys::INJECT),
        meaning,
    );
    let title = format!("set the value to `\"{meaning}\"`, its current meaning");
    let applicability = pod_metadata::removal_applicability(pod, &[], applicability);
    finding.fix = Some(Fix::of_object(
        &workload.object,
        title,
        applicability,
        vec![change],
    ));
    Some(finding)
}

/// Returns the entry that decides about injection: the label, which Istio reads since 1.12, otherwise the annotation.
fn deciding_entry<'t>(
    pod: &WorkloadPrediction<'t>,
    release: Version,
) -> Option<(MetadataMap, Entry<'t>)> {
    let template = &pod.workload.template;
    let label = template
        .label(keys::INJECT)
        .filter(|_| release >= Version::new(1, 12));
    match label {
        Some(entry) => Some((MetadataMap::Label, entry)),
        None => Some((MetadataMap::Annotation, template.annotation(keys::INJECT)?)),
    }
}

/// Returns whether Istio up to 1.26 reads a word as true (`pkg/kube/inject/inject.go`; measured).
fn is_true(word: &str) -> bool {
    ["y", "yes", "true", "on"]
        .iter()
        .any(|true_word| word.eq_ignore_ascii_case(true_word))
}

/// Returns whether a selector in the tree uses the label, so that changing only the label would break the selector.
fn is_selected_by(cx: &RuleContext<'_, '_>, place: MetadataMap) -> bool {
    place == MetadataMap::Label && pod_metadata::is_selected(cx.context, keys::INJECT)
}

fn rev_label_with_disabled_inject<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.label(keys::REVISION)?;
    let name = entry.value.text()?;
    if only_records_revision(pod) || placeholder::contains(name) {
        return None;
    }
    let opt_out = template
        .label(keys::INJECT)
        .filter(|entry| entry.value.text() == Some("false"));
    let namespace = cx.context.namespace_of(&workload.object).manifest();
    let (why, related) = if let Some(opt_out) = opt_out {
        let label = workload
            .object
            .label_at(opt_out.value.span(), "injection is disabled here");
        ("the pod opts out of injection".to_owned(), label)
    } else {
        let namespace = namespace?;
        let label = namespace
            .label(keys::NAMESPACE_INJECTION)
            .or_else(|| namespace.label(keys::REVISION))?;
        let selected = label.value.text()?;
        let is_same = selected == name || (selected == "enabled" && name == "default");
        if is_same || placeholder::contains(selected) {
            return None;
        }
        let related = namespace.label_at(label.value.span(), "this label takes precedence");
        let why = format!(
            "the label of namespace `{}` takes precedence",
            namespace.name()
        );
        (why, related)
    };
    let message = format!("label `{}={name}` is ignored: {why}", keys::REVISION);
    let mut finding = pod_metadata::finding_on_entry(
        &REV_LABEL_WITH_DISABLED_INJECT,
        workload,
        MetadataMap::Label,
        entry,
        message,
    );
    finding.relate(related);
    finding.help = Some("remove this label, or the label that makes Istio ignore it".to_owned());
    Some(finding)
}

/// Returns whether the label only records the revision of a pod. The injector adds the label to the pods that it
/// injects, and Istio's charts to the pods of Istio.
fn only_records_revision(pod: &WorkloadPrediction<'_>) -> bool {
    let workload = &pod.workload;
    let istio_labels = [
        "operator.istio.io/component",
        "install.operator.istio.io/owning-resource",
    ];
    workload.template.annotation(keys::STATUS).is_some()
        || proxy_container(workload).is_some()
        || (workload.template.within != FieldPath::root()
            && workload.object.label(keys::REVISION).is_some())
        || istio_labels
            .iter()
            .any(|key| workload.template.label(key).is_some())
}

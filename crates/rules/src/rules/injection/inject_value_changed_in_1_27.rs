//! Rule `inject-value-changed-in-1-27`, documented in `docs/rules/inject-value-changed-in-1-27.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, Value};

use crate::rules::RuleContext;
use crate::rules::injection::inject_annotation_never_seen::never_injected;
use crate::rules::injection::inject_label_invalid::STRICT_SINCE;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::selected_labels;

declare_rule! {
    "inject-value-changed-in-1-27", Warning, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
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
        .istio(&pod.workload)
        .injection()
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
    let mut finding = pod_metadata::finding_on_entry(&RULE, workload, place, entry, message);
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
    let change = Change::Set {
        route: pod_metadata::route(&workload.template, place, keys::INJECT),
        value: Value::from(meaning),
    };
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
    place == MetadataMap::Label && selected_labels::is_selected(cx.context, keys::INJECT)
}

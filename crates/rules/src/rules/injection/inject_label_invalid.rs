//! Rule `inject-label-invalid`, documented in `docs/rules/inject-label-invalid.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::injection::inject_annotation_never_seen::never_injected;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

/// The first release that accepts only "true" and "false" (Istio 1.27, `pkg/kube/inject/inject.go`; measured).
pub(in crate::rules) const STRICT_SINCE: Version = Version::new(1, 27);

declare_rule! {
    "inject-label-invalid", Warning, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
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
    let mut finding = pod_metadata::finding_on_entry(&RULE, workload, place, entry, message);
    let is_outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    if is_outside && intended_value(word) == Some("false") {
        // The pod has no sidecar, as intended, although Istio ignores the value.
        finding.severity = finding.severity.lowered();
    }
    finding.depend_on(&pod.release);
    finding.depend_on(&pod.dataplane);
    finding.help = Some("set it to `\"true\"` or `\"false\"`, in quotes".to_owned());
    finding.fix = intended_value(word).map(|intended| {
        let change = Change::Set {
            route: pod_metadata::route(template, place, keys::INJECT),
            value: Value::from(intended),
        };
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

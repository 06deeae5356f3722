//! Rule `annotation-bad-boolean`, documented in `docs/rules/annotation-bad-boolean.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::disable_rewrite;

declare_rule! {
    "annotation-bad-boolean", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let entry = workload.template.annotation(keys::REWRITE_PROBERS)?;
    let word = entry.value.text()?;
    // The API server refuses a value that is not a string: rule `annotation-not-a-string` reports it.
    entry.value.as_str()?;
    if parse_bool(word).is_some() || placeholder::contains(word) {
        return None;
    }
    let default = cx.context.istio(workload).rewriting().mesh_default();
    let state = if default.value { "on" } else { "off" };
    let message = format!(
        "`{}: \"{word}\"` is not a boolean: Istio ignores it, and the probe rewrite stays {state}",
        keys::REWRITE_PROBERS
    );
    let mut finding = RULE.finding_on_workload(workload, entry.value.span(), message);
    let intended = intended_value(word);
    if intended == Some(default.value) {
        finding.severity = finding.severity.lowered();
    }
    finding.field = Some(
        workload
            .template
            .within
            .child("metadata")
            .child("annotations")
            .child(keys::REWRITE_PROBERS)
            .to_string(),
    );
    let wanted = intended.unwrap_or(false).to_string();
    finding.help = Some("set it to `\"true\"` or `\"false\"`, in quotes".to_owned());
    let object = &workload.object;
    finding.fix = intended.map(|_| {
        Fix::of_object(
            object,
            format!("set the value to `\"{wanted}\"`, the evident meaning of `{word}`"),
            Applicability::unsafe_because(format!(
                "the annotation then takes effect: the rewrite is {} for the pod",
                if intended == Some(true) { "on" } else { "off" }
            )),
            vec![Change::Set {
                route: workload.template.annotation_route(keys::REWRITE_PROBERS),
                value: Value::Str(wanted),
            }],
        )
    });
    if intended == Some(false) {
        disable_rewrite::demote_if_handlers_break(cx, pod, &mut finding);
    }
    Some(finding)
}

/// Returns the value that the author of a word evidently intended.
fn intended_value(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "enabled" | "enable" => Some(true),
        "false" | "no" | "n" | "off" | "disabled" | "disable" => Some(false),
        _ => None,
    }
}

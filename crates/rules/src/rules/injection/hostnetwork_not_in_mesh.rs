//! Rule `hostnetwork-not-in-mesh`, documented in `docs/rules/hostnetwork-not-in-mesh.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::selected_labels::keep_selected;

declare_rule! {
    "hostnetwork-not-in-mesh", Note, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
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
    let mut finding = pod_metadata::finding_on_entry(&RULE, workload, place, *first, message);
    finding.primary = workload.object.label_at(first.key.span(), "");
    let label = "pods on the host network get no sidecar";
    finding
        .related
        .push(workload.object.label_at(network.key.span(), label));
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

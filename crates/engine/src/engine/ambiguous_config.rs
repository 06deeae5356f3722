//! Reports annotations `proxy.istio.io/config` that Istio reads differently from YAML 1.2.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::proxy_config::{ProxyConfig, Unreadable};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;

use meshprobe_rules::rules::notices::AMBIGUOUS_YAML;

/// Returns one finding per annotation of the injected pods that are checked.
#[must_use]
pub(super) fn ambiguous_configs(predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    // Several overlays may render the same annotation.
    predictions
        .iter()
        .filter(|pod| pod.is_target && pod.passes_injector)
        .filter_map(finding)
        .filter(|finding| reported.insert((finding.primary.path.clone(), finding.primary.span)))
        .collect()
}

fn finding(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let entry = pod.workload.template.annotation(keys::PROXY_CONFIG)?;
    let text = entry
        .value
        .text()
        .filter(|text| !placeholder::contains(text))?;
    let Err(Unreadable::Differs(message)) = ProxyConfig::parse(text) else {
        return None;
    };
    let object = &pod.workload.object;
    let message = format!("`{}` was not read: {message}", keys::PROXY_CONFIG);
    let label = object.label_at(entry.value.span(), String::new());
    let mut finding = Finding::new(AMBIGUOUS_YAML, Severity::Warning, label, message);
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding.help =
        Some("write the text so that all YAML parsers read it in the same way".to_owned());
    Some(finding)
}

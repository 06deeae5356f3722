//! Rule `ambient-sidecar-annotation-dead`, documented in `docs/rules/ambient-sidecar-annotation-dead.md`.

use meshprobe_mesh::finding::{Finding, sentence_list};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "ambient-sidecar-annotation-dead", Note, fix: None, scope: Workloads
}

/// The prefixes of annotations that only the sidecar, its agent or the injector reads. Source: Istio 1.31,
/// `getPodLevelTrafficOverrides` in `cni/pkg/nodeagent`, which reads all annotations that ambient mode knows.
const PREFIXES: [&str; 3] = [
    "traffic.sidecar.istio.io/",
    "sidecar.istio.io/",
    "status.sidecar.istio.io/",
];

/// Annotations with such a prefix that other rules report, or that decide whether the pod has a sidecar at all.
const OTHERS: [&str; 3] = [keys::INJECT, keys::REWRITE_PROBERS, keys::STATUS];

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient && pod.prober_env.is_none())
        .filter_map(report)
        .collect()
}

fn is_of_sidecar(key: &str) -> bool {
    let has_prefix = PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    (has_prefix || key == keys::PROXY_CONFIG) && !OTHERS.contains(&key)
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let annotations = pod.workload.template.annotations();
    let entries = annotations.into_iter().flat_map(NodeRef::effective_entries);
    let found: Vec<(Entry<'_>, &str)> = entries
        .filter_map(|entry| Some((entry, entry.key.text().filter(|key| is_of_sidecar(key))?)))
        .collect();
    let (first, _) = found.first()?;
    let names: Vec<String> = found.iter().map(|(_, key)| format!("`{key}`")).collect();
    let (noun, verb) = match names.len() {
        1 => ("annotation", "has"),
        _ => ("annotations", "have"),
    };
    let mut message = format!(
        "{noun} {} {verb} no effect: {} is in ambient mode, without a sidecar",
        sentence_list(&names),
        pod.workload.title(),
    );
    let limits_capture = |(_, key): &(Entry<'_>, &str)| {
        matches!(
            *key,
            keys::EXCLUDE_INBOUND_PORTS | keys::INCLUDE_INBOUND_PORTS
        )
    };
    if found.iter().any(limits_capture) {
        message.push_str("; ztunnel captures all inbound ports, also those that bypass a sidecar");
    }
    let workload = &pod.workload;
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Annotation, *first, message);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(match found.iter().any(limits_capture) {
        true => format!(
            "remove them; for clients without the mesh, set the mode of the port to PERMISSIVE, or use `{}`",
            keys::BYPASS_INBOUND
        ),
        false => "remove them".to_owned(),
    });
    Some(finding)
}

//! Rule `annotation-name-typo`, documented in `docs/rules/annotation-name-typo.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_mesh::mesh::istio::{keys, known_names};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::disable_rewrite;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::selected_labels::keep_selected;
use crate::rules::support::similar_names::is_close_key;

declare_rule! {
    "annotation-name-typo", Error, fix: Sometimes, scope: Workloads
}

/// The labels of a pod that Istio reads.
const LABELS: [&str; 3] = [keys::INJECT, keys::REVISION, keys::DATAPLANE_MODE];

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let places = [MetadataMap::Annotation, MetadataMap::Label];
    cx.pods()
        .flat_map(|pod| places.into_iter().flat_map(|place| report(cx, pod, place)))
        .collect()
}

fn report(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    place: MetadataMap,
) -> Vec<Finding> {
    let workload = &pod.workload;
    place
        .of(&workload.template)
        .into_iter()
        .flat_map(NodeRef::effective_entries)
        .filter_map(|entry| {
            let key = entry.key.text()?;
            let meant = intended_key(place, key)?;
            let word = place.word();
            let message =
                format!("unknown Istio {word} `{key}`: Istio ignores it, so it has no effect");
            let mut finding =
                pod_metadata::finding_on_entry(&RULE, workload, place, entry, message);
            finding.primary = workload.object.label_at(entry.key.span(), "");
            finding.help = Some(format!("did you mean `{meant}`?"));
            let is_free = place.of(&workload.template)?.get(meant).is_none();
            finding.fix = is_free.then(|| fix(workload, place, key, meant)).flatten();
            let off = entry.value.text().and_then(parse_bool) == Some(false);
            if place == MetadataMap::Annotation && meant == keys::REWRITE_PROBERS && off {
                disable_rewrite::demote_if_handlers_break(cx, pod, &mut finding);
            }
            if place == MetadataMap::Label {
                keep_selected(cx.context, key, &mut finding);
            }
            Some(finding)
        })
        .collect()
}

fn fix(workload: &Workload<'_>, place: MetadataMap, key: &str, meant: &str) -> Option<Fix> {
    let template = &workload.template;
    let value = place.of(template)?.get(key)?.text()?;
    let change = Change::Replace {
        route: pod_metadata::route(template, place, key),
        key: meant.to_owned(),
        value: Value::from(value),
    };
    let title = format!("rename it to `{meant}`");
    Some(Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because(format!("`{meant}` then takes effect")),
        vec![change],
    ))
}

/// Returns the name that the author of a key likely intended, if the key is under `istio.io` and not known.
pub(in crate::rules) fn intended_key(place: MetadataMap, key: &str) -> Option<&'static str> {
    let (domain, _) = key.split_once('/')?;
    let is_istio = domain == "istio.io" || domain.ends_with(".istio.io");
    if !is_istio || known_names::KNOWN.contains(&key) {
        return None;
    }
    let known: &[&'static str] = match place {
        MetadataMap::Annotation => known_names::KNOWN,
        MetadataMap::Label => &LABELS,
    };
    let common_mistake = known_names::MISTAKEN
        .iter()
        .find(|(wrong, _)| *wrong == key)
        .map(|(_, right)| *right);
    let similar = || known.iter().copied().find(|known| is_close_key(key, known));
    common_mistake
        .filter(|right| known.contains(right))
        .or_else(similar)
}

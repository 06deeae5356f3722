//! Rule `status-annotation-by-hand`, documented in `docs/rules/status-annotation-by-hand.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::proxy_container;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "status-annotation-by-hand", Warning, fix: Sometimes, scope: Workloads
}

/// The image of a sidecar container that requests the injector to set the image.
const AUTO_IMAGE: &str = "auto";

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    cx.pods().filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::STATUS)?;
    let proxy = proxy_container(workload);
    if proxy.is_some_and(|proxy| proxy.image().is_some_and(|image| image != AUTO_IMAGE)) {
        return None;
    }
    let message = format!(
        "annotation `{}` is set by hand: the CNI plugin and ambient mode treat the pod as injected, \
         but the manifest does not contain a sidecar",
        keys::STATUS,
    );
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Annotation, entry, message);
    if pod.prober_env.is_some() && pod.passes_injector && pod.rewrite.value {
        finding.help = Some(format!(
            "set `{}` to `\"false\"`, which also keeps `{}`, and remove the annotation",
            keys::REWRITE_PROBERS,
            keys::PROBERS_ENV,
        ));
        return Some(finding);
    }
    let wanted = Applicability::unsafe_because(
        "the CNI plugin and ambient mode then treat the pod as not injected",
    );
    let degree = pod_metadata::removal_applicability(pod, &[entry], wanted);
    let changes = pod_metadata::removal_changes(template, MetadataMap::Annotation, &[keys::STATUS]);
    let title = format!("remove `{}`, which the injector sets", keys::STATUS);
    finding.fix = Some(Fix::of_object(&workload.object, title, degree, changes));
    Some(finding)
}

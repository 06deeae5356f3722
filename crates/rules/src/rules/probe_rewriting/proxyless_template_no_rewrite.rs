//! Rule `proxyless-template-no-rewrite`, documented in `docs/rules/proxyless-template-no-rewrite.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "proxyless-template-no-rewrite", Note, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let uncaptured = cx
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Uncaptured && !pod.rewrite.value);
    uncaptured.filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let templates = template.annotation(keys::TEMPLATES)?;
    let on = entry.value.text().and_then(parse_bool) == Some(true);
    let decider = pod
        .rewrite
        .because
        .first()
        .and_then(|reason| reason.place.as_ref());
    let template_label = workload.object.label_at(templates.value.span(), "");
    if !on || !decider.is_some_and(|place| place.is_at(&template_label)) {
        return None;
    }
    let message = format!(
        "annotation `{}` has no effect: template `{}` overrides it with \"false\", and probes reach \
         the application directly",
        keys::REWRITE_PROBERS,
        templates.value.text()?,
    );
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Annotation, entry, message);
    finding.depend_on(&pod.rewrite);
    finding.help =
        Some("remove the annotation; without capture, probes do not need the rewrite".to_owned());
    let degree = pod_metadata::removal_applicability(pod, &[entry], Applicability::Safe);
    let changes =
        pod_metadata::removal_changes(template, MetadataMap::Annotation, &[keys::REWRITE_PROBERS]);
    let title = format!("remove `{}`", keys::REWRITE_PROBERS);
    finding.fix = Some(Fix::of_object(&workload.object, title, degree, changes));
    Some(finding)
}

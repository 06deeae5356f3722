//! Rule `probers-lost-on-reinjection`, documented in `docs/rules/probers-lost-on-reinjection.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "probers-lost-on-reinjection", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::EntryDropped)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let release = pod
        .release
        .value
        .map_or_else(String::new, |release| format!(" {release}"));
    let message = format!(
        "{} will fail: the pod is marked as injected and has no `{}`, so Istio{release} rewrites \
         the probe to the agent and drops its entry",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let object = &pod.workload.object;
    let template = &pod.workload.template;
    let status = template.annotation(keys::STATUS);
    if let Some(entry) = status {
        let span = pod_metadata::value_span(entry);
        let label = object.label_at(span, "this annotation marks the pod as injected");
        finding.related.insert(0, label);
    }
    let removed: Vec<_> = status.into_iter().collect();
    let wanted = Applicability::unsafe_because("the injector then changes the pod again");
    let degree = pod_metadata::removal_applicability(pod, &removed, wanted);
    let changes = pod_metadata::removal_changes(template, MetadataMap::Annotation, &[keys::STATUS]);
    let title = format!(
        "remove `{}`, so that the pod is injected again",
        keys::STATUS
    );
    finding.fix = Some(Fix::of_object(object, title, degree, changes));
    finding
}

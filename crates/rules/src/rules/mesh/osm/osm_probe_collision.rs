//! Rule `osm-probe-collision`, documented in `docs/rules/osm-probe-collision.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::{Era, faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "osm-probe-collision", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let era = Era::of(cx.context.release_of(Mesh::OSM, &pod.workload.object));
    let Cause::Other(fault) = handler.verdict.cause else {
        return None;
    };
    let what = [
        (
            &faults::ANSWERED_BY_OTHER,
            "checks the target of another container's probe",
        ),
        (
            &faults::LISTENER_TAKEN,
            "has no listener: the last probe of its kind is a `tcpSocket`",
        ),
        (
            &faults::HELPER_TAKEN,
            "has no helper: the last probe of its kind is not a `tcpSocket`",
        ),
    ];
    let (_, what) = what.into_iter().find(|(known, _)| *known == fault)?;
    let (why, help) = match era {
        Era::PerContainer => (
            "the path for this container starts with that of the other",
            "rename the container so that its name does not start with that of another",
        ),
        _ => (
            "OSM forwards only one such probe per pod",
            "keep such a probe in one container only, or use `exec` in the others",
        ),
    };
    let message = format!("{} {what}; {why}", handler.title());
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(help.to_owned());
    Some(finding)
}

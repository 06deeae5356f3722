//! Rule `rewrite-disabled-globally`, documented in `docs/rules/rewrite-disabled-globally.md`.

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_predict::context::{Conflict, Dataplane};
use meshprobe_predict::predict::HandlerPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "rewrite-disabled-globally", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for plane in cx.context.control_planes.iter() {
        let off = plane.rewrite.as_ref().filter(|fact| !fact.value);
        let place = off.and_then(|fact| fact.because.first()?.place.as_ref());
        let Some(place) = place.filter(|place| !is_disputed(cx, place)) else {
            continue;
        };
        if findings.iter().all(|finding| !finding.primary.is_at(place)) {
            findings.push(report(cx, place));
        }
    }
    findings
}

/// Returns whether another installation, equally near, sets the opposite. A separate rule reports that.
fn is_disputed(cx: &RuleContext<'_, '_>, place: &Label) -> bool {
    let disputes = |conflict: &Conflict| {
        let is_here = |(_, side): &(String, Label)| side.is_at(place);
        conflict.sides.iter().any(is_here)
    };
    cx.predictions.iter().any(|pod| {
        let install = cx.context.istio(&pod.workload).installation();
        install.conflicts().iter().any(disputes)
    })
}

fn report(cx: &RuleContext<'_, '_>, place: &Label) -> Finding {
    let (effect, is_used) = match dependents(cx, place) {
        0 => ("no workload of this tree depends on it".to_owned(), false),
        1 => (
            "the probes of 1 workload reach the sidecar unchanged".to_owned(),
            true,
        ),
        count => (
            format!("the probes of {count} workloads reach the sidecar unchanged"),
            true,
        ),
    };
    let message = format!("the probe rewrite is off for the whole mesh: {effect}");
    let mut finding = Finding::new(RULE.id, RULE.severity, place.clone(), message);
    if !is_used {
        finding.severity = finding.severity.lowered();
    }
    finding.document = cx.document_of(place);
    finding.help = Some(
        "turn it on; a workload that needs its original probes can opt out by annotation"
            .to_owned(),
    );
    finding
}

/// Returns the number of workloads whose probes are not rewritten because of the setting at `place`.
fn dependents(cx: &RuleContext<'_, '_>, place: &Label) -> usize {
    let has_port = |handler: &HandlerPrediction<'_>| handler.port.is_some();
    let dependents = cx.predictions.iter().filter(|pod| {
        let mut reasons = pod.rewrite.because.iter();
        pod.dataplane.value == Dataplane::Sidecar
            && pod.handlers.iter().any(has_port)
            && reasons.any(|reason| reason.place.as_ref().is_some_and(|at| at.is_at(place)))
    });
    dependents.count()
}

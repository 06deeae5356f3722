//! Rule `mesh-config-invalid`, documented in `docs/rules/mesh-config-invalid.md`.

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::admission::{self, Rejection};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::rejected_object;

declare_rule! {
    "mesh-config-invalid", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for plane in cx.context.control_planes.iter() {
        let Some(place) = &plane.rejected_config else {
            continue;
        };
        if findings.iter().all(|finding| !finding.primary.is_at(place)) {
            findings.push(report(cx, place));
        }
    }
    let planes = cx.context.inventory.installations.iter();
    let planes = planes.filter(|object| admission::is_control_plane(object));
    findings.extend(planes.flat_map(|plane| {
        let rejections = admission::control_plane(plane);
        rejected(plane, (plane.kind, "control plane"), rejections)
    }));
    findings
}

fn rejected(object: &Object<'_>, names: (&str, &str), rejections: Vec<Rejection>) -> Vec<Finding> {
    let rejections = rejections.iter();
    rejections
        .map(|rejection| rejected_object::finding(&RULE, object, names, rejection))
        .collect()
}

fn report(cx: &RuleContext<'_, '_>, place: &Label) -> Finding {
    let message = format!(
        "{}; istiod keeps the last valid configuration, or uses its defaults",
        place.message
    );
    let label = Label {
        message: String::new(),
        ..place.clone()
    };
    let mut finding = Finding::new(RULE.id, RULE.severity, label, message);
    finding.document = cx.document_of(place);
    finding.help =
        Some("correct the value; Istio applies none of the others until then".to_owned());
    finding
}

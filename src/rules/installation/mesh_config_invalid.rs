//! Rule `mesh-config-invalid`, documented in `docs/rules/mesh-config-invalid.md`.

use crate::finding::{Finding, Label};
use crate::kube::Object;
use crate::mesh::istio::admission::{self, Rejection};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

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
    let objects = cx.context.inventory.proxy_configs.iter();
    findings.extend(objects.flat_map(|config| {
        let rejections = admission::proxy_config(config).into_iter();
        rejections.map(move |rejection| report_object(config, &rejection))
    }));
    findings
}

fn report_object(config: &Object<'_>, rejection: &Rejection) -> Finding {
    let message = format!(
        "{} rejects ProxyConfig `{}`: `{}` {}",
        rejection.by.as_str(),
        config.name(),
        rejection.route,
        rejection.reason
    );
    let mut finding = RULE.finding_on_object(config, rejection.span, message);
    finding.field = Some(rejection.route.to_string());
    let help =
        "correct the field; until then, the cluster keeps the previous version of the object";
    finding.help = Some(help.to_owned());
    finding
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

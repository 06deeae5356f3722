//! Rule `appmesh-ended`, documented in `docs/rules/appmesh-ended.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::app_mesh::INJECT;
use meshprobe_yaml::Span;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::first_reported::first_reported;

declare_rule! {
    "appmesh-ended", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let labelled = cx.namespaces().filter_map(|namespace| {
        let entry = namespace.label(INJECT)?;
        let is_on = entry.value.text() == Some("enabled");
        is_on.then(|| (namespace, entry.key.span()))
    });
    let objects = cx.context.inventory.objects_of_mesh(Mesh::APP_MESH);
    let objects = objects.map(|object| (object, object.name_span()));
    let findings = labelled.chain(objects);
    let findings = findings.map(|(object, span)| report(object, span));
    first_reported(cx, findings).into_iter().collect()
}

fn report(object: &Object<'_>, span: Span) -> Finding {
    let message = "AWS discontinued App Mesh on 2026-09-30";
    let mut finding = RULE.finding_on_object(object, span, message.to_owned());
    finding.help = Some("plan a migration to a maintained mesh".to_owned());
    finding
}

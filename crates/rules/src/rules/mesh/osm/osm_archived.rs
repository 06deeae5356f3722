//! Rule `osm-archived`, documented in `docs/rules/osm-archived.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::osm::MONITORED;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::first_reported::first_reported;

declare_rule! {
    "osm-archived", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let monitored = cx.namespaces().filter_map(|namespace| {
        let span = namespace.label(MONITORED)?.key.span();
        let message = "Open Service Mesh was archived in July 2023 and no longer receives fixes";
        let mut finding = RULE.finding_on_object(namespace, span, message.to_owned());
        finding.help = Some("plan a migration to a maintained mesh".to_owned());
        Some(finding)
    });
    first_reported(cx, monitored).into_iter().collect()
}

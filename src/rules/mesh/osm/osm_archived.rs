//! Rule `osm-archived`, documented in `docs/rules/osm-archived.md`.

use crate::finding::Finding;
use crate::mesh::osm::MONITORED;
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "osm-archived", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let monitored = cx.namespaces().filter_map(|namespace| {
        let entry = namespace.label(MONITORED)?;
        let label = namespace.label_at(entry.key.span(), String::new());
        Some((label.path, label.span, namespace, entry))
    });
    let first = monitored.min_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let finding = first.map(|(_, _, namespace, entry)| {
        let message = "Open Service Mesh was archived in July 2023 and no longer receives fixes";
        let span = entry.key.span();
        let mut finding = RULE.finding_on_object(namespace, span, message.to_owned());
        finding.help = Some("plan a migration to a maintained mesh".to_owned());
        finding
    });
    finding.into_iter().collect()
}
